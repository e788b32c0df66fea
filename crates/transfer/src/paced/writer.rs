//! One method at one pace, on any engine and clock.

use iostall_engine::guard::{HeaderKind, write_header};
use iostall_engine::{Buffer, Engine, EngineError, FileIndex, IoFailure, Request, RequestOp, Wait};
use iostall_measure::{Clock, Histogram, Percentile};
use iostall_model::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
use thiserror::Error;

use super::backlog::Backlog;
use super::change::find_change;
use crate::progress::Progress;

/// A burst is never called late before this, nanoseconds: far more than a thread takes to wake.
const LATE_NS_MIN: u64 = 1_000_000;
/// With more intervals than this, neighbours are joined: 108,000 are 25 hours at 120 MB/s in intervals of 100 MB.
const INTERVALS_MAX: usize = 1 << 17;
/// How long to sleep at most between two looks for cancelling, nanoseconds.
const POLL_NS: u64 = 100_000_000;

/// What to write.
pub struct PacedJob<'a> {
    /// How the file was opened.
    pub method: WriteMethod,
    /// How data arrives.
    pub pace: Pace,
    /// Bytes to write; `None` until the time is over.
    pub total_bytes: Option<u64>,
    /// How long to write at most, nanoseconds.
    pub duration_ns: Option<u64>,
    /// What the file begins with: iostall knows a file that it made by it, also when this is killed in between.
    pub first_header: HeaderKind,
    /// Bytes of a sampling interval.
    pub interval_bytes: u64,
    /// What the kernel has yet to write, asked at the end of each interval.
    pub dirty_bytes: &'a dyn Fn() -> Option<u64>,
    /// Told each interval when it ends. It must not wait: the next burst may be due.
    pub on_interval: &'a dyn Fn(&PacedInterval),
    /// Who looks on, and may cancel.
    pub progress: &'a Progress,
}

/// Why writing stopped.
#[derive(Debug, Error)]
enum PacedError {
    /// The system failed a write.
    #[error("writing {length} bytes at offset {offset}: {cause}")]
    Write {
        /// Where.
        offset: u64,
        /// How much.
        length: u32,
        /// What the system said.
        cause: IoFailure,
    },
    /// The system wrote less than a packet: the file system is full, or at its largest file.
    #[error("only {moved} of {length} bytes were written at offset {offset}: the file system is full")]
    Short {
        /// Where.
        offset: u64,
        /// How much.
        length: u32,
        /// How much of it.
        moved: u32,
    },
    /// The final sync failed.
    #[error("making the file durable: {0}")]
    Sync(IoFailure),
    /// The engine broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Writes the file with index 0 from its start, packet after packet, and times every write. The packet is what
/// is in `buffer`, with its number in its first eight bytes; the first one begins with a header instead.
///
/// Bursts are due at fixed times from the start (open loop): one that begins late counts from when it was due,
/// and those behind it do not wait any longer for it.
///
/// A failure ends the writing, and the outcome says so beside what was measured until then: it may have taken a day.
///
/// # Panics
/// When the buffer is smaller than a packet.
pub fn write_paced<E: Engine, C: Clock>(
    engine: &mut E,
    clock: &C,
    buffer: Buffer,
    job: &PacedJob<'_>,
) -> MethodOutcome {
    let mut writing = Writing::new(engine, clock, buffer, job);
    let failure = writing.run().err();
    writing.finish(failure)
}

/// When a burst counts as late, nanoseconds after it was due: at half the period, when the writer no longer has
/// time to itself.
fn late_after_ns(period_ns: u64) -> u64 {
    (period_ns / 2).max(LATE_NS_MIN)
}

struct Writing<'a, 'j, E, C> {
    engine: &'a mut E,
    clock: &'a C,
    job: &'a PacedJob<'j>,
    buffer: Option<Buffer>,
    start_ns: u64,
    last_end_ns: u64,
    backlog: Backlog,
    outcome: MethodOutcome,
    interval: Histogram,
    interval_bytes: u64,
    interval_start_ns: u64,
}

impl<'a, 'j, E: Engine, C: Clock> Writing<'a, 'j, E, C> {
    fn new(engine: &'a mut E, clock: &'a C, buffer: Buffer, job: &'a PacedJob<'j>) -> Self {
        let start_ns = clock.now_ns();
        Self {
            engine,
            clock,
            job,
            buffer: Some(buffer),
            start_ns,
            last_end_ns: start_ns,
            backlog: Backlog::new(job.pace, job.total_bytes),
            outcome: MethodOutcome::new(job.method, job.pace),
            interval: Histogram::new(),
            interval_bytes: 0,
            interval_start_ns: start_ns,
        }
    }

