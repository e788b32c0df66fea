//! One method at one pace, on any engine and clock.

use iostall_engine::content::renew;
use iostall_engine::guard::{HeaderKind, write_header};
use iostall_engine::{Buffer, Engine, EngineError, FileIndex, IoFailure, Request, RequestOp, Wait};
use iostall_measure::{Clock, Histogram, Percentile};
use iostall_model::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
use thiserror::Error;

use super::sweep::{Backlog, find_change, find_decay};
use crate::progress::Progress;
use crate::rate::RateLimit;

/// Minimum delay for a late burst, nanoseconds: far more than a thread takes to wake.
const LATE_NS_MIN: u64 = 1_000_000;
/// Beyond this many, neighbouring intervals are merged: 108,000 are 25 hours at 120 MB/s in intervals of 100
/// MB.
const INTERVALS_MAX: usize = 1 << 17;
/// How finely the writing is cut to see a fast beginning.
const PIECES_MAX: usize = 128;
/// Longest sleep between two checks for cancellation, nanoseconds.
const POLL_NS: u64 = 100_000_000;

pub struct PacedJob<'a> {
    pub method: WriteMethod,
    pub pace: Pace,
    pub total_bytes: Option<u64>,
    pub duration_ns: Option<u64>,
    /// The header at the start of the file, by which iostall recognises a file that it created even after a
    /// kill.
    pub first_header: HeaderKind,
    pub interval_bytes: u64,
    /// Dirty bytes in the page cache, read at the end of each interval.
    pub dirty_bytes: &'a dyn Fn() -> Option<u64>,
    /// Called at the end of each interval. Must not block, because the next burst may be due.
    pub on_interval: &'a dyn Fn(&PacedInterval),
    pub progress: &'a Progress,
    /// Holds packets back. A packet that waits for it is not being written, so its write time stays that of the file.
    pub rate: Option<&'a RateLimit>,
}

#[derive(Debug, Error)]
enum PacedError {
    #[error("writing {length} bytes at offset {offset}: {cause}")]
    Write { offset: u64, length: u32, cause: IoFailure },
    #[error("only {moved} of {length} bytes were written at offset {offset}: the file system is full")]
    Short { offset: u64, length: u32, moved: u32 },
    #[error("making the file durable: {0}")]
    Sync(IoFailure),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Writes the file with index 0 from its start, packet by packet, and times every write. The packet is the
/// content of `buffer`, made another each time, with its number in the first eight bytes; the first one begins
/// with a header instead.
///
/// Bursts are due at fixed times from the start (open loop): one that begins late counts from when it was due,
/// and those behind it do not wait any longer for it. With a delay instead of a period, a burst is due so long after the end of the
/// one before.
///
/// An error ends the writing; the outcome includes it together with everything measured so far, which may be
/// a day's worth.
///
/// # Panics
/// If the buffer is smaller than a packet.
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

/// Delay at which a burst counts as late, nanoseconds: half the period, when the writer has no slack left.
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
    pieces: MethodOutcome,
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
            pieces: MethodOutcome::new(job.method, job.pace),
            interval: Histogram::new(),
            interval_bytes: 0,
            interval_start_ns: start_ns,
        }
    }

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

    /// Waits for the next burst; returns when it was due, or `None` at the end.
    fn next_burst(&mut self) -> Option<u64> {
        let pace = &self.job.pace;
        let due_ns = match self.outcome.bursts {
            0 => self.start_ns,
            _ if pace.delay_ns > 0 => self.last_end_ns + pace.delay_ns,
            bursts => self.start_ns + bursts * pace.period_ns,
        };
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
            if self.is_over() || !self.wait_for_rate() {
                break;
            }
            self.packet(due_ns)?;
        }
        Ok(())
    }

    /// Waits until the rate lets the next packet pass; `false` if writing is over before that.
    fn wait_for_rate(&mut self) -> bool {
        let Some(rate) = self.job.rate else { return true };
        loop {
            let now_ns = self.clock.now_ns();
            match rate.take(self.job.pace.packet_bytes.into(), now_ns) {
                Ok(()) => return true,
                Err(due_ns) => self.clock.sleep_until(due_ns.min(now_ns + POLL_NS)),
            }
            if self.is_over() {
                return false;
            }
        }
    }

    fn packet(&mut self, due_ns: u64) -> Result<(), PacedError> {
        let (offset, length) = (self.outcome.bytes, self.job.pace.packet_bytes);
        let number = offset / u64::from(length);
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
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
        // No two packets have content in common, so that a device that compresses or finds duplicates gains nothing. The next
        // one is made now and not when it is due.
        if let Some(next) = &mut self.buffer {
            renew(&mut next[..length as usize], number + 1);
        }
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
        let piece = PacedInterval {
            end_bytes: outcome.bytes,
            bytes,
            writing_ns: write_ns,
            ..PacedInterval::default()
        };
        self.pieces.add_interval(piece, bytes, PIECES_MAX);
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
        let mut elapsed_ns = self.last_end_ns - self.interval_start_ns;
        if self.interval_bytes == self.outcome.bytes {
            // Every other interval begins with the pause after the burst before it.
            elapsed_ns = self.job.pace.with_last_pause(elapsed_ns, self.interval_bytes);
        }
        let interval = PacedInterval {
            end_bytes: self.outcome.bytes,
            bytes: self.interval_bytes,
            elapsed_ns,
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
        // The rest goes into the record, but not next to complete intervals.
        self.end_interval();
        self.outcome.failed = failure.map(|failure| failure.to_string());
        self.outcome.buffer_bytes = self.backlog.largest_bytes();
        self.outcome.buffer_bytes = self.outcome.advised_buffer_bytes();
        let whole_bytes = self.outcome.whole_interval_bytes(self.job.interval_bytes);
        let whole = match self.outcome.intervals.split_last() {
            Some((last, before)) if !last.is_most_of(whole_bytes) => before,
            _ => &self.outcome.intervals,
        };
        let seed = self.outcome.bytes;
        self.outcome.change = find_change(whole, seed).or_else(|| find_decay(&self.pieces.intervals, seed));
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
mod tests;
