//! The screen.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line as Text, Span};
use ratatui_widgets::paragraph::Paragraph;

use super::inside;
use super::past::LEVELS;
use super::state::{TopSource, TopState};
use super::style::{bold, dim, reversed};
use super::table::{self, Rows};
use crate::format::shown;
use crate::table::Severity;
use crate::text::ascii_symbol;
use crate::zone::{time_of_day, timestamp};

const SOURCES_SHOWN_MAX: usize = 6;
/// The graph of the selected row: a heading and its bars.
const GRAPH_HEIGHT: u16 = 5;
/// With fewer lines the table needs all of them.
const TABLE_HEIGHT_MIN: u16 = 8;

pub fn draw(state: &TopState, frame: &mut Frame<'_>) {
    let head = head(state);
    let heights = [
        Constraint::Length(u16::try_from(head.len()).unwrap_or(0)),
        Constraint::Min(1),
        Constraint::Length(1),
    ];
    let [above, middle, foot] = Layout::vertical(heights).areas(frame.area());
    frame.render_widget(Paragraph::new(head), above);
    match state.selected_key().filter(|_| state.is_inside) {
        _ if state.is_helping => {
            frame.render_widget(Paragraph::new(KEYS_LONG.map(Text::raw).to_vec()), middle);
        }
        Some(key) => inside::draw(state, key, frame, middle),
        None => draw_lines(state, frame, middle),
    }
    frame.render_widget(Paragraph::new(foot_line(state)), foot);
    if !state.has_unicode {
        to_ascii(frame.buffer_mut());
    }
}

/// Replaces what a terminal without Unicode shows as something else, often in more columns than one.
fn to_ascii(screen: &mut Buffer) {
    for cell in &mut screen.content {
        if !cell.symbol().is_ascii() {
            let symbol = cell.symbol().chars().next().map_or(' ', ascii_symbol);
            cell.set_char(symbol);
        }
    }
}

fn head(state: &TopState) -> Vec<Text<'static>> {
    let position = state.position.map(|at| {
        let ago = state.now.duration_since(at).as_secs().max(0);
        let text = format!(
            "PAST  {}, {} ago  [ ] one sample  {{ }} one hour  n now",
            timestamp(at),
            ago_in_words(ago)
        );
        Text::styled(text, state.caution())
    });
    [title(state)].into_iter().chain(position).chain(source_lines(state)).collect()
}

fn ago_in_words(seconds: i64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn foot_line(state: &TopState) -> Text<'static> {
    match state.notice {
        _ if state.is_typing => {
            Text::styled("type a part of a name; enter keeps it, escape clears it", dim())
        }
        Some(notice) => Text::styled(notice, state.caution()),
        None if state.is_inside => Text::styled(KEYS_INSIDE, dim()),
        None => Text::styled(KEYS_SHORT, dim()),
    }
}

fn draw_lines(state: &TopState, frame: &mut Frame<'_>, area: Rect) {
    if state.lines.is_empty() {
        frame.render_widget(Paragraph::new(nothing(state)), area);
        return;
    }
    let graph = if area.height >= TABLE_HEIGHT_MIN + GRAPH_HEIGHT { GRAPH_HEIGHT } else { 0 };
    let [above, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(graph)]).areas(area);
    let rows = Rows {
        lines: &state.lines,
        level: state.level,
        sort: state.sort,
        is_ascending: state.is_ascending,
        selected: Some(state.selected),
    };
    table::draw(state, &rows, frame, above);
    if graph > 0 {
        inside::draw_graph(state, frame, below);
    }
}

fn title(state: &TopState) -> Text<'static> {
    let mut spans = vec![Span::styled("iostall top", bold())];
    for (place, (level, name)) in LEVELS.iter().enumerate() {
        let style = if *level == state.level { reversed() } else { Style::new() };
        spans.push(Span::raw("  "));
        spans.push(Span::styled(format!("{} {name}", place + 1), style));
    }
    if state.is_paused {
        spans.push(Span::styled("  PAUSED", state.caution()));
    }
    if state.is_typing || !state.filter.is_empty() {
        let cursor = if state.is_typing { "_" } else { "" };
        spans.push(Span::styled(format!("  /{}{cursor}", state.filter), state.caution()));
    }
    if state.hidden > 0 {
        spans.push(Span::raw(format!("  {} hidden", state.hidden)));
    }
    // What is cut off on a narrow screen is known to whoever started it.
    let time = time_of_day(state.now);
    let interval = state
        .interval
        .map_or_else(|| "as collected".to_owned(), |interval| format!("every {} s", interval.as_secs()));
    spans.push(Span::raw(format!("  {interval}  {time}")));
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
            spans.push(Span::styled(
                format!("no sample since {since}: {}", shown(reason)),
                state.severity(Severity::Bad),
            ));
        }
        (None, Some(taken)) if state.position.is_some() => {
            spans.push(Span::raw(format!("sampled at {}", time_of_day(taken))));
        }
        (None, Some(taken)) => {
            let age_s = state.now.duration_since(taken).as_secs().max(0);
            spans.push(Span::raw(format!("sampled {age_s} s ago")));
        }
        (None, None) if state.position.is_some() => spans.push(Span::raw("no sample then")),
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
    if state.hidden > 0 {
        let rows =
            if state.hidden == 1 { "1 row is".to_owned() } else { format!("{} rows are", state.hidden) };
        return Text::raw(format!("{rows} hidden: idle, or loop devices; a shows them"));
    }
    Text::raw("nothing is counted at this level; 1 to 4 show the others")
}

/// On a line of 80 characters.
pub(super) const KEYS_SHORT: &str =
    "? help  enter look in  1-4 level  < > sort  / filter  a all  [ ] past  q quit";

/// The same inside a group.
pub(super) const KEYS_INSIDE: &str = "escape back  up down next row  < > sort  [ ] past  ? help  q quit";

/// At length, on lines of 80 characters.
pub(super) const KEYS_LONG: [&str; 18] = [
    "up, down, page, home, end   select a row; the graph is its history",
    "enter          look into it: its history, what else is on its device; escape",
    "1 2 3 4, tab   files, databases, volumes, server",
    "< >            sort by the column to the left or right; graphs show that column",
    "r              the other way round",
    "/              names with this in them; enter keeps it, escape clears it",
    "a              also idle rows and loop devices, or not",
    "[ ]            back and forward by one sample, where a collector stores them",
    "{ }  n         back and forward by an hour; now",
    "p              pause",
    "+ -            longer or shorter interval",
    "?              this, and back",
    "q, Ctrl-C      quit",
    "",
    "queue    how many reads and writes waited at once on the mean",
    "!  !!    a slow stall: over 10 ms, of a log 1 ms; a bad one: over 20 ms, 5 ms",
    "history  from zero to the most, the newest at the right; empty where nothing",
    "         was done or sampled",
];