    /// Writes all bursts, and makes them durable.
    fn run(&mut self) -> Result<(), PacedError> {
        while let Some(due_ns) = self.next_burst() {
            self.burst(due_ns)?;
        }
        let begun_ns = self.clock.now_ns();
        let (synced, _) = self.request(RequestOp::Fsync, 0, 0, None)?;
        synced.map_err(PacedError::Sync)?;
        self.outcome.sync_ns = self.clock.now_ns() - begun_ns;
        Ok(())
    }

    fn is_over(&mut self) -> bool {
        if self.job.progress.is_cancelled() {
            self.outcome.interrupted = true;
            return true;
        }
        let elapsed_ns = self.clock.now_ns() - self.start_ns;
        self.job.total_bytes.is_some_and(|total| self.outcome.bytes >= total)
            || self.job.duration_ns.is_some_and(|duration_ns| elapsed_ns >= duration_ns)
    }

    /// Waits for the next burst; answers when it was due, or `None` at the end.
    fn next_burst(&mut self) -> Option<u64> {
        let due_ns = self.start_ns + self.outcome.bursts * self.job.pace.period_ns;
        loop {
            if self.is_over() {
                return None;
            }
            let now_ns = self.clock.now_ns();
            if now_ns >= due_ns {
                break;
            }
            self.clock.sleep_until(due_ns.min(now_ns + POLL_NS));
        }
        self.outcome.bursts += 1;
        if self.job.pace.period_ns > 0 {
            let late_ns = self.clock.now_ns() - due_ns;
            self.outcome.late_bursts += u64::from(late_ns > late_after_ns(self.job.pace.period_ns));
            self.outcome.lateness_ns_max = self.outcome.lateness_ns_max.max(late_ns);
        }
        Some(due_ns)
    }

    fn burst(&mut self, due_ns: u64) -> Result<(), PacedError> {
        for _ in 0..self.job.pace.packets_per_burst {
            if self.is_over() {
                break;
            }
            self.packet(due_ns)?;
        }
        Ok(())
    }

    fn packet(&mut self, due_ns: u64) -> Result<(), PacedError> {
        let (offset, length) = (self.outcome.bytes, self.job.pace.packet_bytes);
        let number = offset / u64::from(length);
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        // Packets that differ: a device that finds equal blocks and keeps them once is not to be flattered.
        buffer[..8].copy_from_slice(&number.to_le_bytes());
        if offset == 0 {
            write_header(&mut buffer, offset, number, 0);
            self.job.first_header.put(&mut buffer);
        }
        let begun_ns = self.clock.now_ns();
        let (moved, buffer) = self.request(RequestOp::Write, offset, length, Some(buffer))?;
        let ended_ns = self.clock.now_ns();
        self.buffer = buffer;
        let moved = moved.map_err(|cause| PacedError::Write { offset, length, cause })?;
        if moved < length {
            return Err(PacedError::Short { offset, length, moved });
        }
        self.note(due_ns, begun_ns, ended_ns);
        Ok(())
    }

    fn note(&mut self, due_ns: u64, begun_ns: u64, ended_ns: u64) {
        let bytes = u64::from(self.job.pace.packet_bytes);
        let write_ns = ended_ns - begun_ns;
        let outcome = &mut self.outcome;
        if outcome.write_ns.max().is_none_or(|peak_ns| write_ns > peak_ns) {
            outcome.peak_offset = outcome.bytes;
        }
        outcome.write_ns.record(write_ns);
        if self.job.pace.period_ns > 0 {
            outcome.response_ns.record(ended_ns - due_ns);
        }
        self.backlog.note(ended_ns - self.start_ns, outcome.bytes);
        outcome.bytes += bytes;
        self.last_end_ns = ended_ns;
        self.interval.record(write_ns);
        self.interval_bytes += bytes;
        self.job.progress.add_done(bytes);
        self.job.progress.note_moved(ended_ns, 0, bytes);
        if self.interval_bytes >= self.job.interval_bytes {
            self.end_interval();
        }
    }

