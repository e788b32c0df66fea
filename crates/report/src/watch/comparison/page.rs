//! A comparison as sections, with the same layout in text and HTML.

use iostall_watch::windows::{Group, Overall, Pair, Presence, Values, WatchComparison, WatchReport};
use jiff::Unit;

use crate::format::{NONE, percent, shown};
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::watch::columns::{Figures, NUMBERS, Number, ROOM, maybe_short, short, stall_is};
use crate::watch::page::{COVERAGE_ENOUGH, level_word};
use crate::watch::sentences;
use crate::zone::timestamp;

pub fn title(comparison: &WatchComparison) -> String {
    format!("{}, two windows held against each other", level_word(comparison.after.window.level))
}

pub fn sections(comparison: &WatchComparison) -> Vec<Section> {
    let pairs = comparison.pairs(ROOM);
    let overall = comparison.overall();
    let mut sections = vec![windows(comparison)];
    for source in comparison.sources() {
        let (idle, busy): (Vec<&Pair<'_>>, Vec<&Pair<'_>>) =
            pairs.iter().filter(|pair| pair.key.source == source).partition(|pair| pair.is_idle());
        if idle.is_empty() && busy.is_empty() {
            continue;
        }
        let whole = overall.iter().filter(|one| one.source == source).map(whole_sentence);
        let mut notes: Vec<Note> = whole.collect();
        notes.extend(only_in_one(&busy));
        if !idle.is_empty() {
            notes.push(Note::plain(format!("no I/O in either window: {}", names(&idle))));
        }
        sections.push(Section {
            notes,
            tables: if busy.is_empty() { Vec::new() } else { vec![table(comparison, &busy)] },
            ..Section::titled(shown(source))
        });
    }
    sections
}

fn windows(comparison: &WatchComparison) -> Section {
    let mut notes = Vec::new();
    for (word, report) in [("before", &comparison.before), ("after", &comparison.after)] {
        let length = report.to.duration_since(report.from);
        let length = length.round(Unit::Second).unwrap_or(length);
        let (from, to) = (timestamp(report.from), timestamp(report.to));
        notes.push(Note::plain(format!("{word}: {from} to {to}, {length:#}")));
        notes.extend(report.sources.iter().flat_map(|source| {
            let said = sentences(source).into_iter();
            let name = shown(&source.name);
            let notes = said.map(move |said| Note::caution(format!("{word} ({name}): {said}")));
            std::iter::once(coverage(word, report, &source.name)).chain(notes)
        }));
    }
    Section { notes, ..Section::titled("Windows") }
}

fn coverage(word: &str, report: &WatchReport, source: &str) -> Note {
    let share = report.coverage(source);
    let said = format!("{word} ({}): samples cover {} of the window", shown(source), percent(share));
    if share < COVERAGE_ENOUGH {
        return Note::caution(format!("{said}: the rest may have been otherwise"));
    }
    Note::plain(said)
}

fn whole_sentence(one: &Overall) -> Note {
    let ms = |ns: Option<f64>| ns.map_or_else(|| NONE.to_owned(), |ns| format!("{} ms", short(ns / 1e6)));
    let part = match one.ops_share {
        share if share > 0.999 => String::new(),
        share => format!(", for the {} of its I/O that is in both windows", percent(share)),
    };
    Note::strong(format!(
        "{}: stall per I/O {} before, {} after ({}), every file's reads and writes weighted as before{part}",
        one.kind,
        ms(one.stall_ns.before),
        ms(one.stall_ns.after),
        change_pct(one.stall_ns),
    ))
}

