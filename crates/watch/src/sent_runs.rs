//! Runs, notes and settings of a store, sent to a destination that lacks them.

use std::sync::atomic::{AtomicBool, Ordering};

use iostall_model::{RunId, RunNumber};
use iostall_store::{RunMark, RunPut, RunsToSend, SentRun, SheetMark, SheetPut, SheetsToSend};

use crate::destination::Destination;
use crate::error::WatchError;

/// A destination is asked for so many at a time: the question fits into a request.
const MARKS: u32 = 400;

#[derive(Debug, Default)]
pub(crate) struct SentRuns {
    pub(crate) count: usize,
    pub(crate) notes: Vec<String>,
}

/// Sends the runs that `to` lacks, until `stop` is set. One that was not complete when it was sent is sent again.
pub(crate) fn send_runs(
    from: &impl RunsToSend,
    to: &mut impl Destination,
    stop: &AtomicBool,
) -> Result<SentRuns, WatchError> {
    let (mut sent, mut after) = (SentRuns::default(), RunNumber(0));
    loop {
        let page = from.run_marks(after, MARKS)?;
        let Some((last, _)) = page.last() else { return Ok(sent) };
        after = *last;
        let marks: Vec<RunMark> = page.iter().map(|(_, mark)| *mark).collect();
        let Some(lacking) = to.lacking_runs(&marks)? else { return Ok(sent) };
        for id in lacking {
            if stop.load(Ordering::Relaxed) {
                return Ok(sent);
            }
            sent.send(from, to, id)?;
        }
    }
}

impl SentRuns {
    fn send(
        &mut self,
        from: &impl RunsToSend,
        to: &mut impl Destination,
        id: RunId,
    ) -> Result<(), WatchError> {
        // It may have been deleted since, and a destination may ask for what was never there.
        let Some(run) = from.run_to_send(id)? else { return Ok(()) };
        let put = match to.put_run(&run)? {
            RunPut::Unfit { reason } => {
                let number = run.entry.number;
                self.notes.push(format!("run {number} is sent without its document: {reason}"));
                to.put_run(&SentRun { document: None, ..run })?
            }
            put => put,
        };
        self.count += usize::from(put == RunPut::Added);
        Ok(())
    }
}

