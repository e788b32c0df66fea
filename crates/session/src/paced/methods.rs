//! Runs the methods one after the other, each at every pace. A failing method does not affect the others.

use std::error::Error;
use std::io;

use iostall_engine::{BufferPool, FileHandle, Pages, PsyncEngine};
use iostall_host as host;
use iostall_load::RunError;
use iostall_measure::{MonotonicClock, Nanos};
use iostall_model::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
use iostall_transfer::Progress;
use iostall_transfer::paced::{PacedJob, fill_packet, write_paced};
use iostall_transfer::rate::RateLimit;

use super::file::PacedFile;
use super::pace::PacedRequest;
use crate::error::SessionError;
use crate::event::{Event, Observer};

pub(crate) struct Methods<'a> {
    pub(crate) request: &'a PacedRequest,
    pub(crate) file: &'a PacedFile,
    pub(crate) progress: &'a Progress,
    pub(crate) observer: &'a dyn Observer,
    /// The limit of a transfer that gives way.
    pub(crate) rate: Option<&'a RateLimit>,
}

impl Methods<'_> {
    pub(crate) fn write_all(&self) -> Vec<MethodOutcome> {
        let mut outcomes = Vec::new();
        // A rate is kept on one clock.
        let clock = MonotonicClock::new();
        let runs = (self.request.methods.len() * self.request.paces.len()) as u64;
        let each_bytes = self.request.total_bytes.unwrap_or(0);
        self.progress.add_total(runs, each_bytes.saturating_mul(runs));
        for method in &self.request.methods {
            for pace in &self.request.paces {
                if self.progress.is_cancelled() {
                    return outcomes;
                }
                self.progress.begin_file(&self.request.file, each_bytes, method.name());
                let outcome = self.write_one(*method, *pace, &clock).unwrap_or_else(|error| MethodOutcome {
                    failed: Some(with_causes(&error)),
                    ..MethodOutcome::new(*method, *pace)
                });
                self.observer.on(&Event::MethodEnded(&outcome));
                outcomes.push(outcome);
                self.progress.end_file();
            }
        }
        outcomes
    }

    fn write_one(
        &self,
        method: WriteMethod,
        pace: Pace,
        clock: &MonotonicClock,
    ) -> Result<MethodOutcome, SessionError> {
        let opened = self.file.open(method)?;
        let refused = opened.direct.as_ref().and_then(|direct| direct.reason.clone());
        let (_pool, mut buffers) =
            BufferPool::new(1, pace.packet_bytes, Pages::HugeIfPossible).map_err(SessionError::MapPacket)?;
        let Some(mut buffer) = buffers.pop() else {
            return Err(SessionError::MapPacket(io::Error::from(io::ErrorKind::OutOfMemory)));
        };
        fill_packet(&mut buffer);
        let mut engine = PsyncEngine::new(1, &[FileHandle::from(opened.file())]).map_err(RunError::from)?;
        let on_interval = |interval: &PacedInterval| {
            self.observer.on(&Event::PacedInterval { method, pace, interval });
        };
        let job = PacedJob {
            method,
            pace,
            total_bytes: self.request.total_bytes,
            duration_ns: self.request.duration.map(Nanos::nanos),
            first_header: self.file.first_header(),
            interval_bytes: self.request.interval.bytes(),
            dirty_bytes: &host::dirty_bytes,
            on_interval: &on_interval,
            progress: self.progress,
            rate: self.rate,
        };
        let outcome = write_paced(&mut engine, clock, buffer, &job);
        Ok(MethodOutcome { refused, ..outcome })
    }
}

fn with_causes(error: &SessionError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Opens the file as each method will, so that an impossible one fails before another has written for hours.
pub(crate) fn check(request: &PacedRequest, file: &PacedFile) -> Result<(), SessionError> {
    for method in request.methods.iter().copied() {
        let opened = file.open(method)?;
        let align = opened.direct.as_ref().and_then(|direct| direct.offset_align).unwrap_or(1).max(1);
        if let Some(pace) = request.paces.iter().find(|pace| !pace.packet_bytes.is_multiple_of(align)) {
            let (packet_bytes, method) = (pace.packet_bytes, method.name());
            return Err(SessionError::PacketAlignment { packet_bytes, method, align });
        }
    }
    Ok(())
}
