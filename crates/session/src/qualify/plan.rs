//! What is measured at each scale: the specification's mixes and sizes in its order, or fewer of them.

use iostall_load::preset::preset;
use iostall_load::profile::check;
use iostall_measure::{BlockSize, ByteCount, Caching, Nanos, Percent};
use iostall_model::profile::{BlockMix, Bound, Region};
use iostall_model::qualify::{Cell, DEPTHS, Purge, QualifyPlan, QualifyScale, QualifyTest};
use iostall_model::{Profile, RoleProfile};

use crate::error::SessionError;

const SECOND_NS: u64 = 1_000_000_000;
/// Rounds after which the specification gives up.
const ROUNDS_MAX: u32 = 25;
/// Rounds of a quick run: a window.
const ROUNDS_QUICK: u32 = 5;
/// Samples of a quick run that writes without a pause: a minute.
const SAMPLES_QUICK: u32 = 60;
/// In the specification's order: reads first.
const MIXES: [f64; 7] = [0.0, 5.0, 35.0, 50.0, 65.0, 95.0, 100.0];
/// Block sizes in the specification's order, bytes.
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

pub fn plan_of(test: QualifyTest, scale: QualifyScale) -> QualifyPlan {
    let (mixes, sizes) = mixes_and_sizes(test, scale);
    let (cell_s, rounds_max) = length(test, scale);
    let (queue_depth, workers) = in_flight(test, scale);
    QualifyPlan {
        test,
        scale,
        purge: Purge::None,
        write_pcts: mixes.iter().filter_map(|percent| Percent::new(*percent).ok()).collect(),
        sizes: sizes.iter().filter_map(|bytes| BlockSize::new(u64::from(*bytes)).ok()).collect(),
        queue_depth,
        workers,
        size: None,
        seed: 0,
        passes: match test {
            // What is looked for is how the drive falls from its first state.
            QualifyTest::Saturation
            | QualifyTest::IdleRecovery
            | QualifyTest::CrossStimulus
            | QualifyTest::FastCache => 0,
            _ if scale == QualifyScale::Quick => 1,
            _ => PASSES,
        },
        cell: Nanos(cell_s * SECOND_NS),
        rounds_max,
        write_limit: None,
        backup_size: None,
    }
}

fn mixes_and_sizes(test: QualifyTest, scale: QualifyScale) -> (&'static [f64], &'static [u32]) {
    match test {
        QualifyTest::Iops if scale == QualifyScale::Full => (&MIXES, &SIZES),
        QualifyTest::Iops => (&MIXES_SHORT, &SIZES_SHORT),
        QualifyTest::Throughput => (&[0.0, 100.0], &[1 << 20, 128 << 10]),
        QualifyTest::Latency => (&MIXES_SHORT, &[8 << 10, 4 << 10, 512]),
        QualifyTest::Sizes => (&MIXES_SHORT, &[8 << 10, 4 << 10]),
        QualifyTest::CrossStimulus => (&[100.0], &[1 << 20, 8 << 10]),
        QualifyTest::Demand => (&[35.0], &[8 << 10]),
        QualifyTest::Depth => (&[0.0, 100.0], &[4096]),
        QualifyTest::FastCache => (&[100.0], &[1 << 20]),
        QualifyTest::Saturation
        | QualifyTest::IdleRecovery
        | QualifyTest::ActiveRange
        | QualifyTest::WriteCache => (&[100.0], &[4096]),
    }
}

fn length(test: QualifyTest, scale: QualifyScale) -> (u64, u32) {
    match (test, scale) {
        (QualifyTest::FastCache, _) => (1, SAMPLES_QUICK * SAMPLES_QUICK),
        (QualifyTest::CrossStimulus, QualifyScale::Quick) => (1, 8),
        (QualifyTest::CrossStimulus, QualifyScale::Standard) => (5, 96),
        (QualifyTest::CrossStimulus, QualifyScale::Full) => (60, 8 * 60),
        (QualifyTest::Saturation | QualifyTest::IdleRecovery | QualifyTest::ActiveRange, scale) => {
            match scale {
                QualifyScale::Quick => (1, SAMPLES_QUICK),
                QualifyScale::Full if test == QualifyTest::Saturation => (60, 24 * 60),
                QualifyScale::Standard | QualifyScale::Full => (5, 6 * 720),
            }
        }
        (QualifyTest::Demand, QualifyScale::Standard) => (20, 6 * 720),
        (QualifyTest::Demand, QualifyScale::Full) => (60, 24 * 60),
        (_, QualifyScale::Quick) => (1, ROUNDS_QUICK),
        (_, QualifyScale::Standard) => (20, ROUNDS_MAX),
        (_, QualifyScale::Full) => (60, ROUNDS_MAX),
    }
}

/// Requests in flight of each worker, and workers: what the specification recommends for each test.
pub(super) fn in_flight(test: QualifyTest, scale: QualifyScale) -> (u32, u32) {
    match test {
        QualifyTest::Latency => (1, 1),
        QualifyTest::Throughput | QualifyTest::CrossStimulus => (32, 1),
        // Like a restore.
        QualifyTest::FastCache => (8, 1),
        QualifyTest::Demand if scale == QualifyScale::Full => (32, 32),
        QualifyTest::Demand => (32, 8),
        QualifyTest::Depth => (DEPTHS[DEPTHS.len() - 1], 1),
        QualifyTest::Iops
        | QualifyTest::Saturation
        | QualifyTest::IdleRecovery
        | QualifyTest::ActiveRange
        | QualifyTest::Sizes
        | QualifyTest::WriteCache => IN_FLIGHT,
    }
}