/// A destination is asked for so many at a time: the question fits into a request.
const SHEET_MARKS: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct SentSheets {
    /// What the store had to send when the destination had all of it.
    state: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct SheetsSent {
    pub(crate) count: usize,
    pub(crate) notes: Vec<String>,
}

impl SentSheets {
    /// Sends the sheets that `to` lacks, until `stop` is set. Asks nobody where nothing has changed since all was there.
    pub(crate) fn send(
        &mut self,
        from: &impl SheetsToSend,
        to: &mut impl Destination,
        stop: &AtomicBool,
    ) -> Result<SheetsSent, WatchError> {
        let (mut sent, state) = (SheetsSent::default(), from.sheets_state()?);
        if self.state.as_ref() == Some(&state) {
            return Ok(sent);
        }
        for page in from.sheet_marks()?.chunks(SHEET_MARKS) {
            let Some(lacking) = to.lacking_sheets(page)? else { return Ok(sent) };
            for mark in lacking {
                if stop.load(Ordering::Relaxed) {
                    return Ok(sent);
                }
                sent.send(from, to, &mark)?;
            }
        }
        self.state = Some(state);
        Ok(sent)
    }
}

impl SheetsSent {
    fn send(
        &mut self,
        from: &impl SheetsToSend,
        to: &mut impl Destination,
        mark: &SheetMark,
    ) -> Result<(), WatchError> {
        // It may be gone since, and a destination may ask for what was never there.
        let Some(sheet) = from.sheet_to_send(mark)? else { return Ok(()) };
        match to.put_sheet(&sheet)? {
            SheetPut::Unfit { reason } => {
                let (kind, name) = (mark.kind.name(), &mark.name);
                self.notes.push(format!("the {kind} of {name} are not sent: {reason}"));
            }
            put => self.count += usize::from(put == SheetPut::Added),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::Entry;
    use iostall_model::device::Placement;
    use iostall_store::{Appended, Batch, SentSheet, SheetMark, SheetPut, SourceId, StoreError};
    use jiff::Timestamp;

    use super::*;
    use crate::destination::Known;

    /// A store with so many runs, the first of which is too long.
    struct Many(u32);

    fn at() -> Timestamp {
        "2026-03-01T09:58:00Z".parse().unwrap()
    }

    fn id(number: u32) -> RunId {
        format!("01890a5d-ac96-774b-bcc0-{number:012x}").parse().unwrap()
    }

    impl RunsToSend for Many {
        fn run_marks(&self, after: RunNumber, most: u32) -> Result<Vec<(RunNumber, RunMark)>, StoreError> {
            let numbers = after.0 + 1..=self.0.min(after.0 + most);
            let mark = |number| RunMark { id: id(number), ended_utc: at(), interrupted: false };
            Ok(numbers.map(|number| (RunNumber(number), mark(number))).collect())
        }

        fn run_to_send(&self, wanted: RunId) -> Result<Option<SentRun>, StoreError> {
            let Some(number) = (1..=self.0).find(|number| id(*number) == wanted) else { return Ok(None) };
            let entry = Entry {
                number: RunNumber(number),
                id: wanted,
                kind: "load".into(),
                name: String::new(),
                started_utc: at(),
                ended_utc: at(),
                host: String::new(),
                tool_version: String::new(),
                interrupted: false,
                warning_count: 0,
                targets: Vec::new(),
                summary: iostall_model::Summary::default(),
            };
            Ok(Some(SentRun { entry, document: Some(if number == 1 { "long" } else { "{}" }.to_owned()) }))
        }

        fn runs_state(&self) -> Result<String, StoreError> {
            Ok(self.0.to_string())
        }
    }

    /// Takes runs, but no long ones.
    #[derive(Default)]
    struct Taken(Vec<(RunId, bool)>);

    impl Destination for Taken {
        fn known(&mut self, _: SourceId) -> Result<Known, WatchError> {
            Ok(Known::default())
        }

        fn append(&mut self, _: u64, _: &Batch) -> Result<Appended, WatchError> {
            Ok(Appended::Added)
        }

        fn place(&mut self, _: SourceId, _: &[Placement]) -> Result<(), WatchError> {
            Ok(())
        }

        fn lacking_runs(&mut self, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
            let is_there = |wanted: RunId| self.0.iter().any(|(id, _)| *id == wanted);
            // It asks for one that nobody has, too.
            let lacking = marks.iter().map(|mark| mark.id).filter(|id| !is_there(*id));
            Ok(Some(lacking.chain([id(0)]).collect()))
        }

        fn put_run(&mut self, run: &SentRun) -> Result<RunPut, WatchError> {
            if run.document.as_deref() == Some("long") {
                return Ok(RunPut::Unfit { reason: "it is too long".into() });
            }
            self.0.push((run.entry.id, run.document.is_some()));
            Ok(RunPut::Added)
        }

        fn lacking_sheets(&mut self, _: &[SheetMark]) -> Result<Option<Vec<SheetMark>>, WatchError> {
            Ok(None)
        }

        fn put_sheet(&mut self, _: &SentSheet) -> Result<SheetPut, WatchError> {
            Ok(SheetPut::AlreadyThere)
        }
    }

    #[test]
    fn all_that_is_lacking_is_sent_once_and_a_long_one_without_its_document() {
        let (from, mut to, stop) = (Many(1_000), Taken::default(), AtomicBool::new(false));
        let sent = send_runs(&from, &mut to, &stop).unwrap();
        assert_eq!(sent.count, 1_000);
        assert_eq!(sent.notes, ["run #1 is sent without its document: it is too long"]);
        assert_eq!((to.0[0], to.0[999]), ((id(1), false), (id(1_000), true)));
        assert_eq!(send_runs(&from, &mut to, &stop).unwrap().count, 0);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(send_runs(&Many(2_000), &mut to, &stop).unwrap().count, 0);
    }
}
