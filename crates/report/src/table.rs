//! A table before it is drawn: what the text report aligns and the HTML report marks up.

/// How a cell should stand out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    /// It does not.
    #[default]
    Plain,
    /// A total.
    Strong,
    /// Something to doubt.
    Caution,
    /// Something that went wrong.
    Bad,
    /// Something that might have gone wrong and did not.
    Good,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCell {
    /// Its text, unescaped.
    pub text: String,
    /// How it stands out.
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
    /// The same cell in `severity`.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its head, with the unit where cells carry none.
    pub name: String,
    /// Numbers stand right, words left.
    pub right: bool,
    /// Left out when the width is short, lowest first; `None`: never.
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

    /// The same column, left out at `rank` when the width is short.
    pub fn droppable(mut self, rank: u8) -> Self {
        self.drop_rank = Some(rank);
        self
    }
}

/// One line of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableLine {
    /// A heading over the lines that follow: its name, and what is said about it.
    Group {
        /// The name.
        title: String,
        /// What is said about it.
        note: String,
    },
    /// Cells, one a column.
    Cells(Vec<TableCell>),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its body.
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

    /// Adds a note once.
    pub fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}
