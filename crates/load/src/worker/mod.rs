//! The worker: one thread, one engine, one role; a stream for each of the role's targets.
//!
//! The loop starts what may start, hands it over, waits, and records what came back. It knows no
//! device and no clock of its own, so the same loop runs on a simulated device in tests.
//!
//! **Time stamps.** A batch of completions shares the one clock reading taken after it was reaped. Requests
//! started together share the reading taken before the first of them, except at a depth of 4 or less and
//! in open loop, where each has its own. Both errors are at most the time the worker takes for one
//! batch, and both make a latency longer, never shorter. Where the profile asks for batches of completions, the wait for
//! the others of a batch is in each latency, too, and the run says so.

use std::sync::Arc;

use iostall_engine::buffer::Buffer;
use iostall_engine::cpu::{CpuTime, thread_cpu};
use iostall_engine::{Completion, Engine, EngineError, EngineReport, Request, RequestOp, Wait};
use iostall_measure::{Clock, Histogram, Moments, Op};
use iostall_model::Cell;
use iostall_model::outcome::{ErrorOutcome, OpenLoop};

use crate::stream::{Pace, Stream, StreamDraw};
use crate::window::{SpanEnd, StopToken, Window};
use crate::worker_stats::{Failure, Failures, WorkerStats};

/// Up to this depth every request gets its own timestamp.
const STAMP_EACH_DEPTH_MAX: usize = 4;

/// Longest sleep without checking the stop token.
const LOOK_UP_NS: u64 = 50_000_000;

/// One request slot: its buffer while idle, its details while in flight.
struct Slot {
    stream: usize,
    buffer: Option<Buffer>,
    op: Op,
    offset: u64,
    length: u32,
    due_ns: u64,
    submitted_ns: u64,
    commit_from_ns: u64,
}

pub(crate) struct WorkerOutcome {
    pub(crate) report: EngineReport,
    pub(crate) cells: Vec<Cell>,
    pub(crate) commit: Option<Histogram>,
    pub(crate) open_loop: Vec<(OpenLoop, Moments)>,
    pub(crate) errors: Vec<ErrorOutcome>,
    pub(crate) unfinished: u64,
    pub(crate) unfinished_age_ns_max: u64,
    pub(crate) cpu: CpuTime,
    pub(crate) submit_calls: u64,
    pub(crate) stream_count: usize,
}

pub(crate) struct WorkerParts<'a, E, C> {
    pub(crate) engine: E,
    pub(crate) clock: C,
    pub(crate) streams: Vec<Stream>,
    pub(crate) depth: u32,
    /// One per request: `depth` times the streams; with `draw`, `depth`.
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) stats: WorkerStats,
    pub(crate) window: Window,
    pub(crate) stop: &'a StopToken,
    pub(crate) targets: Vec<u32>,
    /// How many completions to wait for at once, and how long, nanoseconds; `None`: for one.
    pub(crate) batch: Option<(u32, u64)>,
    /// If given, the depth is that of all streams together, and each request draws its stream.
    pub(crate) draw: Option<StreamDraw>,
    /// What it may ask for, bytes, and whom it tells when it has.
    pub(crate) budget: (u64, Arc<SpanEnd>),
}

pub(crate) struct Worker<'a, E, C> {
    engine: E,
    clock: C,
    streams: Vec<Stream>,
    slots: Vec<Slot>,
    targets: Vec<u32>,
    draw: Option<StreamDraw>,
    /// With a draw: free slots without a stream.
    undealt: Vec<u32>,
    stats: WorkerStats,
    commit: Option<Histogram>,
    failures: Failures,
    window: Window,
    stop: &'a StopToken,
    wait: Wait,
    stamp_each: bool,
    sequence: u64,
    unfinished: u64,
    unfinished_age_ns_max: u64,
    meter: Meter,
    /// What it may still ask for, bytes; `u64::MAX`: as much as it likes.
    left_bytes: u64,
    progress: Progress,
    end: Arc<SpanEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Asking,
    /// It may ask for nothing more.
    Asked,
    /// And all of it has been answered.
    Answered,
}

#[derive(Default)]
struct Meter {
    from: Option<(CpuTime, u64)>,
    spent: Option<(CpuTime, u64)>,
}

