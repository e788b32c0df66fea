//! A table before rendering: the text report aligns it, the HTML report adds markup.

use crate::format::{NONE, TimeUnit, duration};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    #[default]
    Plain,
    /// A total.
    Strong,
    /// A reason for doubt, or a slow number.
    Caution,
    /// Something that went wrong, or a bad number.
    Bad,
    /// A check that passed, or a good number.
    Good,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCell {
    /// Unescaped.
    pub text: String,
    pub severity: Severity,
    /// The time in nanoseconds that it shows.
    time_ns: Option<u64>,
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, severity: Severity::Plain, time_ns: None }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl TableCell {
    /// A time. [`Table::in_one_unit`] gives it the unit of its column.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
    pub(crate) fn time(ns: f64) -> Self {
        Self { time_ns: ns.is_finite().then_some(ns.round() as u64), ..duration(ns).into() }
    }

    pub(crate) fn maybe_time(ns: Option<f64>) -> Self {
        ns.map_or_else(|| NONE.into(), Self::time)
    }

    /// The same with `mark` behind its text.
    pub(crate) fn marked(self, mark: &str) -> Self {
        Self { text: format!("{}{mark}", self.text), ..self }
    }

    /// The mark behind a number, such as `?` and `!!`.
    pub(crate) fn mark(&self) -> &str {
        &self.text[self.text.trim_end_matches(['?', '!']).len()..]
    }

    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading, with the unit if cells have none.
    pub name: String,
    /// Numbers are right-aligned, words left-aligned.
    pub right: bool,
    /// Left out if the terminal is narrow, lowest first; `None`: never.
    pub drop_rank: Option<u8>,
}

impl Column {
    pub fn words(name: &str) -> Self {
        Self { name: name.to_owned(), right: false, drop_rank: None }
    }

    pub fn numbers(name: &str) -> Self {
        Self { name: name.to_owned(), right: true, drop_rank: None }
    }

    /// Lets the column be left out at `rank` if the terminal is narrow.
    pub fn droppable(mut self, rank: u8) -> Self {
        self.drop_rank = Some(rank);
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableLine {
    /// A heading over the following lines, with a note.
    Group {
        title: String,
        note: String,
    },
    Cells(Vec<TableCell>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    pub lines: Vec<TableLine>,
    /// What must be known to read it, one sentence each.
    pub notes: Vec<String>,
}

impl Table {
    pub fn new(caption: &str, columns: Vec<Column>) -> Self {
        Self { caption: caption.to_owned(), columns, lines: Vec::new(), notes: Vec::new() }
    }

    pub fn group(&mut self, title: impl Into<String>, note: impl Into<String>) {
        self.lines.push(TableLine::Group { title: title.into(), note: note.into() });
    }

    pub fn row(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.lines.push(TableLine::Cells(cells));
    }

    /// The same with one unit of time in each column, so that a longer time is a larger number.
    pub(crate) fn in_one_unit(&self) -> Self {
        let mut table = self.clone();
        for column in 0..self.columns.len() {
            let times = self.cells(column).filter_map(|cell| cell.time_ns).map(|ns| ns as f64);
            let unit = TimeUnit::of_column(times);
            for line in &mut table.lines {
                if let TableLine::Cells(cells) = line
                    && let Some(ns) = cells[column].time_ns
                {
                    cells[column].text = format!("{}{}", unit.shown(ns as f64), cells[column].mark());
                }
            }
        }
        table
    }

    pub(crate) fn cells(&self, column: usize) -> impl Iterator<Item = &TableCell> + Clone {
        self.lines.iter().filter_map(move |line| match line {
            TableLine::Cells(cells) => Some(&cells[column]),
            TableLine::Group { .. } => None,
        })
    }

    /// Whether a number is marked as slow or bad.
    pub(crate) fn has_marks(&self) -> bool {
        self.lines.iter().any(|line| match line {
            TableLine::Cells(cells) => cells.iter().any(|cell| cell.text.ends_with('!')),
            TableLine::Group { .. } => false,
        })
    }

    /// Adds a note once.
    pub fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_times_has_one_unit_and_keeps_its_marks_and_what_is_no_time() {
        let mut table = Table::new("", vec![Column::words(""), Column::numbers("p99")]);
        let doubtful = TableCell::time(46_300.0).marked("?").severity(Severity::Caution);
        table.row(vec!["a".into(), doubtful]);
        table.group("group", "");
        table.row(vec!["b".into(), TableCell::time(9_830_000.0).marked("!!")]);
        table.row(vec!["samples".into(), "42,000".into()]);
        table.row(vec!["none".into(), TableCell::maybe_time(None)]);
        let table = table.in_one_unit();
        let texts: Vec<&str> = table.cells(1).map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["0.046 ms?", "9.83 ms!!", "42,000", NONE]);
        assert_eq!(table.cells(1).next().unwrap().severity, Severity::Caution);
    }
}
