//! What every command that moves data does: stand back where asked, listen for Ctrl-C, show where it is, and make a
//! run of the outcome.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context;
use iostall_engine::cpu::{CpuTime, process_cpu};
use iostall_engine::files::{Niceness, set_niceness};
use iostall_engine::target_facts;
use iostall_host as host;
use iostall_measure::clock::utc_now;
use iostall_measure::platform::Target;
use iostall_measure::{ByteCount, Clock, MonotonicClock};
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use iostall_model::transfer::LimitSide;
use iostall_model::{Run, RunBody, RunId, Warning};
use iostall_transfer::Progress;
use iostall_transfer::progress::ProgressNow;
use jiff::Timestamp;

use crate::cli::NiceChoice;
use crate::command_line;
use crate::interrupt::on_signal;
use crate::printer::Printer;

/// How often the live line is drawn.
const TICK: Duration = Duration::from_millis(200);
/// Over how long "now" is, nanoseconds.
const NOW_NS: u64 = 2_000_000_000;

/// One command that moves data.
pub(crate) struct Transferring<'a> {
    printer: &'a Printer,
    pub(crate) progress: Progress,
    clock: MonotonicClock,
    begun_ns: u64,
    begun_cpu: CpuTime,
    started_utc: Timestamp,
}

impl<'a> Transferring<'a> {
    /// Begins to listen for Ctrl-C. Once a process.
    pub(crate) fn begin(nice: Option<NiceChoice>, printer: &'a Printer) -> anyhow::Result<Self> {
        if let Some(nice) = nice {
            let niceness = match nice {
                NiceChoice::Low => Niceness::Low,
                NiceChoice::Idle => Niceness::Idle,
            };
            set_niceness(niceness).context("cannot stand back for others")?;
        }
        let cancel = Arc::new(AtomicBool::new(false));
        let to_cancel = Arc::clone(&cancel);
        on_signal(Some(printer), move || to_cancel.store(true, Ordering::Relaxed))?;
        let clock = MonotonicClock::new();
        Ok(Self {
            printer,
            progress: Progress::new(cancel),
            begun_ns: clock.now_ns(),
            clock,
            begun_cpu: process_cpu(),
            started_utc: utc_now(),
        })
    }

    /// Does `work` on a thread of its own and shows meanwhile where it is.
    pub(crate) fn work<T: Send>(&self, work: impl FnOnce(&Progress) -> T + Send) -> T {
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let worker = scope.spawn(move || {
                let result = work(&self.progress);
                // Whoever waits for it is still there: it joins this thread.
                let _ = done.send(());
                result
            });
            let mut line = LiveLine::default();
            while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let now = self.progress.now();
                let share = now.bytes_done as f64 / (now.bytes_total as f64).max(1.0);
                self.printer.progress(share.min(1.0), &line.text(&now, self.elapsed_ns()));
            }
            self.printer.clear();
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Since the beginning, nanoseconds.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.clock.now_ns() - self.begun_ns
    }

    /// Processor time of the process since the beginning.
    pub(crate) fn cpu(&self) -> CpuTime {
        process_cpu().since(self.begun_cpu)
    }

    /// The outcome as a run.
    pub(crate) fn run(&self, name: &str, targets: Vec<Target>, warnings: Vec<Warning>, body: RunBody) -> Run {
        Run {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            id: RunId::new(self.started_utc),
            name: name.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: command_line::recorded(),
            started_utc: self.started_utc,
            ended_utc: utc_now(),
            interrupted: self.progress.is_cancelled(),
            host: host::host(),
            targets,
            warnings,
            body,
        }
    }
}

/// What is known of a path, where it is a file.
pub(crate) fn target(path: &Path) -> Option<Target> {
    if path.is_file() { target_facts(path, None).ok() } else { None }
}

/// The live line: file and phase, rates, time left, requests in flight, which side is the limit.
#[derive(Default)]
struct LiveLine {
    /// Looks of the last two seconds: when, and how much was done.
    seen: Vec<(u64, u64)>,
}

impl LiveLine {
    fn text(&mut self, now: &ProgressNow, elapsed_ns: u64) -> String {
        self.seen.push((elapsed_ns, now.bytes_done));
        self.seen.retain(|(at_ns, _)| elapsed_ns - at_ns <= NOW_NS);
        let rate = |bytes: u64, over_ns: u64| bytes as f64 / (over_ns as f64 / 1e9).max(1e-3);
        let current = match self.seen.first() {
            Some((at_ns, bytes)) if elapsed_ns > *at_ns => rate(now.bytes_done - bytes, elapsed_ns - at_ns),
            _ => 0.0,
        };
        let average = rate(now.bytes_done, elapsed_ns);
        let left = now.bytes_total.saturating_sub(now.bytes_done);
        let mut parts = Vec::new();
        let name = now.file.path.file_name().unwrap_or_default().to_string_lossy();
        let of_file = now.file.bytes_done as f64 / (now.file.bytes_total as f64).max(1.0) * 100.0;
        parts.push(format!(
            "{} {} {:.0} %",
            now.file.phase,
            iostall_report::format::shown(&name),
            of_file.min(100.0)
        ));
        if now.files_total > 1 {
            parts.push(format!("file {} of {}", (now.files_done + 1).min(now.files_total), now.files_total));
        }
        parts.push(format!("{:.0} MB/s now, {:.0} on average", current / 1e6, average / 1e6));
        if average > 0.0 {
            parts.push(format!("{} left, {:.0} s", ByteCount(left), left as f64 / average));
        }
        if now.reads_in_flight + now.writes_in_flight > 0 {
            parts.push(format!("{} reads {} writes in flight", now.reads_in_flight, now.writes_in_flight));
        }
        if let Some(limit) = now.buffer_time.limit() {
            parts.push(format!("limit: {}", LimitSide::name(limit)));
        }
        parts.join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UBCopy's progress jumped to 100 % at once, or divided by zero.
    #[test]
    fn the_live_line_tells_rates_and_what_is_left_and_survives_an_empty_file() {
        let mut line = LiveLine::default();
        let empty = line.text(&ProgressNow::default(), 0);
        assert!(empty.contains("0 MB/s now") && !empty.contains("NaN") && !empty.contains("inf"), "{empty}");
        let mut now = ProgressNow { bytes_total: 1_000_000_000, files_total: 1, ..ProgressNow::default() };
        now.bytes_done = 100_000_000;
        line.text(&now, 1_000_000_000);
        now.bytes_done = 400_000_000;
        let text = line.text(&now, 2_000_000_000);
        assert!(text.contains("200 MB/s now, 200 on average"), "{text}");
        assert!(text.contains("572.20 MiB left, 3 s"), "{text}");
    }
}
