//! Aligns a table in text columns.

use super::style::{Style, width, wrap};
use crate::table::{Column, Severity, Table, TableCell, TableLine};

const MARGIN: usize = 2;
/// Space between two columns.
const GAP: usize = 2;
/// The last column is wrapped to lines no narrower than this, if it has words.
const BROKEN_WIDTH_MIN: usize = 24;
/// The first column is not wrapped to lines narrower than this to save a second block.
const NAME_WIDTH_MIN: usize = 16;

pub(crate) struct Drawn {
    pub(crate) lines: Vec<String>,
    pub(crate) left_out: Vec<String>,
}

/// Renders `table` in at most `columns` characters, as far as that is possible: columns that may be are left out, words are
/// wrapped, and columns that still do not fit come in a second block below the first one.
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
    // The last column is wrapped before the first one, which is what a line is about.
    let excess = |widths: &[usize]| total_width(&kept, widths).saturating_sub(columns);
    if let Some(last) = kept.last().copied().filter(|last| !table.columns[*last].right) {
        widths[last] = widths[last].saturating_sub(excess(&widths)).max(BROKEN_WIDTH_MIN.min(widths[last]));
    }
    if let Some(first) = kept.first().copied().filter(|first| !table.columns[*first].right) {
        let room = widths[first].saturating_sub(excess(&widths));
        // Where there is a second block anyway, only a name that would leave no room for numbers is wrapped.
        let room = if room < NAME_WIDTH_MIN { columns / 2 } else { room };
        widths[first] = widths[first].min(room);
    }
    let marks: Vec<usize> = (0..table.columns.len()).map(|index| mark_width(table, index)).collect();
    let mut lines = Vec::new();
    for kept in blocks(table, &kept, &widths, columns) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let (widths, marks) = (widths.clone(), marks.clone());
        Layout { kept, widths, marks, grouped, style: *style, columns }.table(table, &mut lines);
    }
    Drawn { lines, left_out }
}

/// The columns of each block: as many as fit, each block beginning with the first column if that has words.
fn blocks(table: &Table, kept: &[usize], widths: &[usize], columns: usize) -> Vec<Vec<usize>> {
    let is_named = kept.first().is_some_and(|first| !table.columns[*first].right);
    let (names, rest) = kept.split_at(usize::from(is_named));
    let mut blocks = vec![names.to_vec()];
    for index in rest {
        let block = blocks.last_mut().expect("never empty");
        block.push(*index);
        if total_width(block, widths) > columns && block.len() > names.len() + 1 {
            block.pop();
            blocks.push([names, &[*index]].concat());
        }
    }
    blocks
}

/// The marks behind the numbers of a column, such as `?` and `!!`: the others leave space for the longest.
fn mark_width(table: &Table, index: usize) -> usize {
    let widest = table.cells(index).map(|cell| cell.mark().len()).max().unwrap_or(0);
    if table.columns[index].right { widest } else { 0 }
}

fn mark_of(text: &str) -> usize {
    text.len() - text.trim_end_matches(['?', '!']).len()
}

fn natural_width(table: &Table, index: usize, grouped: bool) -> usize {
    let mark = mark_width(table, index);
    let cell_width = |cell: &TableCell| width(&cell.text) - cell.mark().len().min(mark) + mark;
    let indent = if grouped && index == 0 { GAP } else { 0 };
    let widest = table.cells(index).map(cell_width).max().unwrap_or(0);
    widest.max(width(&table.columns[index].name) + mark) + indent
}

fn total_width(kept: &[usize], widths: &[usize]) -> usize {
    let cells: usize = kept.iter().map(|index| widths[*index]).sum();
    MARGIN + cells + GAP * kept.len().saturating_sub(1)
}

struct Layout {
    kept: Vec<usize>,
    widths: Vec<usize>,
    marks: Vec<usize>,
    grouped: bool,
    style: Style,
    columns: usize,
}

impl Layout {
    fn table(&self, table: &Table, lines: &mut Vec<String>) {
        lines.push(self.head(&table.columns));
        let rule = self.style.rule(total_width(&self.kept, &self.widths) - MARGIN);
        lines.push(format!("{:MARGIN$}{rule}", ""));
        for line in &table.lines {
            match line {
                TableLine::Group { title, note } => lines.extend(self.group(title, note)),
                TableLine::Cells(cells) => lines.extend(self.cells(&table.columns, cells)),
            }
        }
    }

