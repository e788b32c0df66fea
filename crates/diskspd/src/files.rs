//! Which files a profile creates, and their size in each time span.
//!
//! DiskSpd recreates a file before every time span that gives it a size, unless `PrecreateFiles` creates it
//! once before the first. Here every file is created once, in its largest size, and a time span in which it
//! is smaller uses its beginning: the same offsets, without rewriting the file between time spans.

use super::profile::{DiskspdProfile, PrecreateFiles};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    pub path: String,
    /// The largest requested size (`-c`); `None` if it is never created.
    pub made_bytes: Option<u64>,
    /// Its size in each time span; `None`: as found, because no earlier time span creates it.
    pub bytes_in_spans: Vec<Option<u64>>,
    /// A time span uses it before any creates it, so that it must exist.
    pub must_exist: bool,
}

impl FilePlan {
    /// Every path of `profile` once, in order of first use.
    pub fn all_of(profile: &DiskspdProfile) -> Vec<Self> {
        let mut plans: Vec<Self> = Vec::new();
        for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
            if !plans.iter().any(|plan| plan.path == target.path) {
                plans.push(Self::of(profile, &target.path));
            }
        }
        plans
    }

    fn of(profile: &DiskspdProfile, path: &str) -> Self {
        let asked: Vec<Asked> = profile
            .time_spans
            .iter()
            .map(|span| {
                let mut targets = span.targets.iter().filter(|target| target.path == path).peekable();
                let used = targets.peek().is_some();
                Asked { used, bytes: targets.filter_map(|target| target.create_bytes).max() }
            })
            .collect();
        let made_bytes = asked.iter().filter_map(|span| span.bytes).max();
        let before_all = made_bytes.filter(|_| is_made_before_all(profile.precreate_files, &asked));
        let mut now = before_all;
        let mut must_exist = false;
        let bytes_in_spans = asked
            .iter()
            .map(|span| {
                if before_all.is_none() {
                    now = span.bytes.or(now);
                }
                must_exist |= span.used && now.is_none();
                now
            })
            .collect();
        Self { path: path.to_owned(), made_bytes, bytes_in_spans, must_exist }
    }
}

struct Asked {
    used: bool,
    bytes: Option<u64>,
}

/// Whether a file is created before the first time span. Time spans that do not use it do not matter.
fn is_made_before_all(rule: Option<PrecreateFiles>, asked: &[Asked]) -> bool {
    let sizes = || asked.iter().filter_map(|span| span.bytes);
    let constant = sizes().all(|bytes| Some(bytes) == sizes().next());
    let always_sized = asked.iter().all(|span| !span.used || span.bytes.is_some());
    match rule {
        None => false,
        Some(PrecreateFiles::UseMaxSize) => true,
        Some(PrecreateFiles::OnlyConstantSizes) => constant && always_sized,
        Some(PrecreateFiles::OnlyConstantOrZeroSizes) => constant,
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::{DiskspdTarget, DiskspdTimeSpan};
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A profile whose time spans give `F` these sizes.
    fn plan(rule: Option<PrecreateFiles>, sizes: &[Option<u64>]) -> FilePlan {
        let span = |bytes: &Option<u64>| DiskspdTimeSpan {
            targets: vec![DiskspdTarget { create_bytes: *bytes, ..DiskspdTarget::new("F") }],
            ..DiskspdTimeSpan::default()
        };
        let time_spans = sizes.iter().map(span).collect();
        let profile = DiskspdProfile { precreate_files: rule, time_spans, ..DiskspdProfile::default() };
        FilePlan::all_of(&profile).remove(0)
    }

    #[test]
    fn without_a_rule_each_time_span_has_the_size_that_was_last_asked_for() {
        let plan = plan(None, &[Some(2 * GIB), None, Some(GIB), None]);
        assert_eq!(plan.made_bytes, Some(2 * GIB));
        assert_eq!(plan.bytes_in_spans, [Some(2 * GIB), Some(2 * GIB), Some(GIB), Some(GIB)]);
        assert!(!plan.must_exist);
    }

    #[test]
    fn a_time_span_before_the_first_size_needs_the_file() {
        let late = plan(None, &[None, Some(GIB)]);
        assert_eq!(late.bytes_in_spans, [None, Some(GIB)]);
        assert!(late.must_exist);
        assert!(plan(None, &[None, None]).must_exist);
    }

    #[test]
    fn the_largest_size_holds_for_all_time_spans_where_the_profile_says_so() {
        let plan = plan(Some(PrecreateFiles::UseMaxSize), &[None, Some(GIB), Some(3 * GIB)]);
        assert_eq!(plan.bytes_in_spans, [Some(3 * GIB); 3]);
        assert!(!plan.must_exist);
    }

    #[test]
    fn constant_sizes_are_made_first_and_others_where_they_stand() {
        use PrecreateFiles::{OnlyConstantOrZeroSizes, OnlyConstantSizes};
        for rule in [OnlyConstantSizes, OnlyConstantOrZeroSizes] {
            assert!(!plan(Some(rule), &[Some(GIB), Some(GIB)]).must_exist);
            let differs = plan(Some(rule), &[Some(GIB), Some(2 * GIB)]);
            assert_eq!(differs.bytes_in_spans, [Some(GIB), Some(2 * GIB)]);
        }
        assert!(plan(Some(OnlyConstantSizes), &[None, Some(GIB)]).must_exist);
        let or_zero = plan(Some(OnlyConstantOrZeroSizes), &[None, Some(GIB)]);
        assert_eq!((or_zero.bytes_in_spans, or_zero.must_exist), (vec![Some(GIB); 2], false));
    }
}