impl Meter {
    #[cold]
    fn begin(&mut self, calls: u64) {
        self.from = Some((thread_cpu(), calls));
    }

    #[cold]
    fn end(&mut self, calls: u64) {
        if let (Some((cpu, calls_then)), None) = (self.from, self.spent) {
            self.spent = Some((thread_cpu().since(cpu), calls - calls_then));
        }
    }
}

impl<'a, E: Engine, C: Clock> Worker<'a, E, C> {
    pub(crate) fn new(parts: WorkerParts<'a, E, C>) -> Self {
        let WorkerParts {
            engine,
            clock,
            mut streams,
            depth,
            buffers,
            stats,
            window,
            stop,
            targets,
            batch,
            draw,
            budget: (left_bytes, end),
        } = parts;
        let mut slots = Vec::with_capacity(buffers.len());
        let mut undealt = Vec::with_capacity(buffers.len());
        for (token, buffer) in (0_u32..).zip(buffers) {
            // With a draw every slot starts at the first stream; each request moves its slot.
            let stream = if draw.is_some() { 0 } else { (token / depth) as usize };
            if draw.is_some() {
                undealt.push(token);
            } else {
                streams[stream].free.push(token);
            }
            slots.push(Slot {
                stream,
                buffer: Some(buffer),
                op: Op::Read,
                offset: 0,
                length: 0,
                due_ns: 0,
                submitted_ns: 0,
                commit_from_ns: 0,
            });
        }
        let open_loop = streams.iter().any(|stream| matches!(stream.pace, Pace::Open(_)));
        let syncs = streams.iter().any(|stream| stream.sync.is_some());
        Self {
            stamp_each: open_loop || slots.len() <= STAMP_EACH_DEPTH_MAX,
            engine,
            clock,
            streams,
            slots,
            targets,
            draw,
            undealt,
            stats,
            commit: syncs.then(Histogram::new),
            failures: Failures::default(),
            window,
            stop,
            wait: batch.map_or(Wait::ONE, |(completions, batch_ns)| Wait {
                completions,
                timeout_ns: None,
                batch_ns: Some(batch_ns),
            }),
            sequence: 0,
            unfinished: 0,
            unfinished_age_ns_max: 0,
            meter: Meter::default(),
            left_bytes,
            progress: Progress::Asking,
            end,
        }
    }

    fn window(&self) -> Window {
        self.window.cut_at(self.stop.at_ns().min(self.end.at_ns()))
    }

    /// What falls due after all has been asked for is not waited for.
    fn next_start_ns(&self) -> Option<u64> {
        let asks = self.progress == Progress::Asking;
        self.streams.iter().filter(|_| asks).filter_map(Stream::next_start_ns).min()
    }

    fn look_ahead(&mut self, now_ns: u64, window: Window) {
        let asks = self.progress == Progress::Asking;
        self.streams.iter_mut().filter(|_| asks).for_each(|stream| stream.look_ahead(now_ns, window));
    }

    /// Tells the span once when all that it was to ask for has been answered.
    fn note_end(&mut self) {
        let owes_sync = || self.streams.iter().any(|stream| !stream.to_sync.is_empty());
        if self.progress == Progress::Asked && self.engine.in_flight() == 0 && !owes_sync() {
            self.progress = Progress::Answered;
            self.end.worker_done(self.clock.now_ns());
        }
    }

    pub(crate) fn run(mut self) -> Result<WorkerOutcome, EngineError> {
        let mut completions = Vec::with_capacity(self.slots.len());
        if self.left_bytes != u64::MAX {
            // What it asks for is counted: none of it may be answered before it is measured.
            self.clock.sleep_until(self.window.start_ns);
        }
        loop {
            self.note_end();
            let now_ns = self.clock.now_ns();
            let window = self.window();
            self.meter_at(now_ns, window);
            if now_ns >= window.stop_ns {
                // Arrivals that fell due while the storage kept this worker waiting count too.
                self.look_ahead(now_ns, window);
                break;
            }
            self.start_requests(now_ns, window);
            self.wait(now_ns, window, &mut completions)?;
            self.take_completions(&mut completions);
            if self.failures.hopeless() {
                self.stop.give_up(self.clock.now_ns());
            }
        }
        while self.engine.in_flight() > 0 {
            self.engine.submit(Wait::ONE, &mut completions)?;
            self.take_completions(&mut completions);
        }
        Ok(self.finish())
    }

