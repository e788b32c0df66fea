//! The settings and results of a paced writer.

use iostall_measure::{Histogram, named};
use serde::{Deserialize, Serialize};

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum WriteMethod {
        Buffered = "buffered",
        Direct = "direct",
        /// Direct I/O with each write on stable media before it completes (`O_DSYNC`).
        DirectDsync = "direct-dsync",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Bytes per packet; each packet is one write.
    pub packet_bytes: u32,
    pub packets_per_burst: u32,
    /// From the start of one burst to the start of the next, nanoseconds; 0: at no fixed times.
    pub period_ns: u64,
    /// From the end of one burst to the start of the next, nanoseconds, where bursts have no fixed times: the source waits for
    /// the writer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Pace {
    pub fn burst_bytes(&self) -> u64 {
        u64::from(self.packet_bytes) * u64::from(self.packets_per_burst)
    }

    /// Bytes a second that arrive; `None` without fixed times, when data arrives as fast as it is written.
    pub fn bytes_per_second(&self) -> Option<f64> {
        (self.period_ns > 0).then(|| self.burst_bytes() as f64 / (self.period_ns as f64 / 1e9))
    }

    /// The time from the first write to the end of the last, nanoseconds, with the pause that belongs to the last burst: never
    /// less than the source takes for the `bytes` that were written.
    pub fn with_last_pause(&self, elapsed_ns: u64, bytes: u64) -> u64 {
        let bursts = bytes as f64 / (self.burst_bytes() as f64).max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let source_ns = (bursts * self.period_ns as f64).round() as u64;
        (elapsed_ns + self.delay_ns).max(source_ns)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodOutcome {
    pub method: WriteMethod,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    pub pace: Pace,
    pub bytes: u64,
    pub elapsed_ns: u64,
    /// The final sync, nanoseconds. Not included in `elapsed_ns`; buffered writing defers work to it.
    pub sync_ns: u64,
    pub write_ns: Histogram,
    /// Time from when a packet's burst was due until it was written, nanoseconds. Empty without a pause.
    pub response_ns: Histogram,
    /// Offset of the slowest write, bytes.
    pub peak_offset: u64,
    pub bursts: u64,
    /// Of these, the ones that began more than half a period (and a millisecond) late.
    pub late_bursts: u64,
    pub lateness_ns_max: u64,
    /// Bytes that a source of this pace must be able to hold so that nothing is lost. `None` without fixed times, and where
    /// the pace was not kept: what it would have to hold goes on growing.
    pub buffer_bytes: Option<u64>,
    pub intervals: Vec<PacedInterval>,
    /// How many reporting intervals were merged into each one kept: more than 1 for a long write.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub intervals_joined: u64,
    pub change: Option<ChangePoint>,
    pub interrupted: bool,
    /// Why it failed, as a sentence; the numbers hold for what was written until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_one(number: &u64) -> bool {
    *number == 1
}

impl MethodOutcome {
    /// A method that has not written anything yet.
    pub fn new(method: WriteMethod, pace: Pace) -> Self {
        Self {
            method,
            refused: None,
            pace,
            bytes: 0,
            elapsed_ns: 0,
            sync_ns: 0,
            write_ns: Histogram::new(),
            response_ns: Histogram::new(),
            peak_offset: 0,
            bursts: 0,
            late_bursts: 0,
            lateness_ns_max: 0,
            buffer_bytes: None,
            intervals: Vec::new(),
            intervals_joined: 1,
            change: None,
            interrupted: false,
            failed: None,
        }
    }

    /// Bytes in a complete interval for a requested `interval_bytes`: whole packets, times the number of
    /// merged intervals.
    pub fn whole_interval_bytes(&self, interval_bytes: u64) -> u64 {
        let packets = interval_bytes.div_ceil(u64::from(self.pace.packet_bytes.max(1)));
        packets.saturating_mul(u64::from(self.pace.packet_bytes)).saturating_mul(self.intervals_joined)
    }

    /// Adds an interval. If there are more than `intervals_max`, neighbours are merged, so that a day of
    /// writing needs no more memory than an hour. Only complete neighbours are merged, so that all have the
    /// same length.
    ///
    /// Sums stay sums. The percentile of two merged intervals cannot be computed, so the larger is kept,
    /// which is never too small.
    pub fn add_interval(&mut self, interval: PacedInterval, interval_bytes: u64, intervals_max: usize) {
        let whole_bytes = self.whole_interval_bytes(interval_bytes);
        match self.intervals.last_mut().filter(|last| last.bytes < whole_bytes) {
            Some(last) => last.join(&interval),
            None => self.intervals.push(interval),
        }
        if self.intervals.len() > intervals_max {
            let join = |pair: &[PacedInterval]| {
                let mut joined = pair[0];
                pair[1..].iter().for_each(|next| joined.join(next));
                joined
            };
            self.intervals = self.intervals.chunks(2).map(join).collect();
            self.intervals_joined *= 2;
        }
    }

    /// Bytes a second while writing, the sync at the end not counted; `None` over no time. As many pauses count as there were
    /// bursts: without the one after the last, a few bursts would look faster than their source.
    pub fn bytes_per_second(&self) -> Option<f64> {
        self.bytes_per(self.pace.with_last_pause(self.elapsed_ns, self.bytes))
    }

    pub fn durable_bytes_per_second(&self) -> Option<f64> {
        let with_pause_ns = self.pace.with_last_pause(self.elapsed_ns, self.bytes);
        self.bytes_per(with_pause_ns.max(self.elapsed_ns + self.sync_ns))
    }

    fn bytes_per(&self, elapsed_ns: u64) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes as f64 / (elapsed_ns as f64 / 1e9))
    }

    /// The buffer that can be advised to a source: of a pace that was not kept, none can, whatever was noted of it.
    pub fn advised_buffer_bytes(&self) -> Option<u64> {
        self.buffer_bytes.filter(|_| self.kept_pace() == Some(true))
    }

    /// Whether the pace was kept: fewer than one late burst in a hundred. `None` without a pause.
    pub fn kept_pace(&self) -> Option<bool> {
        (self.pace.period_ns > 0 && self.bursts > 0)
            .then(|| self.late_bursts as f64 / (self.bursts as f64) < 0.01)
    }
}

