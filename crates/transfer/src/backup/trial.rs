//! What trials of backups and of restores have in common: they end when their time is over, and what they moved stands for the
//! whole.

use iostall_measure::{Clock as _, MonotonicClock, Nanos};

use crate::pipeline::{Extent, Source, Step};

/// A part of the source with less of its bytes than this is left out of a trial.
const NEGLIGIBLE: f64 = 0.02;
/// Small and large files both get at least this share of the time.
const TIME_SHARE_MIN: f64 = 0.25;

#[derive(Clone, Copy, Debug)]
pub struct TrialLimit {
    pub seconds: f64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trial {
    /// Bytes of content a second, the time for making what was written durable included; 0 if there were none.
    pub bytes_per_s: f64,
    /// Content: bytes of the source of a backup.
    pub source_bytes: u64,
    /// Bytes of stripes that were written, or read.
    pub stored_bytes: u64,
}

/// A part of a trial, with the share of the source's bytes that it stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Phase {
    pub(super) share: f64,
    pub(super) bytes: u64,
    pub(super) elapsed_ns: u64,
}

/// How the time of a trial is shared between small files and large ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Of the bytes: of the small ones, and of the large ones. 0 for what is left out.
    pub(super) shares: [f64; 2],
    pub(super) seconds: [f64; 2],
}

impl Shared {
    /// For `seconds` on files of which the small ones have `small_share` of the bytes.
    pub(super) fn of(small_share: f64, seconds: f64) -> Self {
        let shares = match small_share {
            few if few < NEGLIGIBLE => [0.0, 1.0],
            nearly_all if nearly_all > 1.0 - NEGLIGIBLE => [1.0, 0.0],
            some => [some, 1.0 - some],
        };
        let time = |share: f64| {
            let between = share.clamp(TIME_SHARE_MIN, 1.0 - TIME_SHARE_MIN);
            seconds * if share >= 1.0 { 1.0 } else { between }
        };
        Self { shares, seconds: shares.map(time) }
    }
}

/// Bytes a second of a source of which each phase has moved a part: its time for a byte counts as often as there are bytes of
/// its kind.
pub(super) fn rate(phases: &[Phase], sync_ns: u64) -> f64 {
    let moved: Vec<&Phase> = phases.iter().filter(|phase| phase.bytes > 0).collect();
    let (shares, bytes): (f64, u64) =
        (moved.iter().map(|phase| phase.share).sum(), moved.iter().map(|phase| phase.bytes).sum());
    if bytes == 0 || shares <= 0.0 {
        return 0.0;
    }
    let of_phase =
        |phase: &&Phase| phase.share / shares * phase.elapsed_ns.max(1) as f64 / phase.bytes as f64;
    let ns_per_byte = moved.iter().map(of_phase).sum::<f64>() + sync_ns as f64 / bytes as f64;
    1e9 / ns_per_byte
}

/// Ends a source when its time is over or enough was read, but never before its first step.
pub(super) struct Limited<S> {
    source: S,
    clock: MonotonicClock,
    limit_ns: u64,
    bytes_left: u64,
    /// When the first step was taken, before which buffers and engine are made ready.
    begun_ns: Option<u64>,
}

impl<S> Limited<S> {
    pub(super) fn new(source: S, clock: MonotonicClock, limit: TrialLimit) -> Self {
        let limit_ns = Nanos::from_seconds(limit.seconds).nanos();
        Self { source, clock, limit_ns, bytes_left: limit.bytes, begun_ns: None }
    }

    pub(super) fn source(&self) -> &S {
        &self.source
    }

    /// When the first step was taken, by its clock.
    pub(super) fn begun_ns(&self) -> Option<u64> {
        self.begun_ns
    }
}

impl<S: Source> Source for Limited<S> {
    fn next(&mut self) -> Option<Step> {
        let now_ns = self.clock.now_ns();
        let begun_ns = *self.begun_ns.get_or_insert(now_ns);
        let has_begun = begun_ns < now_ns;
        if has_begun && (self.bytes_left == 0 || now_ns - begun_ns >= self.limit_ns) {
            return None;
        }
        let step = self.source.next()?;
        if let Step::Read(extent) | Step::Fill(extent) = &step {
            self.bytes_left = self.bytes_left.saturating_sub(extent.length.into());
        }
        Some(step)
    }

    fn was_read(&mut self, extent: &Extent) {
        self.source.was_read(extent);
    }

    fn ended_early(&mut self, extent: &Extent, read_bytes: u32) -> bool {
        self.source.ended_early(extent, read_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with a million small files and a large one: the time of the small ones counts for their bytes, however short a
    /// trial of them was.
    #[test]
    fn each_kind_of_file_counts_by_its_bytes() {
        let phase = |share, bytes, elapsed_ns| Phase { share, bytes, elapsed_ns };
        // A tenth of the bytes at 10 MB/s, the rest at 1,000: 0.1/10 + 0.9/1000 s for a MB.
        let rate_mb =
            rate(&[phase(0.1, 1_000_000, 100_000_000), phase(0.9, 10_000_000, 10_000_000)], 0) / 1e6;
        assert!((rate_mb - 1.0 / (0.01 + 0.0009)).abs() < 1e-6, "{rate_mb}");
        assert!((rate(&[phase(1.0, 1_000, 500)], 500) - 1e9).abs() < 1e-3);
        assert!(rate(&[phase(1.0, 0, 500)], 500).abs() < f64::EPSILON);
        // Where all small files were gone, only the others count.
        let only = rate(&[phase(0.5, 0, 10), phase(0.5, 1_000, 1_000)], 0);
        assert!((only - 1e9).abs() < 1e-3, "{only}");
    }
}