    /// Does what can be done now without waiting (so without batches), on a simulated device: collects
    /// completions and starts requests. Returns the time of the next action that does not depend on a
    /// completion; `None` when all is done.
    pub(crate) fn turn(&mut self, completions: &mut Vec<Completion>) -> Result<Option<u64>, EngineError> {
        self.engine.submit(Wait::NO, completions)?;
        self.take_completions(completions);
        if self.failures.hopeless() {
            self.stop.give_up(self.clock.now_ns());
        }
        self.note_end();
        let now_ns = self.clock.now_ns();
        let window = self.window();
        if now_ns >= window.stop_ns {
            self.look_ahead(now_ns, window);
            return Ok((self.engine.in_flight() > 0).then_some(u64::MAX));
        }
        self.start_requests(now_ns, window);
        self.engine.submit(Wait::NO, completions)?;
        let next_start_ns = self.next_start_ns();
        Ok(Some(next_start_ns.unwrap_or(u64::MAX).min(window.stop_ns).max(now_ns + 1)))
    }

    #[inline]
    fn meter_at(&mut self, now_ns: u64, window: Window) {
        if self.meter.from.is_none() && now_ns >= window.measure_from_ns {
            self.meter.begin(self.engine.calls());
        }
        if self.meter.spent.is_none() && now_ns >= window.measure_to_ns {
            self.meter.end(self.engine.calls());
        }
    }

    /// Starts every request that may start: pending sync calls first, then new requests in free slots.
    fn start_requests(&mut self, now_ns: u64, window: Window) {
        if self.draw.is_some() {
            self.deal_slots();
        }
        let mut stamp_ns = now_ns;
        for index in 0..self.streams.len() {
            while let Some(token) = self.streams[index].to_sync.pop() {
                self.start_sync(index, token);
            }
            if self.progress != Progress::Asking {
                continue;
            }
            self.streams[index].look_ahead(now_ns, window);
            while let Some(token) = self.streams[index].free.pop() {
                if self.stamp_each {
                    stamp_ns = self.clock.now_ns();
                }
                let Some(due_ns) = self.streams[index].take_start(now_ns) else {
                    self.streams[index].free.push(token);
                    break;
                };
                // In a closed loop a request is due when it starts.
                let due_ns = if due_ns == now_ns { stamp_ns } else { due_ns };
                if !self.start_planned(index, token, due_ns, stamp_ns) {
                    self.streams[index].free.push(token);
                    if self.progress == Progress::Asking {
                        self.stop.raise(now_ns);
                    }
                    break;
                }
                self.streams[index].note_start(due_ns, stamp_ns, window);
            }
            self.streams[index].note_backlog(now_ns, window);
        }
    }

    fn deal_slots(&mut self) {
        let Some(draw) = &mut self.draw else { return };
        while let Some(token) = self.undealt.pop() {
            let drawn = draw.next();
            self.slots[token as usize].stream = drawn;
            self.streams[drawn].free.push(token);
        }
    }

    /// False if that is more than the workers may still ask for.
    #[inline]
    fn start_planned(&mut self, index: usize, token: u32, due_ns: u64, stamp_ns: u64) -> bool {
        let stream = &mut self.streams[index];
        let planned = stream.plan_next(token);
        if self.left_bytes != u64::MAX {
            let Some(left) = self.left_bytes.checked_sub(u64::from(planned.length)) else {
                self.progress = Progress::Asked;
                return false;
            };
            self.left_bytes = left;
        }
        if !self.stop.take_bytes(planned.length) {
            return false;
        }
        let slot = &mut self.slots[token as usize];
        slot.op = planned.op;
        slot.offset = planned.offset;
        slot.length = planned.length;
        slot.due_ns = due_ns;
        slot.submitted_ns = stamp_ns;
        let mut buffer = slot.buffer.take();
        let op = if planned.op == Op::Write {
            if let (Some(source), Some(buffer)) = (&mut stream.source, &mut buffer) {
                source.prepare(&mut buffer[..planned.length as usize], planned.offset, self.sequence);
                self.sequence += 1;
            }
            RequestOp::Write
        } else {
            RequestOp::Read
        };
        self.engine.push(Request {
            token,
            op,
            file: stream.file,
            offset: planned.offset,
            length: planned.length,
            buffer,
        });
        true
    }