    fn end_interval(&mut self) {
        let Some(write_ns_max) = self.interval.max() else { return };
        let interval = PacedInterval {
            end_bytes: self.outcome.bytes,
            bytes: self.interval_bytes,
            elapsed_ns: self.last_end_ns - self.interval_start_ns,
            writing_ns: u64::try_from(self.interval.sum()).unwrap_or(u64::MAX),
            write_ns_mean: self.interval.mean().unwrap_or(0.0),
            write_ns_p99: self.interval.value_at(Percentile::P99).unwrap_or(write_ns_max),
            write_ns_max,
            dirty_bytes: (self.job.dirty_bytes)(),
        };
        (self.job.on_interval)(&interval);
        self.outcome.add_interval(interval, self.job.interval_bytes, INTERVALS_MAX);
        self.interval.clear();
        self.interval_bytes = 0;
        self.interval_start_ns = self.last_end_ns;
    }

    fn finish(mut self, failure: Option<PacedError>) -> MethodOutcome {
        self.outcome.elapsed_ns = self.last_end_ns - self.start_ns;
        // What is left belongs to the record, but not beside whole intervals.
        self.end_interval();
        self.outcome.failed = failure.map(|failure| failure.to_string());
        self.outcome.buffer_bytes = self.backlog.largest_bytes();
        let whole_bytes = self.outcome.whole_interval_bytes(self.job.interval_bytes);
        let whole = match self.outcome.intervals.split_last() {
            Some((last, before)) if !last.is_most_of(whole_bytes) => before,
            _ => &self.outcome.intervals,
        };
        self.outcome.change = find_change(whole, self.outcome.bytes);
        self.outcome
    }

