//! What a qualification may be said to show. The list is complete: what is not in it, it does not show.

use iostall_measure::platform::{Target, TargetKind};

use crate::kinds::QualifyOutcome;
use crate::qualify::{QualifyScale, QualifyTest};

/// Something that people say of such a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The method is derived from the specification's: its loops and its criterion, on this active range.
    DerivedMethod,
    SteadyState,
    WholeDevice,
    SpecifiedTest,
    VendorComparison,
    Endurance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    Quick,
    NotSteady,
    Part,
    /// The method deviates, and nobody else has seen it done.
    Method,
    /// The specification has no such test, and neither rounds nor a steady state.
    OwnTest,
    NotMeasured,
}

impl Claim {
    pub const ALL: [Self; 6] = [
        Self::DerivedMethod,
        Self::SteadyState,
        Self::WholeDevice,
        Self::SpecifiedTest,
        Self::VendorComparison,
        Self::Endurance,
    ];

    /// Why it must not be said of this run on `target`; `None` if it may.
    pub fn denied(self, outcome: &QualifyOutcome, target: Option<&Target>) -> Option<Denial> {
        let is_quick = outcome.plan.scale == QualifyScale::Quick;
        match self {
            Self::DerivedMethod | Self::SteadyState if is_quick => Some(Denial::Quick),
            Self::DerivedMethod => (outcome.plan.test == QualifyTest::FastCache).then_some(Denial::OwnTest),
            Self::SteadyState => outcome.steady.is_none().then_some(Denial::NotSteady),
            Self::WholeDevice => {
                let is_whole = target.is_some_and(|target| is_whole(outcome.active_bytes, target));
                (!is_whole).then_some(Denial::Part)
            }
            // However the drive was purged: the set-up, and what the report has to say of it, are not those of the specification.
            Self::SpecifiedTest | Self::VendorComparison => Some(Denial::Method),
            Self::Endurance => Some(Denial::NotMeasured),
        }
    }
}

/// A disk of its own, of which everything was used: no file, and no partition, which stands on a disk.
fn is_whole(active_bytes: u64, target: &Target) -> bool {
    let is_disk = target.device.as_ref().is_some_and(|device| device.below.is_empty());
    target.kind == TargetKind::BlockDevice && is_disk && active_bytes >= target.size_bytes
}

#[cfg(test)]
mod tests {
    use iostall_measure::platform::Device;
    use iostall_measure::{BlockSize, Nanos, Percent};

    use super::*;
    use crate::outcome::EngineUse;
    use crate::qualify::{Preconditioning, Purge, QualifyPlan, RoundSpan, Stopped};

    fn outcome(scale: QualifyScale, steady: bool) -> QualifyOutcome {
        QualifyOutcome {
            plan: QualifyPlan {
                test: QualifyTest::Iops,
                scale,
                purge: Purge::None,
                write_pcts: vec![Percent::HUNDRED],
                sizes: vec![BlockSize::new(4096).unwrap()],
                queue_depth: 32,
                workers: 4,
                size: None,
                seed: 0,
                passes: 2,
                cell: Nanos(1_000_000_000),
                rounds_max: 25,
                write_limit: None,
                backup_size: None,
            },
            engine: EngineUse::default(),
            active_bytes: 1000,
            preconditioning: Preconditioning::default(),
            rounds: Vec::new(),
            stopped: Stopped::Rounds,
            steady: steady.then_some(RoundSpan { first: 3, last: 7 }),
            points: Vec::new(),
            conditions: None,
            deviations: Vec::new(),
            resumed: None,
        }
    }

    fn allowed(outcome: &QualifyOutcome, target: Option<&Target>) -> Vec<Claim> {
        Claim::ALL.into_iter().filter(|claim| claim.denied(outcome, target).is_none()).collect()
    }

    /// Every claim, on a file, a partition, a part of a disk and a whole one; nothing else may be said.
    #[test]
    fn what_may_be_said_of_each_target_is_listed_whole() {
        use Claim::{DerivedMethod, SteadyState, WholeDevice};
        let of = |kind, size_bytes, below| {
            let device = Device { name: "sda".into(), below, ..Device::default() };
            Target { device: Some(device), ..Target::new("t", kind, size_bytes) }
        };
        let (full, quick) = (QualifyScale::Full, QualifyScale::Quick);
        let file = of(TargetKind::File, 1000, Vec::new());
        let partition = of(TargetKind::BlockDevice, 1000, vec![Device::default()]);
        let part = of(TargetKind::BlockDevice, 1001, Vec::new());
        let disk = of(TargetKind::BlockDevice, 1000, Vec::new());
        for target in [&file, &partition, &part] {
            assert_eq!(allowed(&outcome(full, true), Some(target)), [DerivedMethod, SteadyState]);
            assert_eq!(allowed(&outcome(full, false), Some(target)), [DerivedMethod]);
            assert!(allowed(&outcome(quick, true), Some(target)).is_empty());
        }
        assert_eq!(allowed(&outcome(full, true), Some(&disk)), [DerivedMethod, SteadyState, WholeDevice]);
        assert_eq!(allowed(&outcome(full, true), None), [DerivedMethod, SteadyState]);
    }

    #[test]
    fn a_file_is_never_a_test_of_the_specification_nor_comparable_with_a_data_sheet_nor_an_endurance() {
        let run = outcome(QualifyScale::Full, true);
        assert_eq!(Claim::SpecifiedTest.denied(&run, None), Some(Denial::Method));
        assert_eq!(Claim::VendorComparison.denied(&run, None), Some(Denial::Method));
        assert_eq!(Claim::Endurance.denied(&run, None), Some(Denial::NotMeasured));
    }
}
