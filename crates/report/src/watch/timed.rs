//! What groups did slot by slot: a row a group and time, for spreadsheets and databases.

use std::io::{self, Write};

use iostall_watch::Slot;

use super::columns::{Figures, NUMBERS, stall_is};

/// Writes rows as they come, so that a year of them needs no memory.
pub struct TimedCsv<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> TimedCsv<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        let heads = ["start", "end", "source", "kind", "name"];
        let numbers = NUMBERS.iter().map(|number| number.name);
        writer.write_record(heads.into_iter().chain(numbers).chain(["resets", "volumes", "stall_is"]))?;
        Ok(Self { writer })
    }

    pub fn slot(&mut self, slot: &Slot<'_>) -> io::Result<()> {
        for (key, group) in &slot.window.groups {
            let figure = Figures { key, group };
            let numbers = NUMBERS
                .iter()
                .map(|number| (number.value)(&figure).map_or_else(String::new, |number| number.to_string()));
            let heads = [
                slot.start.to_string(),
                slot.end.to_string(),
                figure.key.source.clone(),
                figure.key.kind.to_string(),
                figure.key.name.clone(),
            ];
            let rest = [
                figure.resets(),
                figure.volumes().join("; "),
                stall_is(figure.key.kind).unwrap_or_default().to_owned(),
            ];
            self.writer.write_record(heads.into_iter().chain(numbers).chain(rest))?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
