//! The view on a screen of text.

mod hidden;
mod past;

use std::sync::Arc;
use std::time::Duration;

use iostall_model::{
    Change, Counter, Counters, Epoch, Kind, Level, ResetReason, Row, Sample, SampleTime, Scope, Step,
    Subject, Totals, Warning, WarningCode,
};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use jiff::SignedDuration;

use super::{Asked, Column, Key, TopState, draw};

fn file(database: &str, name: &str, reads: u64, stall_ms: u64) -> (Row, Change) {
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database(database.into()),
        name: name.into(),
        identity: name.into(),
        volume: Some("E:\\".into()),
    };
    let amounts = Counters::new()
        .with(Counter::Reads, reads)
        .with(Counter::ReadBytes, reads * 8_192)
        .with(Counter::ReadStall, reads * stall_ms * 1_000_000)
        .with(Counter::Writes, 4)
        .with(Counter::WriteBytes, 245_760)
        .with(Counter::WriteStall, 3_000_000);
    let totals = Totals { covered_ns: 2_000_000_000, amounts };
    (Row { subject, counters: Counters::new(), age_ms: None }, Change::Delta(totals))
}

fn at(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}

/// What the rows did up to that time.
fn step(taken: &str, rows: Vec<(Row, Change)>) -> Step {
    let taken = SampleTime { utc: at(taken), clock: "c".into(), clock_ns: 1 };
    let (rows, changes) = rows.into_iter().unzip();
    let sample = Sample { taken: taken.clone(), epoch: Epoch::default(), rows, warnings: Vec::new() };
    Step { since: Some(taken), changes, ..Step::first(Arc::new(sample)) }
}

fn warning(message: &str) -> Warning {
    Warning::new(WarningCode::MissingGrant, message)
}

fn state() -> TopState {
    let names = ["sqlserver://db1:1433", "linux:", "mysql://db2:3306"].map(String::from);
    let mut state = TopState::new(&names, Level::Files, Some(Duration::from_secs(2)), true);
    state.tick(at("2026-11-21T14:03:07Z"));
    let mut reset = file("sales", "E:\\c.ndf", 1, 1);
    reset.1 = Change::Reset(ResetReason::Reattach);
    let rows = vec![file("sales", "E:\\a.mdf", 3_000, 2), file("stage", "E:\\b.mdf", 12, 31), reset];
    let mut known = step("2026-11-21T14:03:05Z", rows);
    Arc::make_mut(&mut known.sample).warnings = vec![warning("one grant is missing"), warning("x")];
    state.step(&names[0], &known);
    state.gap(&names[2], at("2026-11-21T14:03:01Z"), "cannot connect to mysql://db2:3306: refused");
    state
}

/// One server for two minutes: a busy database with its log, a slow one, and a file that nobody reads.
fn busy() -> TopState {
    let name = "sqlserver://db1:1433".to_owned();
    let mut state =
        TopState::new(std::slice::from_ref(&name), Level::Files, Some(Duration::from_secs(2)), true);
    state.tick(at("2026-11-21T14:05:01Z"));
    let begin = at("2026-11-21T14:03:00Z");
    for tick in 0..60_u32 {
        let reads = 2_000 + u64::from(tick % 12) * 400;
        let stall = if (20..26).contains(&tick) { 45 } else { 2 };
        let idle = file("stage", "E:\\data\\archive_2019.ndf", 0, 0);
        let amounts = Counters::new().with(Counter::Reads, 0).with(Counter::Writes, 0);
        let idle = (idle.0, Change::Delta(Totals { covered_ns: 2_000_000_000, amounts }));
        let rows = vec![
            file("sales", "E:\\data\\sales_2026_q4.mdf", reads, stall),
            file("sales", "E:\\log\\sales.ldf", 900, 6),
            file("stage", "E:\\data\\stage.mdf", 12, 31),
            idle,
        ];
        let taken = begin + SignedDuration::from_secs(i64::from(tick) * 2 + 2);
        let mut step = step(&taken.to_string(), rows);
        step.since =
            Some(SampleTime { utc: taken - SignedDuration::from_secs(2), clock: "c".into(), clock_ns: 1 });
        state.step(&name, &step);
    }
    state
}