/// A profile with a role for each kind of request, so that the target is checked for everything that will be done to it.
pub fn qualify_profile(plan: &QualifyPlan) -> Result<Profile, SessionError> {
    let mut profile = preset("random-write")?;
    "qualify".clone_into(&mut profile.name);
    profile.seed = plan.seed;
    let span = profile.spans.first_mut().ok_or(SessionError::NoRole)?;
    let base = span.roles.first().ok_or(SessionError::NoRole)?.clone();
    span.roles.clear();
    let mut cells: Vec<Cell> = Vec::new();
    for cell in plan.stages().into_iter().flat_map(|stage| stage.cells) {
        let is_like = |known: &Cell| {
            (known.write_pct, known.size, known.access, known.durability)
                == (cell.write_pct, cell.size, cell.access, cell.durability)
        };
        if !cells.iter().any(is_like) {
            cells.push(cell);
        }
    }
    for cell in &cells {
        let name = format!("cell-{}", span.roles.len());
        span.roles.push(RoleProfile { name, ..role(&base, cell, 0) });
    }
    check(&profile)?;
    Ok(profile)
}

/// The load of one measurement. In order it begins at `from_bytes`.
pub(super) fn role(base: &RoleProfile, cell: &Cell, from_bytes: u64) -> RoleProfile {
    let is_whole = cell.range_pct >= Percent::HUNDRED;
    RoleProfile {
        region: Region {
            start: Bound::Bytes(ByteCount(from_bytes)),
            end: (!is_whole).then_some(Bound::Percent(cell.range_pct)),
        },
        block_size: BlockMix::single(cell.size),
        access: cell.access,
        write_pct: cell.write_pct,
        queue_depth: cell.queue_depth,
        workers: cell.workers,
        caching: Caching::Direct,
        durability: cell.durability,
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
        let stages = plan.stages();
        let only = &stages[0];
        assert_eq!((stages.len(), only.round_ns(), only.cells.len()), (1, 56 * 60 * SECOND_NS, 56));
        assert!((only.write_share() - 0.5).abs() < 1e-9, "{}", only.write_share());
        assert_eq!((plan.passes, plan.rounds_max), (2, 25));
    }

    /// What implementations of the specification do, in its lengths.
    #[test]
    fn the_full_tests_have_the_specified_stages() {
        let full = |test| plan_of(test, QualifyScale::Full).stages();
        let lengths = |test| {
            let of = |stage: &iostall_model::qualify::Stage| {
                (stage.cells.len(), u64::from(stage.rounds_max) * stage.round_ns() / SECOND_NS)
            };
            full(test).iter().map(of).collect::<Vec<_>>()
        };
        // Half an hour of 5 s writes with each pause, and half an hour back.
        let idle = lengths(QualifyTest::IdleRecovery);
        let (waits, backs): (Vec<u64>, Vec<u64>) =
            idle[1..].chunks(2).map(|pair| (pair[0].1, pair[1].1)).unzip();
        assert_eq!(waits, [3600, 5400, 7200, 10_800, 19_800]);
        assert_eq!(backs, [1800; 5]);
        // 8 h, 6 h, 8 h.
        let hours: Vec<u64> = lengths(QualifyTest::CrossStimulus).iter().map(|one| one.1 / 3600).collect();
        assert_eq!(hours, [8, 6, 8]);
        // Five minutes of writes, then a minute at each of 49.
        let demand = full(QualifyTest::Demand);
        assert_eq!((demand[1].cells.len(), demand[1].round_ns() / SECOND_NS), (50, 54 * 60));
        let most = &demand[1].cells[demand[1].tracked[0]];
        assert_eq!((most.workers, most.queue_depth), (32, 32));
        // Two sizes, each filled in requests of its own; nine measurements and twenty minutes, one request at a time.
        let passes: Vec<(u32, u32)> = full(QualifyTest::Throughput).iter().map(|one| one.passes).collect();
        assert_eq!(passes, [(2, 1 << 20), (2, 128 << 10)]);
        let latency = full(QualifyTest::Latency);
        assert_eq!((latency[0].cells.len(), latency[1].round_ns() / SECOND_NS), (9, 1200));
        assert!(
            latency.iter().flat_map(|one| &one.cells).all(|cell| (cell.queue_depth, cell.workers) == (1, 1))
        );
        let ranges: Vec<u64> =
            full(QualifyTest::ActiveRange).iter().map(|one| one.range_bytes(1000)).collect();
        assert_eq!(ranges, [100, 250, 500, 750, 1000]);
    }

    #[test]
    fn every_test_can_be_planned_at_every_scale_and_ends() {
        for name in QualifyTest::NAMES {
            let test: QualifyTest = serde_json::from_value(name.into()).unwrap();
            assert_eq!(test.name(), name);
            for scale in [QualifyScale::Quick, QualifyScale::Standard, QualifyScale::Full] {
                let plan = plan_of(test, scale);
                qualify_profile(&plan).unwrap();
                for stage in plan.stages() {
                    assert!(!stage.cells.is_empty() && stage.rounds_max > 0, "{name}: {stage:?}");
                    assert!(stage.tracked.iter().all(|index| *index < stage.cells.len()), "{name}");
                }
            }
        }
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
