//! The groups of a window as sections, with the same layout in text and HTML.

use iostall_model::{Level, Warning};
use iostall_watch::windows::{GapRun, Order, SourceHistory, Unread, WatchReport};

use super::backups;
use super::columns::{Figures, NUMBERS, ROOM};
use crate::format::{percent, shown};
use crate::judgement::STALL_SCALE;
use crate::notes::{note_sentence, notes_with_room};
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::timestamp;

/// With less coverage, the numbers may not be representative of the window.
pub(super) const COVERAGE_ENOUGH: f64 = 0.9;

pub fn title(report: &WatchReport) -> String {
    format!("{}, {} to {}", heading(report), timestamp(report.from), timestamp(report.to))
}

pub fn heading(report: &WatchReport) -> &'static str {
    level_word(report.window.level)
}

pub(super) fn level_word(level: Level) -> &'static str {
    match level {
        Level::Files => "Files",
        Level::Databases => "Databases",
        Level::Volumes => "Volumes",
        Level::Server => "Servers",
    }
}

/// One section per source; the one with the worst group first.
pub fn sections(report: &WatchReport) -> Vec<Section> {
    let all = report.shown(ROOM);
    let shown: Vec<_> = all.groups.iter().map(|(key, group)| Figures { key, group }).collect();
    let mut sources: Vec<&str> = Vec::new();
    for figure in &shown {
        if !sources.contains(&figure.key.source.as_str()) {
            sources.push(&figure.key.source);
        }
    }
    // A source without numbers is listed with the reasons.
    let silent = report.sources.iter().filter(|source| !sentences(source).is_empty());
    for source in silent {
        let has_numbers = report.window.groups.keys().any(|key| key.source == source.name);
        if !has_numbers {
            sources.push(&source.name);
        }
    }
    let section = |source: &&str| {
        let of_source: Vec<Figures<'_>> =
            shown.iter().filter(|figure| figure.key.source == **source).copied().collect();
        let history = report.sources.iter().find(|history| history.name == **source);
        Section {
            notes: notes(report, source, history, &of_source),
            tables: tables(report, history, &of_source, all.left_out.get(source).copied().unwrap_or(0)),
            ..Section::titled(crate::format::shown(source))
        }
    };
    sources.iter().map(section).chain(crate::verdicts::section(&report.verdicts)).collect()
}