fn screen(state: &TopState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(state, frame)).unwrap();
    terminal.backend().to_string()
}

/// The names on the screen, from the top.
fn names(state: &TopState) -> Vec<&str> {
    state.lines.iter().map(|line| line.key.name.as_str()).collect()
}

fn press(state: &mut TopState, keys: &str) {
    for key in keys.chars() {
        state.press(Key::Char(key));
    }
}

#[test]
fn the_whole_screen_reads_so() {
    insta::assert_snapshot!(screen(&state(), 130, 12));
}

#[test]
fn a_narrow_screen_keeps_names_and_the_column_that_is_sorted_by() {
    insta::assert_snapshot!(screen(&state(), 70, 10));
}

/// On a terminal of 80 by 24 two files of one directory looked the same: the ends of their names were cut off, the source
/// took most of the room, and the column that was sorted by was not there.
#[test]
fn on_80_by_24_files_are_told_apart_and_the_sorted_column_is_there() {
    let names = ["sqlserver://db1.example.com:1433", "sqlserver://db2.example.com:1433"].map(String::from);
    let mut state = TopState::new(&names, Level::Files, Some(Duration::from_secs(2)), true);
    let path =
        |name: &str| format!("E:\\Program Files\\Microsoft SQL Server\\MSSQL16\\MSSQL\\DATA\\{name}.mdf");
    for (source, files) in names.iter().zip([["sales_2025", "sales_2026"], ["stock_2025", "stock_2026"]]) {
        let rows = files.map(|name| file("sales", &path(name), 3_000, 2)).to_vec();
        state.step(source, &step("2026-11-21T14:03:05Z", rows));
    }
    let whole = screen(&state, 80, 24);
    for name in ["sales_2025.mdf", "sales_2026.mdf", "stock_2025.mdf", "stock_2026.mdf", "queue↓", "q quit"]
    {
        assert!(whole.contains(name), "{name}:\n{whole}");
    }
    press(&mut state, ">");
    assert!(screen(&state, 80, 24).contains("ms/sync↓"), "{}", screen(&state, 80, 24));
    press(&mut state, "?");
    assert!(screen(&state, 80, 24).contains("the other way round"));
    press(&mut state, "?");
    assert!(screen(&state, 80, 24).contains("sales_2025.mdf"));
}

#[test]
fn however_small_the_screen_is_it_can_be_drawn() {
    for (width, height) in [(1, 1), (5, 3), (30, 2), (400, 100)] {
        screen(&state(), width, height);
    }
}

#[test]
fn the_worst_is_first_and_any_column_sorts_both_ways_with_what_has_no_number_last() {
    let mut state = state();
    assert_eq!(names(&state), ["E:\\a.mdf", "E:\\b.mdf", "E:\\c.ndf"], "most time waited first");
    while state.sort != Column::Reads {
        state.press(Key::Left);
    }
    assert_eq!(names(&state), ["E:\\a.mdf", "E:\\b.mdf", "E:\\c.ndf"]);
    press(&mut state, "r");
    assert_eq!(names(&state), ["E:\\b.mdf", "E:\\a.mdf", "E:\\c.ndf"]);
    press(&mut state, "<");
    assert_eq!(state.sort, Column::Name);
    assert_eq!(names(&state), ["E:\\c.ndf", "E:\\b.mdf", "E:\\a.mdf"]);
}

