//! The table of groups.

use iostall_model::Level;
use ratatui_core::layout::{Constraint, Rect};
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line as Text, Span};
use ratatui_widgets::table::{Cell, Row, Table};

use super::columns::{Column, Line};
use super::state::TopState;
use super::style::{bold, cut, dim, reversed};
use crate::format::shown;
use crate::watch::columns::short;

/// Minimum width of the name; columns that do not fit are left out.
const NAME_WIDTH_MIN: u16 = 24;
/// Width of the source column, which is there with several sources.
const SOURCE_WIDTH: u16 = 14;
/// A row's history has at least this width, and at most that.
const HISTORY_WIDTH_MIN: u16 = 8;
const HISTORY_WIDTH_MAX: u16 = 40;

/// Reads, writes, the stall of each, and the queue.
const NUMBERS_ENOUGH: usize = 5;

pub(super) struct Rows<'a> {
    pub(super) lines: &'a [Line],
    pub(super) level: Level,
    pub(super) sort: Column,
    pub(super) is_ascending: bool,
    pub(super) selected: Option<usize>,
}

struct Shape {
    has_sources: bool,
    numbers: Vec<Column>,
    name: u16,
    /// Zero if there is no room for it.
    history: u16,
    marks: Vec<usize>,
}

impl Shape {
    fn of(state: &TopState, rows: &Rows<'_>, width: u16) -> Self {
        let has_sources = state.sources.len() > 1;
        let source = if has_sources { SOURCE_WIDTH + 1 } else { 0 };
        let room = width.saturating_sub(NAME_WIDTH_MIN + source);
        // The history comes after the columns that matter most, and before the others.
        let beside_history = Column::shown(rows.sort, room.saturating_sub(HISTORY_WIDTH_MIN + 1), rows.lines);
        let numbers = if beside_history.len() >= NUMBERS_ENOUGH {
            beside_history
        } else {
            Column::shown(rows.sort, room, rows.lines)
        };
        let used: u16 = numbers.iter().map(|column| column.width() + 1).sum();
        let longest = rows.lines.iter().map(|line| shown(&line.key.name).chars().count()).max();
        let longest = u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX).max(NAME_WIDTH_MIN);
        let left = width.saturating_sub(source + used);
        // The history gets what the longest name leaves, but at least a little if there is any room.
        let history = left.saturating_sub(longest + 1).clamp(HISTORY_WIDTH_MIN, HISTORY_WIDTH_MAX);
        let history = if left > NAME_WIDTH_MIN + HISTORY_WIDTH_MIN { history } else { 0 };
        let name = if history > 0 { left - history - 1 } else { left };
        let mark = |column: &Column| {
            let marks = rows.lines.iter().filter_map(|line| column.judgement(line));
            marks.map(|judgement| judgement.mark().len()).max().unwrap_or(0)
        };
        let marks = numbers.iter().map(mark).collect();
        Self { has_sources, numbers, name, history, marks }
    }

    fn widths(&self) -> Vec<Constraint> {
        let source = self.has_sources.then_some(Constraint::Length(SOURCE_WIDTH));
        let numbers = self.numbers.iter().map(|column| Constraint::Length(column.width()));
        let history = (self.history > 0).then_some(Constraint::Length(self.history));
        source.into_iter().chain([Constraint::Fill(1)]).chain(numbers).chain(history).collect()
    }
}

pub(super) fn draw(state: &TopState, rows: &Rows<'_>, frame: &mut Frame<'_>, area: Rect) {
    let shape = Shape::of(state, rows, area.width);
    let visible = usize::from(area.height.saturating_sub(1)).max(1);
    let first = rows.selected.map_or(0, |selected| (selected + 1).saturating_sub(visible));
    let lines = rows.lines.iter().enumerate().skip(first).take(visible);
    let body = lines.map(|(place, line)| {
        let row = row(state, rows, &shape, line);
        if rows.selected == Some(place) { row.style(reversed()) } else { row }
    });
    let table = Table::new(body, shape.widths()).header(heads(rows, &shape)).column_spacing(1);
    frame.render_widget(table, area);
}

