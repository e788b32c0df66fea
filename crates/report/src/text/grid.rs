//! Aligns a table in text columns.

use super::style::{Style, width, wrap};
use crate::table::{Column, Severity, Table, TableCell, TableLine};

/// Left margin of a table.
const MARGIN: usize = 2;
/// Space between two columns.
const GAP: usize = 2;
/// A column of words is wrapped to lines no narrower than this.
const BROKEN_WIDTH_MIN: usize = 24;

/// A drawn table.
pub(crate) struct Drawn {
    pub(crate) lines: Vec<String>,
    /// Columns that did not fit.
    pub(crate) left_out: Vec<String>,
}

/// Renders `table` in at most `columns` characters, if leaving out droppable columns or wrapping a last
/// column of words makes that possible.
pub(crate) fn draw(table: &Table, style: &Style, columns: usize) -> Drawn {
    let grouped = table.lines.iter().any(|line| matches!(line, TableLine::Group { .. }));
    let mut widths: Vec<usize> =
        (0..table.columns.len()).map(|index| natural_width(table, index, grouped)).collect();
    let mut kept: Vec<usize> = (0..table.columns.len()).collect();
    let mut left_out = Vec::new();
    while total_width(&kept, &widths) > columns {
        let ranked = kept.iter().copied().filter_map(|index| Some((table.columns[index].drop_rank?, index)));
        let Some((_, drop)) = ranked.min() else { break };
        kept.retain(|index| *index != drop);
        left_out.push(table.columns[drop].name.clone());
    }
    let excess = total_width(&kept, &widths).saturating_sub(columns);
    if let Some(last) = kept.last().copied().filter(|last| !table.columns[*last].right) {
        widths[last] = widths[last].saturating_sub(excess).max(BROKEN_WIDTH_MIN.min(widths[last]));
    }
    let marked = (0..table.columns.len()).map(|index| is_marked(table, index)).collect();
    let layout = Layout { kept, widths, marked, grouped, style: *style, columns };
    let mut lines = vec![layout.head(&table.columns)];
    lines.push(format!("{:MARGIN$}{}", "", style.rule(total_width(&layout.kept, &layout.widths) - MARGIN)));
    for line in &table.lines {
        match line {
            TableLine::Group { title, note } => lines.extend(layout.group(title, note)),
            TableLine::Cells(cells) => lines.extend(layout.cells(&table.columns, cells)),
        }
    }
    Drawn { lines, left_out }
}

fn cells_of(table: &Table, index: usize) -> impl Iterator<Item = &TableCell> {
    table.lines.iter().filter_map(move |line| match line {
        TableLine::Cells(cells) => Some(&cells[index]),
        TableLine::Group { .. } => None,
    })
}

/// Whether a number in the column has a question mark: the others then leave space for it.
fn is_marked(table: &Table, index: usize) -> bool {
    table.columns[index].right && cells_of(table, index).any(|cell| cell.text.ends_with('?'))
}

fn natural_width(table: &Table, index: usize, grouped: bool) -> usize {
    let mark = usize::from(is_marked(table, index));
    let cell_width = |cell: &TableCell| width(cell.text.trim_end_matches('?')) + mark;
    let indent = if grouped && index == 0 { GAP } else { 0 };
    let widest = cells_of(table, index).map(cell_width).max().unwrap_or(0);
    widest.max(width(&table.columns[index].name) + mark) + indent
}

fn total_width(kept: &[usize], widths: &[usize]) -> usize {
    let cells: usize = kept.iter().map(|index| widths[*index]).sum();
    MARGIN + cells + GAP * kept.len().saturating_sub(1)
}

struct Layout {
    kept: Vec<usize>,
    widths: Vec<usize>,
    marked: Vec<bool>,
    grouped: bool,
    style: Style,
    columns: usize,
}

impl Layout {
    /// `text` aligned in its column and coloured by `paint`, except the padding, so that colour never extends
    /// into space.
    fn place(&self, column: &Column, index: usize, text: &str, paint: impl Fn(&str) -> String) -> String {
        let after = usize::from(self.marked[index] && !text.ends_with('?'));
        let pad = self.widths[index].saturating_sub(width(text) + after);
        let painted = paint(text);
        if column.right {
            format!("{:pad$}{painted}{:after$}", "", "")
        } else {
            format!("{painted}{:pad$}", "")
        }
    }

    fn join(parts: &[String]) -> String {
        format!("{:MARGIN$}{}", "", parts.join(&" ".repeat(GAP)))
    }

    fn head(&self, columns: &[Column]) -> String {
        let place = |index: &usize| {
            self.place(&columns[*index], *index, &columns[*index].name, |text| self.style.dim(text))
        };
        Self::join(&self.kept.iter().map(place).collect::<Vec<_>>())
    }

    fn cells(&self, columns: &[Column], cells: &[TableCell]) -> Vec<String> {
        let last = self.kept.last().copied();
        let mut more: Vec<String> = Vec::new();
        let mut parts = Vec::new();
        for index in self.kept.iter().copied() {
            let cell = &cells[index];
            let mut text = cell.text.clone();
            if self.grouped && index == 0 {
                text.insert_str(0, "  ");
            }
            if Some(index) == last && width(&text) > self.widths[index] {
                let mut broken = wrap(&text, self.widths[index]).into_iter();
                text = broken.next().unwrap_or_default();
                more = broken.collect();
            }
            parts.push(
                self.place(&columns[index], index, &text, |text| self.style.severity(cell.severity, text)),
            );
        }
        let mut lines = vec![Self::join(&parts)];
        let indent = total_width(&self.kept, &self.widths) - last.map_or(0, |last| self.widths[last]) + 2;
        lines.extend(more.into_iter().map(|part| format!("{:indent$}{part}", "")));
        lines
    }

    fn group(&self, title: &str, note: &str) -> Vec<String> {
        let used = MARGIN + width(title) + GAP;
        let mut lines = Vec::new();
        for (index, part) in wrap(note, self.columns.saturating_sub(used)).iter().enumerate() {
            let part = self.style.dim(part);
            lines.push(if index == 0 {
                let title = self.style.heading(Severity::Plain, title);
                format!("{:MARGIN$}{title}{:GAP$}{part}", "", "")
            } else {
                format!("{:used$}{part}", "")
            });
        }
        lines
    }
}
