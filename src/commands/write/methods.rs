//! The methods, one after the other, each at every pace. One that fails does not take the others with it.

use anyhow::Context;
use iostall_engine::{BufferPool, FileHandle, Pages, PsyncEngine};
use iostall_host as host;
use iostall_measure::MonotonicClock;
use iostall_model::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
use iostall_report::growing;
use iostall_transfer::Progress;
use iostall_transfer::paced::{PacedJob, fill_packet, write_paced};

use super::file::PacedFile;
use crate::cli::{MethodChoice, WriteArgs};
use crate::failure::hinted;
use crate::growing_table::GrowingTable;

/// All that is to be written.
pub(super) struct Methods<'a> {
    pub(super) args: &'a WriteArgs,
    pub(super) file: &'a PacedFile,
    pub(super) paces: &'a [Pace],
    pub(super) total_bytes: Option<u64>,
    pub(super) progress: &'a Progress,
    /// Where intervals are written as they end.
    pub(super) table: Option<&'a GrowingTable>,
}

impl Methods<'_> {
    pub(super) fn write_all(&self) -> Vec<MethodOutcome> {
        let mut outcomes = Vec::new();
        let runs = (self.args.methods.len() * self.paces.len()) as u64;
        let each_bytes = self.total_bytes.unwrap_or(0);
        self.progress.add_total(runs, each_bytes.saturating_mul(runs));
        for choice in &self.args.methods {
            for pace in self.paces {
                if self.progress.is_cancelled() {
                    return outcomes;
                }
                let method = method(*choice);
                self.progress.begin_file(&self.args.file, each_bytes, method.name());
                let outcome = self.write_one(method, *pace).unwrap_or_else(|error| MethodOutcome {
                    failed: Some(format!("{error:#}")),
                    ..MethodOutcome::new(method, *pace)
                });
                self.add_line(growing::end(&outcome).ok());
                outcomes.push(outcome);
                self.progress.end_file();
            }
        }
        outcomes
    }

    fn write_one(&self, method: WriteMethod, pace: Pace) -> anyhow::Result<MethodOutcome> {
        let opened = self.file.open(method)?;
        let refused = opened.direct.as_ref().and_then(|direct| direct.reason.clone());
        let (_pool, mut buffers) =
            BufferPool::new(1, pace.packet_bytes, Pages::HugeIfPossible).context("cannot map a packet")?;
        let Some(mut buffer) = buffers.pop() else { anyhow::bail!("cannot map a packet") };
        fill_packet(&mut buffer);
        let mut engine = PsyncEngine::new(1, &[FileHandle::from(opened.file())])?;
        let on_interval = |interval: &PacedInterval| {
            self.add_line(growing::interval(method, pace.packets_per_burst, interval).ok());
        };
        let job = PacedJob {
            method,
            pace,
            total_bytes: self.total_bytes,
            duration_ns: self.args.duration.map(iostall_measure::Nanos::nanos),
            first_header: self.file.first_header(),
            interval_bytes: self.args.interval.bytes(),
            dirty_bytes: &host::dirty_bytes,
            on_interval: &on_interval,
            progress: self.progress,
        };
        let outcome = write_paced(&mut engine, &MonotonicClock::new(), buffer, &job);
        Ok(MethodOutcome { refused, ..outcome })
    }

    fn add_line(&self, line: Option<Vec<u8>>) {
        if let (Some(table), Some(line)) = (self.table, line) {
            table.add(line);
        }
    }
}

fn method(choice: MethodChoice) -> WriteMethod {
    match choice {
        MethodChoice::Buffered => WriteMethod::Buffered,
        MethodChoice::Direct => WriteMethod::Direct,
        MethodChoice::DirectDsync => WriteMethod::DirectDsync,
    }
}

/// Opens the file as each method will, so that one that cannot work is refused before another has written for hours.
pub(super) fn check(args: &WriteArgs, file: &PacedFile, paces: &[Pace]) -> anyhow::Result<()> {
    for choice in &args.methods {
        let method = method(*choice);
        let opened = file.open(method)?;
        let align = opened.direct.as_ref().and_then(|direct| direct.offset_align).unwrap_or(1).max(1);
        if let Some(pace) = paces.iter().find(|pace| !pace.packet_bytes.is_multiple_of(align)) {
            let error = anyhow::anyhow!(
                "--packet {}: on this file system, a packet of the method {} must be a multiple of {align} bytes",
                pace.packet_bytes,
                method.name()
            );
            let next = pace.packet_bytes.next_multiple_of(align);
            return Err(hinted(error, format!("--packet {next} is the next one, or --methods buffered")));
        }
    }
    Ok(())
}