    fn start_sync(&mut self, index: usize, token: u32) {
        let now_ns = self.clock.now_ns();
        let slot = &mut self.slots[token as usize];
        slot.op = Op::Sync;
        slot.offset = 0;
        slot.length = 0;
        slot.due_ns = now_ns;
        slot.submitted_ns = now_ns;
        let stream = &self.streams[index];
        self.engine.push(Request {
            token,
            op: stream.sync_op(),
            file: stream.file,
            offset: 0,
            length: 0,
            buffer: None,
        });
    }

    /// Submits and waits for a completion or for the time of the next start, whichever is first.
    fn wait(
        &mut self,
        now_ns: u64,
        window: Window,
        completions: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let next_start_ns = self.next_start_ns();
        if self.engine.in_flight() == 0 {
            let until_ns = next_start_ns.unwrap_or(window.stop_ns).min(window.stop_ns);
            self.clock.sleep_until(until_ns.min(now_ns + LOOK_UP_NS));
            return Ok(());
        }
        let wait = match next_start_ns {
            None => self.wait,
            Some(start_ns) => match self.clock.kernel_wait_ns(start_ns.saturating_sub(now_ns)) {
                Some(wait_ns) => Wait { timeout_ns: Some(wait_ns), ..self.wait },
                None => Wait::NO,
            },
        };
        self.engine.submit(wait, completions)
    }

    fn take_completions(&mut self, completions: &mut Vec<Completion>) {
        if completions.is_empty() {
            return;
        }
        let now_ns = self.clock.now_ns();
        let window = self.window();
        let measured = (window.measure_from_ns..window.measure_to_ns).contains(&now_ns);
        if measured {
            self.stats.roll(now_ns);
        }
        for completion in completions.drain(..) {
            self.take_completion(completion, now_ns, window, measured);
        }
    }

    #[inline]
    fn take_completion(&mut self, completion: Completion, now_ns: u64, window: Window, measured: bool) {
        let token = completion.token;
        let slot = &mut self.slots[token as usize];
        let index = slot.stream;
        let op = slot.op;
        if op != Op::Sync {
            slot.buffer = completion.buffer;
        }
        let ok = completion.result == Ok(slot.length);
        if ok {
            self.failures.success();
            if measured {
                let service_ns = now_ns - slot.submitted_ns;
                self.stats.record(index, op, u64::from(slot.length), service_ns, now_ns - slot.due_ns);
                if let (Op::Sync, Some(commit)) = (op, &mut self.commit) {
                    commit.record(now_ns - slot.commit_from_ns);
                }
            }
        } else {
            self.failures.add(&Failure {
                op,
                target: self.targets[index],
                offset: slot.offset,
                length: slot.length,
                cause: completion.result,
            });
            if measured {
                self.stats.record_failure(index, op);
            }
        }
        if slot.submitted_ns < window.measure_to_ns && now_ns >= window.measure_to_ns {
            self.unfinished += 1;
            let age_ns = window.measure_to_ns - slot.submitted_ns;
            self.unfinished_age_ns_max = self.unfinished_age_ns_max.max(age_ns);
        }
        let stream = &mut self.streams[index];
        if ok && op == Op::Write && stream.owes_sync() {
            slot.commit_from_ns = slot.due_ns;
            stream.to_sync.push(token);
        } else if self.draw.is_some() {
            self.undealt.push(token);
        } else {
            stream.free.push(token);
        }
    }

    pub(crate) fn finish(self) -> WorkerOutcome {
        let (cpu, submit_calls) = self.meter.spent.unwrap_or_default();
        WorkerOutcome {
            report: self.engine.report(),
            cells: self.stats.finish(),
            commit: self.commit,
            open_loop: self.streams.into_iter().filter_map(Stream::into_open_loop).collect(),
            errors: self.failures.into_kinds(),
            unfinished: self.unfinished,
            unfinished_age_ns_max: self.unfinished_age_ns_max,
            cpu,
            submit_calls,
            stream_count: self.targets.len(),
        }
    }
}

#[cfg(test)]
mod tests;