    /// `text` aligned in its column and coloured by `paint`, except the padding, so that colour never extends
    /// into space.
    fn place(&self, column: &Column, index: usize, text: &str, paint: impl Fn(&str) -> String) -> String {
        let after = self.marks[index].saturating_sub(mark_of(text));
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

    /// A line of cells, with more lines for words that do not fit into one.
    fn cells(&self, columns: &[Column], cells: &[TableCell]) -> Vec<String> {
        let texts: Vec<Vec<String>> = self
            .kept
            .iter()
            .map(|index| self.wrapped(&columns[*index], *index, &cells[*index].text))
            .collect();
        let height = texts.iter().map(Vec::len).max().unwrap_or(1);
        let line = |row: usize| {
            let parts: Vec<String> = self
                .kept
                .iter()
                .zip(&texts)
                .map(|(index, text)| {
                    let text = text.get(row).map_or("", String::as_str);
                    let severity = cells[*index].severity;
                    self.place(&columns[*index], *index, text, |text| self.style.severity(severity, text))
                })
                .collect();
            Self::join(&parts).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    /// The lines of a cell; those after the first are indented.
    fn wrapped(&self, column: &Column, index: usize, text: &str) -> Vec<String> {
        let first = if self.grouped && index == 0 { "  " } else { "" };
        let room = self.widths[index].saturating_sub(first.len());
        if column.right || width(text) <= room {
            return vec![format!("{first}{text}")];
        }
        let lines = wrap(text, room).into_iter().enumerate().flat_map(|(line, part)| {
            let room = if line == 0 { room } else { room.saturating_sub(2) };
            broken(&part, room).into_iter().enumerate().map(move |(piece, part)| (line + piece, part))
        });
        lines
            .map(|(line, part)| if line == 0 { format!("{first}{part}") } else { format!("{first}  {part}") })
            .collect()
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

/// A word in pieces of at most `columns`; a path is broken after one of its separators.
fn broken(word: &str, columns: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while width(rest) > columns.max(4) {
        let mut end = 0;
        let mut used = 0;
        for (at, character) in rest.char_indices() {
            used += width(character.encode_utf8(&mut [0; 4]));
            // The pieces after the first are indented by two.
            if used > columns.max(4) - 2 {
                break;
            }
            end = at + character.len_utf8();
        }
        let end = end.max(rest.chars().next().map_or(0, char::len_utf8));
        let separator = rest[..end].rfind(['/', '\\']).filter(|at| *at > 0).map(|at| at + 1);
        let (piece, left) = rest.split_at(separator.unwrap_or(end));
        pieces.push(piece.to_owned());
        rest = left;
    }
    pieces.push(rest.to_owned());
    pieces
}

#[cfg(test)]
mod tests {
    use super::super::TextOptions;
    use super::*;

    fn drawn(table: &Table, columns: usize) -> Vec<String> {
        let drawn = draw(table, &Style::new(&TextOptions::default()), columns);
        assert!(drawn.lines.iter().all(|line| width(line) <= columns), "{:#?}", drawn.lines);
        drawn.lines
    }

    fn table(name: &str, numbers: usize) -> Table {
        let columns = (0..numbers).map(|number| Column::numbers(&format!("number {number}")));
        let mut table = Table::new("t", [Column::words("name")].into_iter().chain(columns).collect());
        let cells = (0..numbers).map(|number| TableCell::from(format!("{number}.00 ms")));
        table.row([name.into()].into_iter().chain(cells).collect());
        table
    }

    /// The percentiles of a role with five columns were 105 characters wide on a terminal of 80, where every line broke in two.
    #[test]
    fn columns_that_do_not_fit_come_in_a_second_block_with_the_names() {
        let lines = drawn(&table("read", 9), 60);
        assert_eq!(lines.iter().filter(|line| line.contains("  read")).count(), 2, "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("8.00 ms")), "nothing is lost: {lines:#?}");
        assert_eq!(drawn(&table("read", 9), 200).len(), 3);
    }

    /// The paths of two files took the whole width of a terminal, and their numbers broke into the next line.
    #[test]
    fn a_long_path_is_broken_at_its_directories() {
        let path = r"E:\Program Files\Microsoft SQL Server\MSSQL16.MSSQLSERVER\MSSQL\DATA\sales_2026.mdf";
        let lines = drawn(&table(path, 3), 70);
        let first = lines[2..].iter().filter_map(|line| line.trim().split("  ").next());
        let name = first.collect::<String>();
        assert_eq!(name.replace(' ', ""), path.replace(' ', ""), "{lines:#?}");
        assert!(lines[2].contains("0.00 ms"), "the numbers stand beside its beginning: {lines:#?}");
    }

    #[test]
    fn marks_behind_numbers_do_not_move_the_digits() {
        let mut table = Table::new("t", vec![Column::words("name"), Column::numbers("p99")]);
        for number in ["1.00 ms", "3.30 ms!", "9.90 ms!!", "12.3 ms?"] {
            table.row(vec!["a".into(), number.into()]);
        }
        let lines = drawn(&table, 60);
        let places: Vec<_> = lines[2..].iter().map(|line| line.find(" ms")).collect();
        assert!(places.windows(2).all(|two| two[0] == two[1]), "{lines:#?}");
    }
}
