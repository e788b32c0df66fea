//! One group on the whole screen: its history, and what is around it.

use iostall_watch::windows::GroupKey;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line as Text, Span};
use ratatui_widgets::paragraph::Paragraph;

use super::columns::Column;
use super::graph::bars;
use super::past::KEPT;
use super::state::TopState;
use super::style::{bold, cut, dim};
use super::table::{self, Rows, graph_of};
use crate::format::shown;
use crate::watch::columns::short;
use crate::zone::time_of_day;

/// The heading of a graph, and its bars where there is room for them.
const GRAPH_HEIGHT: u16 = 4;
/// What is around needs a heading and a few lines.
const AROUND_HEIGHT_MIN: u16 = 5;

pub(super) fn draw_graph(state: &TopState, frame: &mut Frame<'_>, area: Rect) {
    if let Some(key) = state.selected_key() {
        let name = shown(&key.name);
        graph(state, key, graph_of(state.sort), Some(&name), frame, area);
    }
}

pub(super) fn draw(state: &TopState, key: &GroupKey, frame: &mut Frame<'_>, area: Rect) {
    let columns = columns(state.sort);
    let each = ((area.height.saturating_sub(1 + AROUND_HEIGHT_MIN)) / 3).clamp(2, GRAPH_HEIGHT);
    let heights = [Constraint::Length(1)].into_iter().chain(columns.map(|_| Constraint::Length(each)));
    let areas: Vec<Rect> =
        Layout::vertical(heights.chain([Constraint::Min(0)])).split(area).iter().copied().collect();
    let title = vec![
        Span::styled(shown(&key.name), bold()),
        Span::styled(format!("  {} of {}", key.kind.name(), shown(&key.source)), dim()),
    ];
    frame.render_widget(Paragraph::new(Text::from(title)), areas[0]);
    for (column, area) in columns.into_iter().zip(&areas[1..]) {
        graph(state, key, column, None, frame, *area);
    }
    around(state, key, frame, areas[areas.len() - 1]);
}

/// What is judged, what is done, and what the reader sorts by.
fn columns(sort: Column) -> [Column; 3] {
    let chosen = graph_of(sort);
    let usual = [Column::StallPerIo, Column::Reads, Column::Writes];
    let is_usual = chosen == Column::Queue || usual.contains(&chosen);
    if is_usual { usual } else { [chosen, usual[1], usual[2]] }
}

fn graph(
    state: &TopState,
    key: &GroupKey,
    column: Column,
    name: Option<&str>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let count = usize::from(area.width).min(KEPT);
    let values = state.past.values(state.level, key, column, count);
    let most = values.iter().flatten().copied().fold(0.0_f64, f64::max);
    let newest = values.last().copied().flatten();
    let mut words = vec![column.head().to_owned()];
    words.push(format!("now {}", newest.map_or_else(|| "-".to_owned(), short)));
    words.push(format!("most {}", short(most)));
    if let Some((from, to)) = state.past.span(&key.source, count) {
        words.push(format!("{} to {}", time_of_day(from), time_of_day(to)));
    }
    let words = words.join("  ");
    // The numbers matter more than the whole of a long name.
    let room = usize::from(area.width).saturating_sub(words.chars().count() + 2);
    let name = name.map(|name| format!("{}  ", cut(name, room))).unwrap_or_default();
    let head = Text::from(vec![Span::styled(name, bold()), Span::styled(words, dim())]);
    let mut lines = vec![head];
    lines.extend(bars(&values, usize::from(area.height.saturating_sub(1))).into_iter().map(Text::raw));
    frame.render_widget(Paragraph::new(lines), area);
}

fn around(state: &TopState, key: &GroupKey, frame: &mut Frame<'_>, area: Rect) {
    let around = state.around(key);
    let [head, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    if around.lines.is_empty() {
        let nothing = "Nothing else of this source is known to be on its device.";
        frame.render_widget(Paragraph::new(Text::styled(nothing, dim())), head);
        return;
    }
    frame.render_widget(Paragraph::new(Text::styled(around.heading, bold())), head);
    let rows = Rows {
        lines: &around.lines,
        level: around.level,
        sort: Column::Queue,
        is_ascending: false,
        selected: None,
    };
    table::draw(state, &rows, frame, rest);
}
