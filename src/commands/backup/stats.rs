//! `--stats N`: lines in place of the progress line.

use iostall_report::percent::PercentLines;
use iostall_session::event::{Event, Observer};

use crate::printer::Printer;

pub(super) struct Stats<'a> {
    printer: &'a Printer,
    lines: Option<PercentLines>,
}

impl<'a> Stats<'a> {
    pub(super) fn new(every: Option<u8>, printer: &'a Printer) -> Self {
        Self { printer, lines: every.map(PercentLines::every) }
    }

    pub(super) fn complete(&self) {
        if let Some(line) = self.lines.as_ref().and_then(PercentLines::complete) {
            self.printer.note(&line);
        }
    }
}

impl Observer for Stats<'_> {
    fn on(&self, event: &Event<'_>) {
        match &self.lines {
            Some(lines) if PercentLines::replaces(event) => {
                if let Some(line) = lines.after(event) {
                    self.printer.note(&line);
                }
            }
            _ => self.printer.on(event),
        }
    }
}