fn only_in_one(pairs: &[&Pair<'_>]) -> Vec<Note> {
    let alone = |presence: Presence| {
        let there: Vec<&Pair<'_>> =
            pairs.iter().filter(|pair| pair.presence() == presence).copied().collect();
        let said = || format!("in the window {} alone: {}", word(presence), names(&there));
        (!there.is_empty()).then(|| Note::caution(said()))
    };
    [alone(Presence::Before), alone(Presence::After)].into_iter().flatten().collect()
}

fn names(pairs: &[&Pair<'_>]) -> String {
    pairs.iter().map(|pair| shown(&pair.key.name)).collect::<Vec<_>>().join(", ")
}

fn change_pct(values: Values) -> String {
    values.change_pct().map_or_else(|| NONE.to_owned(), |pct| format!("{} %", signed(pct)))
}

fn signed(value: f64) -> String {
    let size = short(value.abs());
    match value {
        _ if size.starts_with('<') => size,
        value if value > 0.0 => format!("+{size}"),
        value if value < 0.0 => format!("-{size}"),
        _ => size,
    }
}

fn table(comparison: &WatchComparison, pairs: &[&Pair<'_>]) -> Table {
    let mut table = Table::new(
        "Where stall grew most first",
        vec![
            Column::words("number"),
            Column::numbers("before"),
            Column::numbers("after"),
            Column::numbers("change"),
            Column::numbers("change %"),
        ],
    );
    for pair in pairs {
        let presence = match pair.presence() {
            Presence::Both => String::new(),
            presence => format!(", in the window {} alone", word(presence)),
        };
        table.group(
            shown(&pair.key.name),
            format!("{}, stall: {}{presence}", pair.key.kind, stall_is(pair.key.kind).unwrap_or("not told")),
        );
        for number in compared() {
            let both = values(pair, number);
            if both != Values::default() {
                table.row(cells(number.head.unwrap_or(number.name), both, Severity::Plain));
            }
        }
        let at_mix = pair.stall_ms_at_mix();
        if at_mix != Values::default() {
            table.row(cells("ms/io at the mix of before", at_mix, Severity::Strong));
        }
        let covered = pair.covered_pct(comparison);
        let enough = |pct: Option<f64>| pct.is_none_or(|pct| pct >= COVERAGE_ENOUGH * 100.0);
        let severity =
            if enough(covered.before) && enough(covered.after) { Severity::Plain } else { Severity::Caution };
        table.row(vec![
            TableCell::from("% of the window covered").severity(severity),
            maybe_short(covered.before).into(),
            maybe_short(covered.after).into(),
            "".into(),
            "".into(),
        ]);
        if let Some(note) = pair.key.kind.note() {
            table.note(&format!("{}: {note}", pair.key.kind));
        }
    }
    table
}

fn cells(name: &str, values: Values, severity: Severity) -> Vec<TableCell> {
    vec![
        TableCell::from(name).severity(severity),
        maybe_short(values.before).into(),
        maybe_short(values.after).into(),
        values.change().map_or_else(|| NONE.to_owned(), signed).into(),
        values.change_pct().map_or_else(|| NONE.to_owned(), signed).into(),
    ]
}

const COMPARED: [&str; 12] = [
    "reads_per_s",
    "writes_per_s",
    "read_mib_per_s",
    "write_mib_per_s",
    "stall_ms_per_read",
    "stall_ms_per_write",
    "stall_ms_per_io",
    "stall_ms_per_s",
    "syncs_per_s",
    "stall_ms_per_sync",
    "io_kib_mean",
    "queue_depth_mean",
];

pub(super) fn compared() -> impl Iterator<Item = &'static Number> {
    NUMBERS.iter().filter(|number| COMPARED.contains(&number.name))
}

pub(super) fn values(pair: &Pair<'_>, number: &Number) -> Values {
    let of = |group: Option<&Group>| (number.value)(&Figures { key: pair.key, group: group? });
    Values { before: of(pair.before), after: of(pair.after) }
}

pub(super) fn word(presence: Presence) -> &'static str {
    match presence {
        Presence::Both => "both",
        Presence::Before => "before",
        Presence::After => "after",
    }
}

#[cfg(test)]
mod tests {
    use iostall_watch::windows::fixture;

    use super::*;
    use crate::{TextOptions, write_sections};

    #[test]
    fn the_comparison_of_two_windows_reads_so() {
        let comparison = fixture::comparison();
        let mut out = String::new();
        write_sections(&title(&comparison), &sections(&comparison), &TextOptions::default(), &mut out)
            .unwrap();
        insta::assert_snapshot!(out);
    }

    #[test]
    fn what_is_in_one_window_alone_has_no_change() {
        let comparison = fixture::comparison();
        let pairs = comparison.pairs(usize::MAX);
        let gone = pairs.iter().find(|pair| pair.presence() == Presence::Before).unwrap();
        assert!(compared().all(|number| values(gone, number).change().is_none()));
    }
}
