//! The screen.

use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line as Text, Span};
use ratatui_widgets::paragraph::Paragraph;
use ratatui_widgets::table::{Cell, Row, Table};

use super::columns::Column;
use super::keys::LEVELS;
use super::line::Line;
use super::state::{TopSource, TopState};
use crate::format::shown;
use crate::watch::columns::short;
use crate::zone::time_of_day;

/// What the keys do, on a line of 80 characters.
const HELP: &str = "? help  1-4 level  < > sort  r reverse  / filter  p pause  + - interval  q quit";
/// The same at length.
const KEYS: [&str; 10] = [
    "1 2 3 4, tab    files, databases, volumes, server",
    "< >             sort by the column to the left or right; the mark is beside its name",
    "r               the other way round",
    "/               only names with this in them; enter keeps it, escape clears it",
    "p               pause",
    "+ -             longer or shorter interval",
    "arrows, page up, page down, home, end     scroll",
    "?               this, and back",
    "q, Ctrl-C       quit",
    "queue: how many reads and writes waited at once on the mean, which is the time waited each second",
];
/// Width of a column of numbers.
const NUMBER_WIDTH: u16 = 9;
/// Minimum width of the name; columns that do not fit are left out from the right.
const NAME_WIDTH_MIN: u16 = 24;
/// Width of the source column, which is there with several sources.
const SOURCE_WIDTH: u16 = 14;
/// How many sources get a line each.
const SOURCES_SHOWN_MAX: usize = 6;

/// Draws `state` on `frame`.
pub fn draw(state: &TopState, frame: &mut Frame<'_>) {
    let sources = source_lines(state);
    let heights = [
        Constraint::Length(1),
        Constraint::Length(u16::try_from(sources.len()).unwrap_or(0)),
        Constraint::Min(1),
        Constraint::Length(1),
    ];
    let [head, about, table, foot] = Layout::vertical(heights).areas(frame.area());
    frame.render_widget(Paragraph::new(title(state)), head);
    frame.render_widget(Paragraph::new(sources), about);
    if state.is_helping {
        frame.render_widget(Paragraph::new(KEYS.map(Text::raw).to_vec()), table);
    } else {
        draw_table(state, frame, table);
    }
    let help = if state.is_typing { "type a part of a name; enter keeps it, escape clears it" } else { HELP };
    frame.render_widget(Paragraph::new(Text::styled(help, dim())), foot);
}

/// Level, interval, time and anything unusual.
fn title(state: &TopState) -> Text<'static> {
    let mut spans = vec![Span::styled("iostall top", bold())];
    for (place, (level, name)) in LEVELS.iter().enumerate() {
        let style = if *level == state.level { reversed() } else { Style::new() };
        spans.push(Span::raw("  "));
        spans.push(Span::styled(format!("{} {name}", place + 1), style));
    }
    let time = time_of_day(state.now);
    let interval = state
        .interval
        .map_or_else(|| "as collected".to_owned(), |interval| format!("every {} s", interval.as_secs()));
    spans.push(Span::raw(format!("  {interval}  {time}")));
    if state.is_paused {
        spans.push(Span::styled("  PAUSED", state.caution()));
    }
    if state.is_typing || !state.filter.is_empty() {
        let cursor = if state.is_typing { "_" } else { "" };
        spans.push(Span::styled(format!("  /{}{cursor}", state.filter), state.caution()));
    }
    Text::from(spans)
}

/// One line per source: time of its last answer, and its problems.
fn source_lines(state: &TopState) -> Vec<Text<'static>> {
    let lines_max =
        if state.sources.len() > SOURCES_SHOWN_MAX { SOURCES_SHOWN_MAX - 1 } else { SOURCES_SHOWN_MAX };
    // Those that do not answer come first, because with many sources only some fit.
    let mut sources: Vec<&TopSource> = state.sources.iter().collect();
    sources.sort_by_key(|source| source.gap.is_none());
    let mut lines: Vec<_> = sources.iter().take(lines_max).map(|source| source_line(state, source)).collect();
    if sources.len() > lines_max {
        lines.push(Text::raw(format!("and {} more sources", sources.len() - lines_max)));
    }
    lines
}