#[test]
fn the_keys_1_to_4_and_tab_change_what_rows_are_summed_to() {
    let mut state = state();
    press(&mut state, "2");
    assert_eq!(names(&state), ["sales", "stage"]);
    state.press(Key::Tab);
    assert_eq!((state.level, names(&state)), (Level::Volumes, vec!["E:\\"]));
    press(&mut state, "4");
    state.press(Key::Tab);
    assert_eq!(state.level, Level::Files);
}

#[test]
fn a_filter_is_typed_whatever_its_letters_mean_elsewhere_and_escape_clears_it() {
    let mut state = state();
    press(&mut state, "/QA.");
    assert!(names(&state).is_empty());
    assert!(screen(&state, 100, 10).contains("nothing here has \"QA.\" in its name"));
    for _ in 0..3 {
        state.press(Key::Backspace);
    }
    press(&mut state, "A.");
    assert_eq!(names(&state), ["E:\\a.mdf"], "large and small letters are one");
    state.press(Key::Enter);
    assert_eq!(state.press(Key::Char('q')), Asked::Quit, "typing has ended");
    state.press(Key::Escape);
    assert_eq!(names(&state).len(), 3);
}

#[test]
fn a_paused_view_stays_as_it_is() {
    let mut state = state();
    press(&mut state, "p");
    state.step("sqlserver://db1:1433", &step("2026-11-21T14:03:09Z", Vec::new()));
    state.gap("sqlserver://db1:1433", at("2026-11-21T14:03:11Z"), "gone");
    assert_eq!(names(&state).len(), 3);
    assert!(screen(&state, 100, 10).contains("PAUSED"));
    press(&mut state, " ");
    state.gap("sqlserver://db1:1433", at("2026-11-21T14:03:13Z"), "gone");
    assert!(names(&state).is_empty(), "what it did before is no news any more");
}

#[test]
fn the_interval_goes_up_and_down_and_not_beyond_its_ends() {
    let mut state = state();
    assert_eq!(state.press(Key::Char('+')), Asked::Interval(Duration::from_secs(5)));
    state.press(Key::Char('-'));
    assert_eq!(state.press(Key::Char('-')), Asked::Interval(Duration::from_secs(1)));
    assert_eq!(state.press(Key::Char('-')), Asked::Draw);
    let mut stored = TopState::new(&[], Level::Files, None, true);
    assert_eq!(stored.press(Key::Char('+')), Asked::Draw, "the collector decides");
}

#[test]
fn scrolling_ends_with_the_last_line_and_ctrl_c_quits_even_while_typing() {
    let mut state = state();
    state.press(Key::End);
    assert_eq!(state.selected, 2);
    state.press(Key::Down);
    assert_eq!(state.selected, 2);
    state.press(Key::PageUp);
    assert_eq!(state.selected, 0);
    press(&mut state, "/x");
    assert_eq!(state.press(Key::Interrupt), Asked::Quit);
}

#[test]
fn every_source_has_said_something_when_it_did_something_or_failed() {
    let mut state = state();
    state.step("linux:", &Step { since: None, ..step("2026-11-21T14:03:03Z", Vec::new()) });
    assert!(!state.is_complete(), "one sample is no interval");
    state.step("linux:", &step("2026-11-21T14:03:05Z", Vec::new()));
    assert!(state.is_complete());
    let report = state.report();
    assert_eq!(report.sources.iter().filter(|source| !source.gaps.is_empty()).count(), 1);
    assert_eq!(report.length_ns(), 2_000_000_000, "the interval of what was sampled");
}

#[test]
fn the_screen_reads_so_at_three_widths() {
    for width in [80, 120, 200] {
        let whole = screen(&busy(), width, 24);
        insta::assert_snapshot!(format!("top-{width}"), whole);
        // What a reader must not lose at any width.
        for wanted in ["queue↓", "ms/read", "history", "sales.ldf", "!", "1 hidden", "q quit"] {
            assert!(whole.contains(wanted), "{wanted} at {width}:\n{whole}");
        }
    }
}

