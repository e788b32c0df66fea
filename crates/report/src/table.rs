//! A table before rendering: the text report aligns it, the HTML report adds markup.

/// How a cell is emphasised.
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

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCell {
    /// Unescaped.
    pub text: String,
    pub severity: Severity,
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self { text, severity: Severity::Plain }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl TableCell {
    /// Sets the severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// One column.
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
    /// A column of words.
    pub fn words(name: &str) -> Self {
        Self { name: name.to_owned(), right: false, drop_rank: None }
    }

    /// A column of numbers.
    pub fn numbers(name: &str) -> Self {
        Self { name: name.to_owned(), right: true, drop_rank: None }
    }

    /// Lets the column be left out at `rank` if the terminal is narrow.
    pub fn droppable(mut self, rank: u8) -> Self {
        self.drop_rank = Some(rank);
        self
    }
}

/// A line of the table's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableLine {
    /// A heading over the following lines, with a note.
    Group {
        title: String,
        /// What is said about it.
        note: String,
    },
    Cells(Vec<TableCell>),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    pub lines: Vec<TableLine>,
    /// What must be known to read it, one sentence each.
    pub notes: Vec<String>,
}

impl Table {
    /// An empty table.
    pub fn new(caption: &str, columns: Vec<Column>) -> Self {
        Self { caption: caption.to_owned(), columns, lines: Vec::new(), notes: Vec::new() }
    }

    /// Adds a heading.
    pub fn group(&mut self, title: impl Into<String>, note: impl Into<String>) {
        self.lines.push(TableLine::Group { title: title.into(), note: note.into() });
    }

    /// Adds a line of cells.
    pub fn row(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.lines.push(TableLine::Cells(cells));
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