/// One reporting interval. The last one has the rest, however small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PacedInterval {
    /// Bytes written since the start when it ended.
    pub end_bytes: u64,
    pub bytes: u64,
    /// Its wall time including pauses, nanoseconds.
    pub elapsed_ns: u64,
    pub writing_ns: u64,
    pub write_ns_mean: f64,
    /// 99th percentile of its write times, nanoseconds; the largest one for merged intervals.
    pub write_ns_p99: u64,
    pub write_ns_max: u64,
    /// Dirty bytes in the page cache, of all files, when it ended; `None` if unknown.
    pub dirty_bytes: Option<u64>,
}

impl PacedInterval {
    fn join(&mut self, next: &Self) {
        let writes_ns = (self.writing_ns + next.writing_ns) as f64;
        let writes = |one: &Self| {
            if one.write_ns_mean > 0.0 { one.writing_ns as f64 / one.write_ns_mean } else { 0.0 }
        };
        let count = writes(self) + writes(next);
        self.write_ns_mean = if count > 0.0 { writes_ns / count } else { 0.0 };
        self.end_bytes = next.end_bytes;
        self.bytes += next.bytes;
        self.elapsed_ns += next.elapsed_ns;
        self.writing_ns += next.writing_ns;
        self.write_ns_p99 = self.write_ns_p99.max(next.write_ns_p99);
        self.write_ns_max = self.write_ns_max.max(next.write_ns_max);
        self.dirty_bytes = next.dirty_bytes;
    }

    /// Whether it is at least half of an interval of `interval_bytes`, so that it can be compared with
    /// complete ones.
    pub fn is_most_of(&self, interval_bytes: u64) -> bool {
        self.bytes.saturating_mul(2) >= interval_bytes
    }

    pub fn bytes_per_second(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes as f64 / (self.elapsed_ns as f64 / 1e9))
    }

    /// Bytes per second of writing time: what the file could absorb. `None` if that is zero.
    pub fn writing_bytes_per_second(&self) -> Option<f64> {
        (self.writing_ns > 0).then(|| self.bytes as f64 / (self.writing_ns as f64 / 1e9))
    }
}