#[test]
fn inside_a_row_the_screen_reads_so_at_three_widths() {
    let mut state = busy();
    state.press(Key::Enter);
    for width in [80, 120, 200] {
        insta::assert_snapshot!(format!("inside-{width}"), screen(&state, width, 24));
    }
}

/// A file was slow, and nothing showed since when, or what else was on its disk.
#[test]
fn enter_looks_into_a_row_with_what_else_is_on_its_device_and_escape_comes_back() {
    let mut state = busy();
    state.press(Key::Down);
    state.press(Key::Enter);
    let inside = screen(&state, 120, 24);
    assert!(inside.contains("E:\\log\\sales.ldf  sqlserver-file of sqlserver://db1:1433"), "{inside}");
    assert!(
        inside.contains("Also on E:\\") && inside.contains("stage.mdf") && inside.contains("█"),
        "{inside}"
    );
    state.press(Key::Up);
    assert!(screen(&state, 120, 24).contains("E:\\data\\sales_2026_q4.mdf  sqlserver-file"), "the next row");
    state.press(Key::Escape);
    assert!(screen(&state, 120, 24).contains("name"), "the table is back");
    press(&mut state, "3");
    state.press(Key::Enter);
    assert!(screen(&state, 120, 24).contains("Its files"), "a volume consists of files");
}

#[test]
fn a_row_stays_selected_wherever_it_is_sorted_to() {
    let mut state = busy();
    state.press(Key::End);
    let chosen = state.selected_key().unwrap().name.clone();
    press(&mut state, "r");
    assert_eq!(state.selected_key().unwrap().name, chosen);
    assert_eq!(state.selected, 0);
}

/// Colour alone says nothing on a terminal without it.
#[test]
fn slow_and_bad_stalls_are_marked_and_a_log_is_judged_more_strictly() {
    let whole = screen(&busy(), 200, 24);
    let line = |name: &str| whole.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("sales.ldf").contains("6.00!!"), "{whole}");
    assert!(line("stage.mdf").contains("31.0!!"), "{whole}");
    assert!(line("sales_2026_q4").contains("2.00"), "{whole}");
}

#[test]
fn the_long_help_fits_and_names_every_key() {
    let mut state = busy();
    press(&mut state, "?");
    let whole = screen(&state, 80, 24);
    insta::assert_snapshot!("help", &whole);
    for key in ["enter", "[ ]", "{ }", "?", "a  ", "q, Ctrl-C"] {
        assert!(whole.contains(key), "{key}: {whole}");
    }
}

#[test]
fn no_screen_is_too_small_for_a_row_the_help_or_the_past() {
    let mut state = busy();
    for keys in [vec![Key::Enter], vec![Key::Char('?')], vec![Key::Escape, Key::Escape]] {
        for key in keys {
            state.press(key);
        }
        for (width, height) in [(1, 1), (5, 3), (30, 2), (79, 6), (400, 100)] {
            screen(&state, width, height);
        }
    }
}

/// A terminal without Unicode showed the bars and the arrow of the order as question marks or as several letters each, and
/// every column behind them was out of place.
#[test]
fn a_terminal_without_unicode_gets_ascii_in_the_same_places() {
    let mut state = busy();
    for keys in [vec![], vec![Key::Enter]] {
        for key in keys {
            state.press(key);
        }
        state.set_unicode(true);
        let usual = screen(&state, 80, 24);
        state.set_unicode(false);
        let plain = screen(&state, 80, 24);
        assert!(plain.is_ascii(), "{plain}");
        let lengths = |screen: &str| screen.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(lengths(&plain), lengths(&usual));
        assert!(plain.contains('#') && !plain.contains("??"), "bars have heights: {plain}");
    }
    assert!(screen(&busy_in_ascii(), 80, 24).contains("queuev"), "the arrow of the order");
}

fn busy_in_ascii() -> TopState {
    let mut state = busy();
    state.set_unicode(false);
    state
}
