//! Which modification times a file system can store: on FAT a copy's time is truncated to two seconds.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use iostall_engine::files;

use super::beside::trial_path;

/// Resolutions of file systems, nanoseconds: Windows shares 100 ns, exFAT 10 ms, ext4 with small inodes one
/// second, FAT two.
const STEPS_NS: [i128; 7] = [1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000];
/// A time that every resolution changes: the second is odd, and no digit is zero.
const TRIAL: Duration = Duration::new(1_234_567_891, 987_654_321);

#[derive(Debug, Default)]
pub(super) struct TimeSteps {
    steps: HashMap<u64, Option<i128>>,
    /// Nothing may be created to measure it, so only identical times count.
    is_read_only: bool,
}

impl TimeSteps {
    pub(super) fn new(may_create: bool) -> Self {
        Self { is_read_only: !may_create, ..Self::default() }
    }

    /// Whether `target`, on the file system numbered `device`, has the time `kept_ns` because it was set to
    /// `given_ns`.
    pub(super) fn is_kept_as(&mut self, given_ns: i128, kept_ns: i128, target: &Path, device: u64) -> bool {
        if given_ns == kept_ns {
            return true;
        }
        // Most times differ by more than any file system truncates, so there is no need to test.
        let may_be_cut = !self.is_read_only && STEPS_NS.iter().any(|step| cut(given_ns, *step) == kept_ns);
        may_be_cut
            && self
                .steps
                .entry(device)
                .or_insert_with(|| step_at(target).unwrap_or(None))
                .is_some_and(|step| cut(given_ns, step) == kept_ns)
    }
}

fn cut(time_ns: i128, step: i128) -> i128 {
    time_ns.div_euclid(step) * step
}

/// Measures the resolution of the file system of `target` by setting a time on a file next to it.
fn step_at(target: &Path) -> io::Result<Option<i128>> {
    let path = trial_path(target);
    let file = files::create_new_private(&path)?;
    let kept = file.set_modified(UNIX_EPOCH + TRIAL).and_then(|()| files::stamp(&file));
    std::fs::remove_file(&path)?;
    let given_ns = i128::try_from(TRIAL.as_nanos()).unwrap_or(0);
    let kept_ns = kept?.modified_ns;
    Ok(STEPS_NS.into_iter().find(|step| cut(given_ns, *step) == kept_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_cuts_the_trial_to_another_time() {
        let given_ns = i128::try_from(TRIAL.as_nanos()).unwrap();
        let mut cuts: Vec<_> = STEPS_NS.iter().map(|step| cut(given_ns, *step)).collect();
        cuts.dedup();
        assert_eq!(cuts.len(), STEPS_NS.len());
    }

    /// `--resume` treated a file up to two seconds older than its source as an up-to-date copy, on every file
    /// system; and before that it recognised no earlier result on a file system without nanoseconds.
    #[test]
    fn a_time_is_known_again_where_the_file_system_cuts_it_and_only_there() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        for given in [1_500_000_001_987_654_321, -299_999_999_012_345_679] {
            for step in STEPS_NS {
                let mut steps = TimeSteps { steps: HashMap::from([(7, Some(step))]), is_read_only: false };
                for other in STEPS_NS {
                    let expected = cut(given, other) == cut(given, step) || other == 1;
                    let found = steps.is_kept_as(given, cut(given, other), &target, 7);
                    assert_eq!(found, expected, "{given} cut by {other} on {step}");
                }
                assert!(!steps.is_kept_as(given, given + 1, &target, 7));
            }
        }
        // Times are exact on the test machine, and the trial file is removed.
        let mut here = TimeSteps::default();
        assert!(!here.is_kept_as(1_500_000_001_987_654_321, 1_500_000_000_000_000_000, &target, 7));
        assert_eq!(here.steps[&7], Some(1));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // If nothing can be tested, only identical times count.
        let nowhere = dir.path().join("absent/x");
        assert!(!here.is_kept_as(1_500_000_001_987_654_321, 1_500_000_000_000_000_000, &nowhere, 8));
    }
}