fn tables(
    report: &WatchReport,
    history: Option<&SourceHistory>,
    shown: &[Figures<'_>],
    left_out: usize,
) -> Vec<Table> {
    let groups = (!shown.is_empty()).then(|| table(shown, left_out, report.order));
    // Backups are of databases.
    let is_of_databases = matches!(report.window.level, Level::Databases | Level::Server);
    let ages = history.and_then(|history| history.backups.as_ref()).filter(|_| is_of_databases);
    groups.into_iter().chain(ages.map(backups::table)).collect()
}

fn notes(
    report: &WatchReport,
    source: &str,
    history: Option<&SourceHistory>,
    shown: &[Figures<'_>],
) -> Vec<Note> {
    let mut notes = Vec::new();
    let coverage = report.coverage(source);
    if coverage < COVERAGE_ENOUGH {
        notes.push(Note::caution(format!("samples cover {} of the window", percent(coverage))));
    }
    for figure in shown {
        let (name, group) = (crate::format::shown(&figure.key.name), figure.group);
        if group.over_ns > 0 {
            let (all_s, longest_s) = (group.over_ns / 1_000_000_000, group.over_ns_longest / 1_000_000_000);
            let text =
                format!("{name}: over the threshold for {all_s} s, {longest_s} s of it without a break");
            notes.push(Note::strong(text));
        }
        if figure.is_doubtful() {
            notes.push(Note::caution(format!("{name}: not counted: {}", figure.resets())));
        }
    }
    let said = history.map(sentences).unwrap_or_default();
    notes.extend(said.into_iter().map(Note::caution));
    notes
}

fn table(figures: &[Figures<'_>], left_out: usize, order: Order) -> Table {
    let mut kinds: Vec<_> = figures.iter().map(|figure| figure.key.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let is_mixed = kinds.len() > 1;
    let numbers: Vec<_> = NUMBERS.iter().filter(|number| number.is_in_table_of(figures)).collect();
    let mut columns = vec![Column::words("name")];
    if is_mixed {
        columns.push(Column::words("kind").droppable(1));
    }
    for number in &numbers {
        let column = Column::numbers(number.head.unwrap_or(number.name));
        // Dashes make room first.
        let rank = if number.is_empty_in(figures) { Some(0) } else { number.drop_rank.map(|rank| rank + 1) };
        columns.push(match rank {
            Some(rank) => column.droppable(rank),
            None => column,
        });
    }
    let is_timed = figures.iter().any(|figure| figure.group.totals.stall_ns().is_some());
    let title = match order {
        Order::StallTime | Order::StallPerIo if !is_timed => "Most bytes first: no time is told here",
        Order::StallTime => "Most time waited first",
        Order::StallPerIo => "Longest stall per I/O first, those with enough I/O before the others",
    };
    let mut table = Table::new(title, columns);
    for figure in figures {
        let mut cells: Vec<TableCell> = vec![shown(&figure.key.name).into()];
        if is_mixed {
            cells.push(figure.key.kind.name().into());
        }
        let doubtful = if figure.is_doubtful() { Severity::Caution } else { Severity::Plain };
        cells[0].severity = doubtful;
        cells.extend(numbers.iter().map(|number| number.cell(figure)));
        table.row(cells);
    }
    if table.has_marks() {
        table.note(STALL_SCALE);
    }
    if left_out > 0 {
        table.note(&format!("and {left_out} more: --top N shows more of them"));
    }
    for kind in kinds {
        if let Some(note) = kind.note() {
            table.note(&format!("{kind}: {note}"));
        }
    }
    table
}

/// As many notes as can be read before the numbers.
const NOTES_SHOWN: usize = 20;

/// Resolution of the numbers, gaps, and what the source could not read, one sentence each.
pub fn sentences(history: &SourceHistory) -> Vec<String> {
    let days = history
        .days_until
        .map(|until| format!("day by day up to {}: maxima are those of whole days", timestamp(until)));
    let hours = history
        .hours_until
        .map(|until| format!("hour by hour up to {}: maxima are those of whole hours", timestamp(until)));
    let (with_room, left_out) = notes_with_room(&history.notes, NOTES_SHOWN);
    let left_out =
        (left_out > 0).then(|| format!("{left_out} more notes: the page of --html has more of them"));
    let notes = with_room.into_iter().map(note_sentence).chain(left_out);
    let gaps = history.gap_runs().into_iter().map(|run| of_gaps(&run));
    let unread = history.unread.iter().map(|unread| of_unread(unread, history.why_unread(unread)));
    // The reason why a database was not read is shown together with the times.
    let is_said = |warning: &&Warning| {
        history.unread.iter().any(|unread| history.why_unread(unread).is_some_and(|why| why == *warning))
    };
    let warnings =
        history.warnings.iter().filter(|warning| !is_said(warning)).map(|warning| shown(&warning.message));
    days.into_iter().chain(hours).chain(notes).chain(gaps).chain(unread).chain(warnings).collect()
}

fn of_unread(unread: &Unread, why: Option<&Warning>) -> String {
    let what = why.map_or_else(
        || format!("database {} was not read", shown(&unread.database)),
        |warning| shown(&warning.message),
    );
    let (first, last) = (timestamp(unread.first), timestamp(unread.last));
    if unread.missed == 1 {
        return format!("1 sample, at {first}, without it: {what}");
    }
    format!("{} samples, from {first} to {last}, without it: {what}", unread.missed)
}

fn of_gaps(run: &GapRun) -> String {
    let (reason, at, missed) = (shown(&run.gap.reason), timestamp(run.gap.at), run.gap.missed);
    let samples = if missed == 1 { "sample" } else { "samples" };
    if run.until == run.gap.at {
        return format!("{missed} missed {samples} at {at}: {reason}");
    }
    format!("{missed} missed {samples} from {at} to {}: {reason}", timestamp(run.until))
}

pub fn reasons(sources: &[SourceHistory]) -> String {
    let line = |source: &SourceHistory, said: &str| format!("\n  {}: {said}", shown(&source.name));
    sources
        .iter()
        .flat_map(|source| sentences(source).into_iter().map(move |said| line(source, &said)))
        .collect()
}

#[cfg(test)]
mod tests {
    use iostall_model::{Counter, Gap};
    use iostall_watch::windows::fixture;
    use jiff::Timestamp;

    use super::*;
    use crate::{TextOptions, write_sections};

    fn text() -> String {
        text_of(&fixture::report())
    }

    fn text_of(report: &WatchReport) -> String {
        let mut out = String::new();
        let options = TextOptions { width: 300, ..TextOptions::default() };
        write_sections(&title(report), &sections(report), &options, &mut out).unwrap();
        out
    }

    /// The story: at the usual width six columns of dashes stayed, and the bytes and the kind went.
    #[test]
    fn columns_that_are_empty_for_all_rows_make_room_first() {
        let mut report = fixture::report();
        for group in report.window.groups.values_mut() {
            for counter in [Counter::ReadStall, Counter::WriteStall, Counter::SyncStall] {
                group.totals.amounts.unset(counter);
            }
            group.stall_ns_max = None;
        }
        let mut out = String::new();
        let options = TextOptions { width: 80, ..TextOptions::default() };
        write_sections(&title(&report), &sections(&report), &options, &mut out).unwrap();
        let head = out.lines().find(|line| line.contains("reads/s")).unwrap();
        assert!(!head.contains("ms/write") && head.contains("KiB/io"), "{out}");
        assert!(!out.contains("Most time waited first"), "{out}");
    }

    #[test]
    fn what_was_not_told_is_a_dash_and_what_is_small_is_not_zero() {
        let text = text();
        let line = text.lines().find(|line| line.trim_start().starts_with("./shop/t.ibd")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "./shop/t.ibd",
                "mysql-file",
                "0.00",
                "0.500",
                "–",
                "0.008",
                "–",
                "0.200",
                "0.200",
                "0.200",
                "0.100",
                "16.0",
                "<0.001",
                "–",
                "–"
            ]
        );
        assert!(text.contains("only the submission is timed"));
    }

    #[test]
    fn a_source_without_a_number_is_there_with_the_reason() {
        let mut report = fixture::report();
        let silent = SourceHistory { name: "mysql://db2:3306".into(), ..report.sources[0].clone() };
        report.sources.push(silent);
        let sections = sections(&report);
        let last = sections.last().unwrap();
        assert_eq!((last.title.as_str(), last.tables.len()), ("mysql://db2:3306", 0));
        assert!(last.notes.iter().any(|note| note.text.contains("timed out")));
    }

    #[test]
    fn a_report_says_how_much_of_its_window_is_covered_and_what_was_not_counted() {
        let text = text();
        assert!(text.contains("samples cover"), "{text}");
        assert!(text.contains("E:\\data\\a.mdf: not counted: restart 1"), "{text}");
        assert!(text.contains("1 missed sample at 2026-11-21 10:04:00 UTC: timed out"), "{text}");
        assert!(text.contains("% of vol I/O"), "{text}");
    }

    /// Syncs, what the governor added and sizes were sampled, and in no report.
    #[test]
    fn syncs_the_governor_and_sizes_are_shown_where_there_are_any() {
        use iostall_model::{Change, Counter, Totals};
        use iostall_watch::windows::{Grain, Interval};
        assert!(!text().contains("ms/sync") && !text().contains("governor") && !text().contains("size MiB"));
        let mut report = fixture::report();
        let second = |second: i64| report.from + jiff::SignedDuration::from_secs(second);
        let mut add = |begin: i64, mib: u64| {
            let mut row = fixture::row("E:\\data\\log.ldf", Some("E:\\"));
            row.counters.set(Counter::SizeBytes, mib << 20);
            let Change::Delta(Totals { covered_ns, amounts }) = fixture::delta(60, 600, 600) else {
                panic!()
            };
            let amounts = amounts
                .with(Counter::Syncs, 60)
                .with(Counter::SyncStall, 78_000_000)
                .with(Counter::QueuedReadStall, 330_000_000);
            let rows = vec![(row, Change::Delta(Totals { covered_ns, amounts }))];
            let (start, end) = (second(begin), second(begin + 60));
            report.window.add(fixture::SOURCE, &Interval { start, end, rows, grain: Grain::Samples });
        };
        add(0, 100);
        add(60, 612);
        let text = text_of(&report);
        for head in ["syncs/s", "ms/sync", "governor ms/io", "size MiB", "growth MiB"] {
            assert!(text.contains(head), "{head}: {text}");
        }
        let line = text.lines().find(|line| line.trim_start().starts_with("E:\\data\\log.ldf")).unwrap();
        // 78 ms for 60 syncs, 330 ms for 660 reads and writes.
        for number in ["1.30!", "0.500", "612", "512"] {
            assert!(line.split_whitespace().any(|word| word == number), "{number}: {line}");
        }
    }

    #[test]
    fn an_hour_without_an_answer_is_one_sentence() {
        let gap = |second: i64, reason: &str| {
            let at = Timestamp::from_second(second).unwrap();
            Gap { at, missed: 1, reason: reason.into() }
        };
        let gaps = vec![gap(0, "refused"), gap(10, "refused"), gap(20, "refused"), gap(30, "timed out")];
        let history = SourceHistory { name: "db".into(), gaps, ..SourceHistory::default() };
        assert_eq!(
            sentences(&history),
            [
                "3 missed samples from 1970-01-01 00:00:00 UTC to 1970-01-01 00:00:20 UTC: refused",
                "1 missed sample at 1970-01-01 00:00:30 UTC: timed out",
            ]
        );
    }
}
