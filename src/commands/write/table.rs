//! The table that grows while the methods write.

use std::path::Path;

use iostall_report::growing;
use iostall_session::event::{Event, Observer};
use iostall_session::output::GrowingTable;

use crate::cli::WriteArgs;
use crate::printer::Printer;

/// From this length on, warn about what a killed run would lose, nanoseconds.
const LONG_NS: u64 = 3600 * 1_000_000_000;

/// Adds measurements to the table, and passes other events on.
pub(super) struct WithTable<'a> {
    pub(super) table: Option<GrowingTable>,
    pub(super) printer: &'a Printer,
}

impl Observer for WithTable<'_> {
    fn on(&self, event: &Event<'_>) {
        let line = match event {
            Event::PacedInterval { method, pace, interval } => {
                growing::interval(*method, pace.packets_per_burst, interval).ok()
            }
            Event::MethodEnded(outcome) => growing::end(outcome).ok(),
            _ => None,
        };
        if let (Some(table), Some(line)) = (&self.table, line) {
            table.add(line);
        }
        self.printer.on(event);
    }
}

/// The table that grows while the methods write, if wanted and possible.
pub(super) fn begin_table(args: &WriteArgs, printer: &Printer) -> anyhow::Result<Option<GrowingTable>> {
    let wanted = args.output.csv.as_deref().filter(|path| *path != Path::new("-"));
    let table = match wanted {
        Some(path) => {
            let printer = printer.clone();
            GrowingTable::begin(path, &growing::header()?, move |path, error| {
                printer.note(&format!(
                    "warning: {} can no longer grow: {error}; it will be rewritten at the end",
                    path.display()
                ));
            })?
        }
        None => None,
    };
    if table.is_none() && args.duration.is_some_and(|duration| duration.nanos() >= LONG_NS) {
        printer.note(
            "note: results are written only at the end; --csv FILE with a new file saves each interval as it ends",
        );
    }
    Ok(table)
}