/// Where a series changed its level for good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Bytes written when it changed.
    pub at_bytes: u64,
    /// Level before: geometric mean of the intervals' bytes per second of writing time.
    pub before_bytes_per_second: f64,
    pub after_bytes_per_second: f64,
    /// p-value: how often a random order of the intervals shows a change at least as clear, 0 to 1.
    #[serde(alias = "chance")]
    pub p_value: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_paces_are_the_line_rates_they_stand_for() {
        let megabits = |packets_per_burst, period_ms: u64| {
            let pace = Pace {
                packet_bytes: 800_000,
                packets_per_burst,
                period_ns: period_ms * 1_000_000,
                delay_ns: 0,
            };
            pace.bytes_per_second().unwrap() * 8.0 / 1e6
        };
        assert!((megabits(1, 40) - 160.0).abs() < 1e-6);
        assert!((megabits(6, 50) - 768.0).abs() < 1e-6);
        assert!((megabits(12, 50) - 1536.0).abs() < 1e-6);
    }

    /// The story: three bursts of a source of 1.64 MB/s were said to be 2.45 MB/s, over the two pauses between them.
    #[test]
    fn three_bursts_take_three_periods_and_a_pace_that_is_lost_takes_its_time() {
        let pace = Pace { packet_bytes: 819_200, packets_per_burst: 1, period_ns: 500_000_000, delay_ns: 0 };
        let of = |pace, elapsed_ns| MethodOutcome {
            bytes: 3 * 819_200,
            elapsed_ns,
            ..MethodOutcome::new(WriteMethod::Direct, pace)
        };
        let megabytes = |outcome: &MethodOutcome| outcome.bytes_per_second().unwrap() / 1e6;
        assert!((megabytes(&of(pace, 1_002_000_000)) - 1.6384).abs() < 1e-9);
        assert!((megabytes(&of(pace, 2_000_000_000)) - 1.2288).abs() < 1e-9, "slower than its source");
        let delayed = Pace { period_ns: 0, delay_ns: 498_000_000, ..pace };
        assert!((megabytes(&of(delayed, 1_002_000_000)) - 1.6384).abs() < 1e-9);
    }

    /// A write of 25 hours in intervals of a megabyte kept each of them, gigabytes in total, until the kernel
    /// killed it.
    #[test]
    fn a_long_writing_keeps_its_sums_in_a_bounded_number_of_intervals_of_one_length() {
        let pace = Pace { packet_bytes: 10, packets_per_burst: 1, period_ns: 0, delay_ns: 0 };
        let mut outcome = MethodOutcome::new(WriteMethod::Direct, pace);
        for number in 1..=1001 {
            let interval = PacedInterval {
                end_bytes: number * 10,
                bytes: 10,
                elapsed_ns: 3,
                // Two writes of one nanosecond each, and of a second in the 500th.
                writing_ns: if number == 500 { 2_000_000_000 } else { 2 },
                write_ns_mean: if number == 500 { 1e9 } else { 1.0 },
                write_ns_p99: number,
                write_ns_max: number,
                dirty_bytes: Some(number),
            };
            // Nine bytes are reached with the first packet of ten.
            outcome.add_interval(interval, 9, 16);
        }
        assert!(outcome.intervals.len() <= 16, "{}", outcome.intervals.len());
        assert_eq!(outcome.intervals_joined, 64);
        let (last, whole) = outcome.intervals.split_last().unwrap();
        assert!(whole.iter().all(|interval| interval.bytes == 640));
        assert_eq!((last.end_bytes, last.write_ns_max, last.dirty_bytes), (10_010, 1001, Some(1001)));
        let sum = |of: fn(&PacedInterval) -> u64| outcome.intervals.iter().map(of).sum::<u64>();
        assert_eq!((sum(|one| one.bytes), sum(|one| one.elapsed_ns)), (10_010, 3003));
        assert_eq!(sum(|one| one.writing_ns), 2_000_000_000 + 2000);
        let with_the_stall = whole.iter().find(|interval| interval.end_bytes >= 5000).unwrap();
        assert!((with_the_stall.write_ns_mean - (2e9 + 126.0) / 128.0).abs() < 1.0);
    }

    #[test]
    fn a_method_kept_before_it_could_fail_reads_back() {
        let pace = Pace { packet_bytes: 10, packets_per_burst: 1, period_ns: 0, delay_ns: 0 };
        let outcome = MethodOutcome::new(WriteMethod::Direct, pace);
        let text = serde_json::to_string(&outcome).unwrap();
        assert!(!text.contains("failed") && !text.contains("joined"), "{text}");
        assert_eq!(serde_json::from_str::<MethodOutcome>(&text).unwrap(), outcome);
    }
}