fn heads(rows: &Rows<'_>, shape: &Shape) -> Row<'static> {
    let head = |column: Column, after: usize| {
        let mark = match (column == rows.sort, rows.is_ascending) {
            (false, _) => "",
            (true, false) => "↓",
            (true, true) => "↑",
        };
        let style = if mark.is_empty() { bold() } else { reversed() };
        // Above the digits, not above the marks behind them, as far as there is room.
        let free = usize::from(column.width()).saturating_sub(column.head().len() + mark.chars().count());
        let spans = vec![
            Span::styled(format!("{}{mark}", column.head()), style),
            Span::raw(" ".repeat(after.min(free))),
        ];
        let text = Text::from(spans);
        Cell::new(if column == Column::Name { text } else { text.right_aligned() })
    };
    let source = shape.has_sources.then(|| Cell::new(Text::styled("source", bold())));
    let numbers = shape.numbers.iter().zip(&shape.marks).map(|(column, mark)| head(*column, *mark));
    let history = (shape.history > 0).then(|| Cell::new(Text::styled("history", bold())));
    Row::new(source.into_iter().chain([head(Column::Name, 0)]).chain(numbers).chain(history))
}

fn row(state: &TopState, rows: &Rows<'_>, shape: &Shape, line: &Line) -> Row<'static> {
    let source = shape.has_sources.then(|| {
        let source = cut(&shown(&line.key.source), usize::from(SOURCE_WIDTH));
        Cell::new(Text::styled(source, dim()))
    });
    let numbers = shape.numbers.iter().zip(&shape.marks).map(|(column, mark)| {
        let number = column.value(line).map_or_else(|| "-".to_owned(), short);
        let judgement = column.judgement(line);
        let text = format!("{number}{:<mark$}", judgement.map_or("", |judgement| judgement.mark()));
        let style = judgement.map_or(Style::new(), |judgement| state.judged(judgement));
        Cell::new(Text::styled(text, style).right_aligned())
    });
    let history = (shape.history > 0).then(|| {
        let values = state.past.values(rows.level, &line.key, graph_of(rows.sort), shape.history.into());
        Cell::new(Text::raw(bars(&values, 1).concat()).right_aligned())
    });
    let name = Cell::new(name(state, line, shape.name.into()));
    Row::new(source.into_iter().chain([name]).chain(numbers).chain(history))
}

/// The column that graphs show: that of the order, if it has numbers.
pub(super) fn graph_of(sort: Column) -> Column {
    if sort == Column::Name { Column::Queue } else { sort }
}

/// The name of a line, after why numbers are missing. A long name is cut; the reason is not.
fn name(state: &TopState, line: &Line, width: usize) -> Text<'static> {
    let reason =
        if line.missing.is_empty() { String::new() } else { format!("({})  ", line.missing.join(", ")) };
    let left = width.saturating_sub(reason.chars().count());
    let name = cut(&shown(&line.key.name), left);
    Text::from(vec![Span::styled(reason, state.caution()), Span::raw(name)])
}

const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `values` as `height` lines, on one scale from zero to the largest of them. A gap has no bar.
pub(super) fn bars(values: &[Option<f64>], height: usize) -> Vec<String> {
    let most = values.iter().flatten().copied().fold(0.0_f64, f64::max);
    let steps: Vec<usize> = values.iter().map(|value| eighths(*value, most, height)).collect();
    let line = |row: usize| {
        let below = (height - 1 - row) * 8;
        steps.iter().map(move |step| match step.saturating_sub(below) {
            0 => ' ',
            part => EIGHTHS[part.min(8) - 1],
        })
    };
    (0..height).map(|row| line(row).collect()).collect()
}

/// The height of a bar; whatever is more than nothing is seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the largest value is within 0 and 1, and a float cast saturates"
)]
fn eighths(value: Option<f64>, most: f64, height: usize) -> usize {
    match value {
        Some(value) if value > 0.0 => ((value / most * (height * 8) as f64).round() as usize).max(1),
        Some(_) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_value_is_twice_the_height_and_a_gap_is_empty() {
        let values = [Some(8.0), Some(4.0), None, Some(0.0), Some(0.01)];
        assert_eq!(bars(&values, 1), ["█▄  ▁"]);
        assert_eq!(bars(&values, 2), ["█    ", "██  ▁"]);
        assert_eq!(bars(&[], 2), ["", ""]);
        assert_eq!(bars(&[None, Some(0.0)], 1), ["  "]);
    }
}
