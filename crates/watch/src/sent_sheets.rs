//! Notes and settings of a store, sent to a destination that lacks them.

use std::sync::atomic::{AtomicBool, Ordering};

use iostall_store::{SheetMark, SheetPut, SheetsToSend};

use crate::destination::Destination;
use crate::error::WatchError;

/// A destination is asked for so many at a time: the question fits into a request.
const MARKS: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct SentSheets {
    /// What the store had to send when the destination had all of it.
    state: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct SheetsSent {
    pub(crate) count: usize,
    /// Words on sheets that were not taken.
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
        for page in from.sheet_marks()?.chunks(MARKS) {
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
