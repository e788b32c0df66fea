//! The model against tables of independent simulations, and against a naive device.

mod naive;
mod tables;

use iostall_model::flash::{Collect, FlashCare, FlashSettings, Separation, WritePattern};

use crate::Simulation;

/// Uniform writes to `blocks` blocks of physical pages, collected greedily.
pub(super) fn settings(alpha: f64, pages_per_block: u32, blocks: u32) -> FlashSettings {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a test")]
    let user_pages = (f64::from(blocks * pages_per_block) / alpha).round() as u32;
    FlashSettings {
        page_bytes: 4096,
        pages_per_block,
        user_pages,
        alpha,
        collect: Collect::Greedy,
        separation: Separation::None,
        pattern: WritePattern::Uniform,
        trim_share: 0.0,
        care: FlashCare::default(),
        seed: 1,
    }
}

/// The write amplification in the second half of so many fills of the device.
pub(super) fn steady(settings: &FlashSettings, fills: u32) -> f64 {
    let mut simulation = Simulation::new(settings, &[]).unwrap();
    simulation.fill(0..settings.user_pages).unwrap();
    let half = u64::from(settings.user_pages) * u64::from(fills) / 2;
    simulation.run(half).unwrap();
    simulation.run(half).unwrap().write_amplification().unwrap()
}

/// Asserts that `found` is within `tolerance` of `wanted`, relative.
pub(super) fn assert_near(found: f64, wanted: f64, tolerance: f64, what: &str) {
    let error = found / wanted - 1.0;
    assert!(error.abs() <= tolerance, "{what}: {found:.4} for {wanted}, {:.2} % off", error * 100.0);
}