fn source_line(state: &TopState, source: &TopSource) -> Text<'static> {
    let mut spans = vec![Span::raw(format!("{}  ", shown(&source.name)))];
    match (&source.gap, source.taken) {
        (Some((since, reason)), _) => {
            let since = time_of_day(*since);
            spans.push(Span::styled(format!("no sample since {since}: {}", shown(reason)), state.bad()));
        }
        (None, Some(taken)) => {
            let age_s = state.now.duration_since(taken).as_secs().max(0);
            spans.push(Span::raw(format!("sampled {age_s} s ago")));
        }
        (None, None) => spans.push(Span::raw("waiting for the first sample")),
    }
    let resets: Vec<String> =
        source.resets.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    if !resets.is_empty() {
        spans.push(Span::styled(format!("  not counted: {}", resets.join(", ")), state.caution()));
    }
    if let Some(warning) = source.warnings.first() {
        let more = match source.warnings.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        spans.push(Span::styled(format!("  {}{more}", shown(&warning.message)), state.caution()));
    }
    Text::from(spans)
}

fn draw_table(state: &TopState, frame: &mut Frame<'_>, area: Rect) {
    if state.lines.is_empty() {
        frame.render_widget(Paragraph::new(nothing(state)), area);
        return;
    }
    let has_sources = state.sources.len() > 1;
    let source_width = if has_sources { SOURCE_WIDTH + 1 } else { 0 };
    let fit = area.width.saturating_sub(NAME_WIDTH_MIN + source_width) / (NUMBER_WIDTH + 1);
    let numbers = Column::shown(state.sort, usize::from(fit), &state.lines);
    let numbers_width = u16::try_from(numbers.len()).unwrap_or(0) * (NUMBER_WIDTH + 1);
    let name_width = usize::from(area.width.saturating_sub(source_width + numbers_width));
    let columns: Vec<Column> = std::iter::once(Column::Name).chain(numbers).collect();
    let heads = columns.iter().map(|column| {
        let mark = match (*column == state.sort, state.is_ascending) {
            (false, _) => "",
            (true, false) => "↓",
            (true, true) => "↑",
        };
        let style = if mark.is_empty() { bold() } else { reversed() };
        let text = Text::styled(format!("{}{mark}", column.head()), style);
        Cell::new(if *column == Column::Name { text } else { text.right_aligned() })
    });
    let source_head = has_sources.then(|| Cell::new(Text::styled("source", bold())));
    let heads: Vec<Cell<'_>> = source_head.into_iter().chain(heads).collect();
    let rows = state.lines.iter().skip(state.offset).take(usize::from(area.height)).map(|line| {
        let source = has_sources.then(|| {
            let source = cut(&shown(&line.key.source), usize::from(SOURCE_WIDTH));
            Cell::new(Text::styled(source, dim()))
        });
        Row::new(source.into_iter().chain(columns.iter().map(|column| match column {
            Column::Name => Cell::new(name(state, line, name_width)),
            column => {
                Cell::new(Text::raw(column.value(line).map_or_else(|| "-".to_owned(), short)).right_aligned())
            }
        })))
    });
    let of_source = has_sources.then_some(Constraint::Length(SOURCE_WIDTH));
    let widths = of_source.into_iter().chain(columns.iter().map(|column| match column {
        Column::Name => Constraint::Fill(1),
        _ => Constraint::Length(NUMBER_WIDTH),
    }));
    frame.render_widget(Table::new(rows, widths).header(Row::new(heads)).column_spacing(1), area);
}

/// Why the table is empty.
fn nothing(state: &TopState) -> Text<'static> {
    if !state.filter.is_empty() {
        return Text::raw(format!(
            "nothing here has {:?} in its name; escape clears the filter",
            state.filter
        ));
    }
    if state.sources.iter().any(|source| source.gap.is_none() && source.newest.is_none()) {
        return Text::raw("waiting for a second sample: two make an interval");
    }
    Text::raw("nothing is counted at this level; 1 to 4 show the others")
}

/// The name of a line, after why numbers are missing. A long name is cut; the reason is not.
fn name(state: &TopState, line: &Line, width: usize) -> Text<'static> {
    let reason =
        if line.missing.is_empty() { String::new() } else { format!("({})  ", line.missing.join(", ")) };
    let left = width.saturating_sub(reason.chars().count());
    let name = cut(&shown(&line.key.name), left);
    Text::from(vec![Span::styled(reason, state.caution()), Span::raw(name)])
}

/// `text` in so many characters. What is cut out is from the middle: paths differ at their ends.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept / 3;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - (kept - head)).collect();
    format!("{start}…{end}")
}

// Without colour there are still bold, dim and reversed letters.

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn reversed() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

impl TopState {
    fn caution(&self) -> Style {
        if self.has_colour { Style::new().fg(Color::Yellow) } else { bold() }
    }

    fn bad(&self) -> Style {
        if self.has_colour { Style::new().fg(Color::Red) } else { bold() }
    }
}
