//! A simulated flash device.

use crate::FlashOutcome;
use crate::flash::{Collect, FlashCare, FlashSettings, Separation, WritePattern};
use crate::kinds::{Between, FlashLife, FlashTenth, FlashWear, Nand};

/// A small device after two tenths of a fill.
pub(super) fn flash() -> FlashOutcome {
    let settings = FlashSettings {
        page_bytes: 4096,
        pages_per_block: 64,
        user_pages: 64_000,
        alpha: 1.12,
        collect: Collect::Choices(10),
        separation: Separation::Moved,
        pattern: WritePattern::Zipf { theta: 0.9 },
        trim_share: 0.0,
        care: FlashCare::default(),
        seed: 1,
    };
    FlashOutcome {
        settings,
        device_bytes: 1 << 36,
        memory_bytes: 600_000,
        elapsed_ns: 1,
        tenths: vec![
            FlashTenth::default(),
            FlashTenth { host_pages: 100, moved_pages: 160, absorbed_pages: 10, erased_blocks: 4 },
        ],
        tenths_left_out: 1,
        write_amplification: Some(Between { mean: 2.5, low: 2.4, high: 2.6 }),
        closed_forms: Vec::new(),
        wear: FlashWear::of(&[1, 2, 3]),
        upkeep: None,
        nand: Nand { read_us: 75.0, program_us: 750.0, erase_us: 3800.0, cycles: Some(3000) },
        iops_ratio: Some(0.4),
        life: Some(FlashLife { written_bytes: 1e12, daily_bytes: Some(1_000_000_000) }),
        spare_for: None,
    }
}

#[test]
fn amplification_wear_and_life_are_ratios_of_what_is_stored() {
    let flash = flash();
    let tenths: Vec<_> = flash.tenths.iter().map(FlashTenth::write_amplification).collect();
    assert_eq!(tenths, [None, Some(2.5)]);
    assert!((flash.wear.spread().unwrap() - 1.5).abs() < 1e-12);
    assert_eq!(FlashWear::of(&[]).spread(), None);
    assert!((flash.life.unwrap().days().unwrap() - 1000.0).abs() < 1e-9);
    let text = serde_json::to_string(&flash).unwrap();
    assert_eq!(serde_json::from_str::<FlashOutcome>(&text).unwrap(), flash);
}
