//! One group on the whole screen: its history, and what is around it.

use std::collections::BTreeSet;

use iostall_model::{Kind, Level, Row};
use iostall_watch::windows::{Group, GroupKey, Interval, WatchWindow, key_of};
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line as Text, Span};
use ratatui_widgets::paragraph::Paragraph;

use super::columns::{Column, Line};
use super::past::KEPT;
use super::state::TopState;
use super::style::{bold, cut, dim};
use super::table::{self, Rows, bars, graph_of};
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

/// The rows around a group, under a heading.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub(super) heading: String,
    pub(super) level: Level,
    pub(super) lines: Vec<Line>,
}

type IsAround<'a> = Box<dyn Fn(&Row) -> bool + 'a>;

impl TopState {
    /// What is around the group `key` of this level, in the newest interval of its source; the most time waited first.
    pub(super) fn around(&self, key: &GroupKey) -> Around {
        let source = self.sources.iter().find(|source| source.name == key.source);
        let Some(interval) = source.and_then(|source| source.newest.as_ref()) else {
            return Around { heading: String::new(), level: self.level, lines: Vec::new() };
        };
        let is_own = |row: &Row| key_of(self.level, &key.source, row).as_ref() == Some(key);
        let own: Vec<&Row> = interval.rows.iter().map(|(row, _)| row).filter(|row| is_own(row)).collect();
        let volumes: BTreeSet<&str> = own.iter().filter_map(|row| row.subject.volume.as_deref()).collect();
        let is_on_volume =
            |row: &Row| row.subject.volume.as_deref().is_some_and(|volume| volumes.contains(volume));
        let names = || volumes.iter().map(|volume| shown(volume)).collect::<Vec<_>>().join(", ");
        let (level, heading, is_around): (Level, String, IsAround<'_>) = match (self.level, key.kind) {
            (Level::Volumes, Kind::LinuxDevice) => {
                let related = |row: &Row| {
                    let name = &row.subject.name;
                    own.iter().any(|own| is_part(name, &own.subject.name) || is_part(&own.subject.name, name))
                };
                let is_around = move |row: &Row| row.subject.kind == Kind::LinuxDevice && related(row);
                (Level::Volumes, "Its disk and partitions".to_owned(), Box::new(is_around))
            }
            (Level::Server, Kind::LinuxDevice) => (
                Level::Volumes,
                "Its devices".to_owned(),
                Box::new(|row: &Row| row.subject.kind == Kind::LinuxDevice),
            ),
            (Level::Volumes | Level::Server, _) => (Level::Files, "Its files".to_owned(), Box::new(is_own)),
            (Level::Files | Level::Databases, _) => {
                let heading = format!("Also on {}", names());
                (Level::Files, heading, Box::new(move |row: &Row| !is_own(row) && is_on_volume(row)))
            }
        };
        let rows = interval.rows.iter().filter(|(row, _)| is_around(row)).cloned().collect();
        let part = Interval { start: interval.start, end: interval.end, rows, grain: interval.grain };
        let mut window = WatchWindow::new(level, None);
        window.add(&key.source, &part);
        window.groups.retain(|other, _| other != key || level != self.level);
        let line = |(key, group): (GroupKey, Group)| Line { key, totals: group.totals, missing: Vec::new() };
        let mut lines: Vec<Line> = window.groups.into_iter().map(line).collect();
        lines.sort_by(|a, b| Column::Queue.compare(a, b, false));
        Around { heading, level, lines }
    }
}

/// Whether `part` is a partition of the device `whole`, by the kernel's names: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_part(part: &str, whole: &str) -> bool {
    let Some(rest) = part.strip_prefix(whole) else { return false };
    let number =
        if whole.ends_with(|last: char| last.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_known_by_the_names_that_the_kernel_gives_them() {
        assert!(is_part("sda1", "sda") && is_part("nvme0n1p2", "nvme0n1") && is_part("vdb15", "vdb"));
        assert!(!is_part("sdaa", "sda") && !is_part("nvme0n12", "nvme0n1") && !is_part("sda", "sda"));
        assert!(!is_part("dm-1", "dm-11") && !is_part("dm-11", "dm-1"));
    }
}
