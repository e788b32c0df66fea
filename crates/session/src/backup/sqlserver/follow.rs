//! Runs a statement on one connection and follows it on another: the driver hands the server's messages to nobody, and a stop needs a
//! second connection anyway.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use iostall_connect::SourceError;
use iostall_connect::sqlserver::{BlockingConnection, Columns};
use iostall_measure::clock::receive;
use iostall_model::ProgressPoint;

use super::server::{Server, progress};
use crate::event::{Event, Observer, RunProgress};
use crate::transfer::Transfer;

/// How often is looked whether the statement has ended, or is to be stopped.
const TICK: Duration = Duration::from_millis(100);
/// Ticks from one look at its progress to the next.
const TICKS_PER_LOOK: u32 = 10;
/// Ticks that the server has to answer after KILL, and looks until a stopped statement must be gone.
const TICKS_TO_END: u32 = 300;
const LOOKS_TO_END: u32 = 10;

pub(super) enum Answered {
    /// The connection can be used again.
    Done(Box<BlockingConnection>, Vec<Columns>),
    Failed(SourceError),
    Stopped(String),
    /// The connection broke; so the statement was followed to its end. `Ok` if it was seen to end.
    Cut {
        reason: String,
        followed: Result<(), String>,
    },
}

pub(super) struct Follower<'a> {
    pub(super) server: &'a Server,
    pub(super) session_id: i64,
    pub(super) transfer: &'a Transfer,
    pub(super) observer: &'a dyn Observer,
    /// The second connection; `None` while there is none.
    pub(super) monitor: Option<BlockingConnection>,
    pub(super) points: Vec<ProgressPoint>,
    /// Looks that found nothing although the statement ran.
    pub(super) blind_looks: u32,
}

enum Look {
    Running,
    Gone,
    Unreachable(String),
}

impl Follower<'_> {
    pub(super) fn run(&mut self, main: BlockingConnection, tag: &'static str, text: &str) -> Answered {
        let begun_ns = self.transfer.elapsed_ns();
        let abandoned = AtomicBool::new(false);
        let mut stopping: Option<String> = None;
        let answer = std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let abandoned = &abandoned;
            scope.spawn(move || {
                let answer = main.execute(tag, text, &|| abandoned.load(Ordering::Relaxed));
                // The receiver exists until this has come.
                let _ = done.send(answer);
            });
            let mut ticks = 0;
            loop {
                match receive(&is_done, TICK) {
                    Ok(answer) => break answer,
                    Err(RecvTimeoutError::Disconnected) => break Err(SourceError::Defect),
                    Err(RecvTimeoutError::Timeout) => ticks += 1,
                }
                if stopping.is_none() && self.transfer.progress().is_cancelled() {
                    let killed = self.kill();
                    abandoned.store(killed.is_err(), Ordering::Relaxed);
                    stopping = Some(self.in_words(&killed));
                    ticks = 0;
                }
                let is_overdue = stopping.is_some() && ticks > TICKS_TO_END;
                abandoned.fetch_or(is_overdue, Ordering::Relaxed);
                // The first look comes early, for backups of a few seconds.
                if stopping.is_none() && ticks % TICKS_PER_LOOK == 1 {
                    self.look(begun_ns);
                }
            }
        });
        let answered = self.answered(answer, stopping, begun_ns);
        self.observer.on(&Event::ProgressEnded);
        answered
    }

    fn answered(
        &mut self,
        answer: Result<Option<(BlockingConnection, Vec<Columns>)>, SourceError>,
        stopping: Option<String>,
        begun_ns: u64,
    ) -> Answered {
        match (answer, stopping) {
            // It ended before it could be stopped.
            (Ok(Some((main, rows))), _) => Answered::Done(Box::new(main), rows),
            (Ok(None) | Err(_), Some(how)) => {
                Answered::Stopped(format!("{how}; {}", self.last_seen(begun_ns)))
            }
            (Ok(None), None) => Answered::Failed(SourceError::Defect),
            (Err(SourceError::Connect { reason, .. }), None) => {
                let followed = self.follow_alone(begun_ns);
                Answered::Cut { reason, followed }
            }
            (Err(error), None) => Answered::Failed(error),
        }
    }

    fn kill(&mut self) -> Result<(), String> {
        let text = format!("/* iostall:backup_kill */ KILL {};", self.session_id);
        let monitor = self.monitor()?;
        let looks = Cell::new(0);
        let is_overdue = || looks.replace(looks.get() + 1) > TICKS_TO_END;
        match monitor.execute("iostall:backup_kill", &text, &is_overdue) {
            Ok(Some((monitor, _))) => {
                self.monitor = Some(monitor);
                Ok(())
            }
            Ok(None) => Err("the server did not answer".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn in_words(&self, killed: &Result<(), String>) -> String {
        let session = self.session_id;
        let done = self.points.last().map_or(0.0, |point| f64::from(point.percent_hundredths) / 100.0);
        match killed {
            Ok(()) => format!("session {session} was ended with KILL at {done:.1} %"),
            Err(reason) => format!(
                "the connection was closed at {done:.1} %, because KILL {session} was not possible ({reason})"
            ),
        }
    }

    fn last_seen(&mut self, begun_ns: u64) -> &'static str {
        for _ in 0..LOOKS_TO_END {
            match self.look(begun_ns) {
                Look::Gone => return "the server has ended it",
                Look::Unreachable(_) => return "whether the server has ended it could not be seen",
                Look::Running => Self::pause(),
            }
        }
        "the server has not ended it yet: it undoes what it began"
    }

    /// Follows a statement whose own connection is gone.
    fn follow_alone(&mut self, begun_ns: u64) -> Result<(), String> {
        loop {
            match self.look(begun_ns) {
                Look::Gone => return Ok(()),
                Look::Unreachable(reason) => return Err(reason),
                Look::Running if self.transfer.progress().is_cancelled() => {
                    return Err("it was no longer followed, because of the signal".to_owned());
                }
                Look::Running => Self::pause(),
            }
        }
    }

    pub(super) fn pause() {
        let (_sender, nothing): (Sender<()>, _) = channel();
        // Nothing comes: it only waits.
        let _ = receive(&nothing, TICK * TICKS_PER_LOOK);
    }

    fn look(&mut self, begun_ns: u64) -> Look {
        let session_id = self.session_id;
        let mut monitor = match self.monitor() {
            Ok(monitor) => monitor,
            Err(reason) => return Look::Unreachable(reason),
        };
        let seen = match progress(&mut monitor, session_id) {
            Ok(seen) => seen,
            Err(error) => return Look::Unreachable(error.to_string()),
        };
        self.monitor = Some(monitor);
        let at_ns = self.transfer.elapsed_ns() - begun_ns;
        let Some((percent_hundredths, left_ns)) = seen else {
            self.blind_looks += 1;
            return Look::Gone;
        };
        self.blind_looks = 0;
        self.points.push(ProgressPoint { at_ns, percent_hundredths });
        let whole = RunProgress::new(at_ns, left_ns);
        self.observer.on(&Event::StatementProgress { percent_hundredths, whole });
        Look::Running
    }

    fn monitor(&mut self) -> Result<BlockingConnection, String> {
        self.monitor.take().map_or_else(|| self.server.open().map_err(|error| error.to_string()), Ok)
    }
}