    fn request(
        &mut self,
        op: RequestOp,
        offset: u64,
        length: u32,
        buffer: Option<Buffer>,
    ) -> Result<(Result<u32, IoFailure>, Option<Buffer>), EngineError> {
        self.engine.push(Request { token: 0, op, file: FileIndex(0), offset, length, buffer });
        let mut completions = Vec::with_capacity(1);
        loop {
            self.engine.submit(Wait::ONE, &mut completions)?;
            if let Some(completion) = completions.pop() {
                return Ok((completion.result, completion.buffer));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_engine::sim::{Faults, SimConfig, SimDevice, SimEngine, SimFile, Stall};
    use iostall_engine::{BufferPool, Pages};
    use iostall_measure::ManualClock;

    const PACE: Pace = Pace { packet_bytes: 8192, packets_per_burst: 4, period_ns: 10_000_000 };

    fn run(config: SimConfig, pace: Pace, total_bytes: u64) -> MethodOutcome {
        let files = vec![SimFile { size_bytes: 0, ..config.files.first().copied().unwrap_or_default() }];
        let device = SimDevice::new(
            SimConfig { files, service_ns_base: 1_000_000, service_ns_tail_mean: 0, ..config },
            ManualClock::new(),
        );
        let mut engine = SimEngine::new(device.clone(), 1);
        let (_, mut buffers) = BufferPool::new(1, pace.packet_bytes, Pages::Small).unwrap();
        let progress = Progress::default();
        let job = PacedJob {
            method: WriteMethod::Direct,
            pace,
            total_bytes: Some(total_bytes),
            duration_ns: None,
            first_header: HeaderKind::MadeFile,
            interval_bytes: 81_920,
            dirty_bytes: &|| Some(7),
            on_interval: &|_| (),
            progress: &progress,
        };
        write_paced(&mut engine, device.clock(), buffers.pop().unwrap(), &job)
    }

    #[test]
    fn a_pace_that_the_device_keeps_takes_its_time_and_one_burst_of_room() {
        let outcome = run(SimConfig::default(), PACE, 100 * 32_768);
        // 100 bursts every 10 ms; the last one takes 4 ms.
        assert_eq!(outcome.elapsed_ns, 99 * 10_000_000 + 4_000_000);
        assert_eq!((outcome.bursts, outcome.late_bursts), (100, 0));
        assert_eq!(outcome.kept_pace(), Some(true));
        assert_eq!(outcome.response_ns.max(), Some(4_000_000));
        assert_eq!(outcome.write_ns.count(), 400);
        assert_eq!(outcome.intervals.len(), 40);
        assert_eq!(outcome.intervals.iter().map(|interval| interval.bytes).sum::<u64>(), outcome.bytes);
        assert_eq!(outcome.intervals[0].dirty_bytes, Some(7));
        // A burst, and what arrives in the millisecond of the first write.
        assert_eq!(outcome.buffer_bytes, Some(32_768 + 3276));
        assert_eq!(outcome.change, None);
    }

    #[test]
    fn no_write_is_left_out_of_the_intervals_and_a_short_rest_is_no_change() {
        // Ten packets an interval: 20 whole ones and a rest of one, in whose only write the device stalls.
        let pace = Pace { period_ns: 0, ..PACE };
        let stalls = vec![Stall { from_ns: 200_000_000, to_ns: 900_000_000 }];
        let outcome = run(SimConfig { stalls, ..SimConfig::default() }, pace, 201 * 8192);
        assert_eq!(outcome.intervals.len(), 21);
        assert_eq!(outcome.intervals.iter().map(|interval| interval.bytes).sum::<u64>(), outcome.bytes);
        assert_eq!(outcome.intervals[20].bytes, 8192);
        assert_eq!(
            outcome.intervals.iter().map(|interval| interval.write_ns_max).max(),
            outcome.write_ns.max()
        );
        assert_eq!(outcome.change, None);
        let little = run(SimConfig::default(), pace, 8192);
        assert_eq!((little.intervals.len(), little.intervals[0].bytes), (1, 8192));
    }

    #[test]
    fn a_stall_is_counted_from_when_bursts_were_due_and_sizes_the_buffer() {
        let stalls = vec![Stall { from_ns: 100_000_000, to_ns: 300_000_000 }];
        let outcome = run(SimConfig { stalls, ..SimConfig::default() }, PACE, 100 * 32_768);
        assert_eq!(outcome.write_ns.max(), Some(201_000_000));
        assert!(outcome.late_bursts > 20, "{} late bursts", outcome.late_bursts);
        assert_eq!(outcome.kept_pace(), Some(false));
        // What arrives at 3.28 MB/s in 200 ms, and a burst.
        let needed = outcome.buffer_bytes.unwrap();
        assert!((650_000..720_000).contains(&needed), "{needed}");
        // The bursts behind the stall are caught up on without a pause: no time is lost in the end.
        assert_eq!(outcome.elapsed_ns, 99 * 10_000_000 + 4_000_000);
    }

    #[test]
    fn without_a_pause_nothing_is_late_and_no_buffer_is_asked_for() {
        let pace = Pace { period_ns: 0, ..PACE };
        let outcome = run(SimConfig::default(), pace, 100 * 32_768);
        assert_eq!(outcome.elapsed_ns, 400_000_000);
        assert_eq!((outcome.late_bursts, outcome.buffer_bytes, outcome.kept_pace()), (0, None, None));
    }

    /// A disk that was full after 20 hours took the 20 hours with it.
    #[test]
    fn a_failure_is_told_with_its_place_beside_what_was_measured_until_then() {
        let faults = Faults { eio_at: vec![23], ..Faults::default() };
        let outcome = run(SimConfig { faults, ..SimConfig::default() }, PACE, 1 << 20);
        let failed = outcome.failed.clone().unwrap();
        assert!(failed.starts_with("writing 8192 bytes at offset 188416"), "{failed}");
        assert_eq!((outcome.bytes, outcome.write_ns.count()), (23 * 8192, 23));
        // Two whole intervals, and the rest.
        assert_eq!(
            outcome.intervals.iter().map(|one| one.bytes).collect::<Vec<_>>(),
            [81_920, 81_920, 24_576]
        );
        assert!(outcome.elapsed_ns > 0 && outcome.sync_ns == 0 && !outcome.interrupted);
        let full = SimFile { space_bytes: Some(20_000), ..SimFile::default() };
        let outcome = run(SimConfig { files: vec![full], ..SimConfig::default() }, PACE, 1 << 20);
        let failed = outcome.failed.unwrap();
        assert!(failed.contains("at offset 16384") && failed.contains("full"), "{failed}");
        assert_eq!(outcome.bytes, 16_384);
    }

    #[test]
    fn each_interval_is_told_when_it_ends_and_the_rest_at_the_end() {
        let told = std::cell::RefCell::new(Vec::new());
        let device = SimDevice::new(
            SimConfig { files: vec![SimFile::default()], ..SimConfig::default() },
            ManualClock::new(),
        );
        let mut engine = SimEngine::new(device.clone(), 1);
        let (_, mut buffers) = BufferPool::new(1, PACE.packet_bytes, Pages::Small).unwrap();
        let progress = Progress::default();
        let job = PacedJob {
            method: WriteMethod::Direct,
            pace: PACE,
            total_bytes: Some(21 * 8192),
            duration_ns: None,
            first_header: HeaderKind::MadeFile,
            interval_bytes: 81_920,
            dirty_bytes: &|| None,
            on_interval: &|interval| told.borrow_mut().push(*interval),
            progress: &progress,
        };
        let outcome = write_paced(&mut engine, device.clock(), buffers.pop().unwrap(), &job);
        assert_eq!(outcome.intervals.len(), 3);
        assert_eq!(*told.borrow(), outcome.intervals);
    }
}
