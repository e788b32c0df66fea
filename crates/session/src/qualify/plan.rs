//! What is measured at each scale: the specification's mixes and sizes in its order, or fewer of them.

use iostall_load::preset::preset;
use iostall_load::profile::check;
use iostall_measure::{BlockSize, Caching, Durability, Nanos, Percent};
use iostall_model::profile::{Access, BlockMix};
use iostall_model::qualify::{Purge, QualifyPlan, QualifyScale, QualifyTest};
use iostall_model::{Profile, RoleProfile};

use crate::error::SessionError;

const SECOND_NS: u64 = 1_000_000_000;
/// Length of a measurement in the specification.
pub(super) const CELL: Nanos = Nanos(60 * SECOND_NS);
/// Rounds after which the specification gives up.
const ROUNDS_MAX: u32 = 25;
/// Rounds of a quick run: a window.
const ROUNDS_QUICK: u32 = 5;
/// In the specification's order: reads first.
const MIXES: [f64; 7] = [0.0, 5.0, 35.0, 50.0, 65.0, 95.0, 100.0];
/// The same, bytes.
const SIZES: [u32; 8] = [1 << 20, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10, 512];
/// The mixes and sizes that must be steady, and pages of databases.
const MIXES_SHORT: [f64; 3] = [0.0, 35.0, 100.0];
const SIZES_SHORT: [u32; 4] = [1 << 20, 64 << 10, 8 << 10, 4 << 10];

/// Mixes and sizes of the specification.
pub(super) const CELLS: usize = MIXES.len() * SIZES.len();
/// How often the specification writes the active range in order.
pub(super) const PASSES: u32 = 2;
/// What it recommends: requests in flight of each worker, and workers.
pub const IN_FLIGHT: (u32, u32) = (32, 4);

/// The plan of a test at a scale.
pub fn plan_of(test: QualifyTest, scale: QualifyScale) -> QualifyPlan {
    let is_full = scale == QualifyScale::Full;
    let (mixes, sizes): (&[f64], &[u32]) = match test {
        QualifyTest::Iops if is_full => (&MIXES, &SIZES),
        QualifyTest::Iops => (&MIXES_SHORT, &SIZES_SHORT),
        QualifyTest::Saturation => (&[100.0], &[4096]),
    };
    let (cell, rounds_max) = match (test, scale) {
        (QualifyTest::Iops, QualifyScale::Quick) => (Nanos(SECOND_NS), ROUNDS_QUICK),
        (QualifyTest::Iops, QualifyScale::Standard) => (Nanos(20 * SECOND_NS), ROUNDS_MAX),
        (QualifyTest::Iops, QualifyScale::Full) => (CELL, ROUNDS_MAX),
        (QualifyTest::Saturation, QualifyScale::Quick) => (Nanos(SECOND_NS), 60),
        (QualifyTest::Saturation, QualifyScale::Standard) => (Nanos(5 * SECOND_NS), 6 * 720),
        (QualifyTest::Saturation, QualifyScale::Full) => (CELL, 24 * 60),
    };
    QualifyPlan {
        test,
        scale,
        purge: Purge::None,
        write_pcts: mixes.iter().filter_map(|percent| Percent::new(*percent).ok()).collect(),
        sizes: sizes.iter().filter_map(|bytes| BlockSize::new(u64::from(*bytes)).ok()).collect(),
        queue_depth: IN_FLIGHT.0,
        workers: IN_FLIGHT.1,
        size: None,
        seed: 0,
        passes: match (test, scale) {
            (QualifyTest::Saturation, _) => 0,
            (QualifyTest::Iops, QualifyScale::Quick) => 1,
            (QualifyTest::Iops, QualifyScale::Standard | QualifyScale::Full) => PASSES,
        },
        cell,
        rounds_max,
        write_limit: None,
    }
}

/// A profile with a role for each mix and size, so that the target is checked for everything that will be done to it.
///
/// # Errors
/// If a mix or a size cannot be measured.
pub fn qualify_profile(plan: &QualifyPlan) -> Result<Profile, SessionError> {
    let mut profile = preset("random-write")?;
    "qualify".clone_into(&mut profile.name);
    profile.seed = plan.seed;
    let span = profile.spans.first_mut().ok_or(SessionError::NoRole)?;
    let base = span.roles.first().ok_or(SessionError::NoRole)?.clone();
    span.roles.clear();
    for (write_pct, size) in plan.cells() {
        let name = format!("cell-{}", span.roles.len());
        span.roles.push(RoleProfile { name, ..role(&base, plan, write_pct, size) });
    }
    check(&profile)?;
    Ok(profile)
}

/// The load of one measurement.
pub(super) fn role(
    base: &RoleProfile,
    plan: &QualifyPlan,
    write_pct: Percent,
    size: BlockSize,
) -> RoleProfile {
    RoleProfile {
        block_size: BlockMix::single(size),
        access: Access::Random,
        write_pct,
        queue_depth: plan.queue_depth,
        workers: plan.workers,
        caching: Caching::Direct,
        durability: Durability::None,
        sync: None,
        ..base.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::qualify::TRACKED;

    #[test]
    fn the_full_test_is_the_specified_one_in_its_order_and_an_hour_a_round() {
        let plan = plan_of(QualifyTest::Iops, QualifyScale::Full);
        let cells: Vec<(f64, u32)> = plan.cells().map(|(mix, size)| (mix.percent(), size.bytes())).collect();
        assert_eq!(
            (cells.len(), cells[0], cells[7], cells[8]),
            (56, (0.0, 1 << 20), (0.0, 512), (5.0, 1 << 20))
        );
        assert_eq!(cells[55], (100.0, 512));
        assert_eq!(plan.round_ns(), 56 * 60 * SECOND_NS);
        assert!((plan.write_share() - 0.5).abs() < 1e-9, "{}", plan.write_share());
        assert_eq!((plan.passes, plan.rounds_max), (2, 25));
    }

    #[test]
    fn every_scale_measures_what_must_be_steady() {
        for scale in [QualifyScale::Quick, QualifyScale::Standard, QualifyScale::Full] {
            let plan = plan_of(QualifyTest::Iops, scale);
            qualify_profile(&plan).unwrap();
            for (percent, bytes) in TRACKED {
                let is_it = |cell: &(Percent, BlockSize)| {
                    (cell.0.percent() - percent).abs() < 1e-9 && cell.1.bytes() == bytes
                };
                assert!(plan.cells().any(|cell| is_it(&cell)), "{scale:?}: {percent} % of {bytes}");
            }
        }
    }
}
