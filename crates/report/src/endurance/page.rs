//! The sections about drives: the answer in words, its routes, and what was read.

use iostall_model::drive::{Converted, CountedBytes, DriveState, Endurance, WearInterval};
use iostall_model::warning::Rank;
use iostall_watch::{EnduranceReport, Judged, RatedLife};

use crate::format::{NONE, count, shown};
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::{warnings, zone};

/// More lines of a table are read in the CSV.
const INTERVALS_SHOWN: usize = 12;
/// Routes further apart than this share no answer.
const SPREAD_LARGE: f64 = 2.0;

pub fn title(report: &EnduranceReport) -> String {
    match report.drives.as_slice() {
        [] => "drive endurance: a rating".to_owned(),
        [one] => format!("drive endurance: {}", name(one)),
        many => format!("drive endurance: {} drives", count(many.len() as u64)),
    }
}

fn name(one: &Endurance) -> String {
    let both = [one.drive.model.as_str(), one.drive.serial.as_str()];
    shown(&both.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}

pub fn sections(report: &EnduranceReport) -> Vec<Section> {
    let mut sections: Vec<Section> = report.drives.iter().map(section).collect();
    if let (true, Some(converted)) = (sections.is_empty(), &report.converted) {
        let facts = spellings(converted);
        let notes = report.planned.iter().map(life_of_rating).collect();
        sections.push(Section { layout: Layout::Facts, notes, facts, ..Section::titled("Rating") });
    }
    if !report.judged.is_empty() {
        let notes = report.judged.iter().map(judged).collect();
        sections.push(Section { notes, ..Section::titled("Required") });
    }
    if !report.left_out.is_empty() {
        let notes = report.left_out.iter().map(|said| Note::caution(shown(said))).collect();
        sections.push(Section { notes, ..Section::titled("Left out") });
    }
    sections
}

fn life_of_rating(life: &RatedLife) -> Note {
    let each = rate(Some(life.of_each_drive));
    let array = life
        .raid
        .map(|raid| format!(", which {} on {raid} write to each drive", rate(Some(life.bytes_per_day))));
    Note::strong(format!("It lasts {} at {each}{}.", time(Some(life.days)), array.unwrap_or_default()))
}

fn judged(one: &Judged) -> Note {
    let drive = if one.drive.is_empty() { String::new() } else { format!("{}: ", shown(&one.drive)) };
    let limit = shown(&one.limit);
    match one.is_met {
        Some(true) => Note::plain(format!("{drive}{limit} is met.")),
        Some(false) => Note::bad(format!("{drive}{limit} is missed.")),
        None => Note::caution(format!("{drive}{limit} cannot be judged: the drive does not say enough.")),
    }
}

fn section(one: &Endurance) -> Section {
    let tables = if one.intervals.is_empty() { Vec::new() } else { vec![intervals(&one.intervals)] };
    Section {
        notes: notes(one),
        results: Some(routes(one)),
        tables,
        facts: of(one),
        ..Section::titled(name(one))
    }
}

fn notes(one: &Endurance) -> Vec<Note> {
    let mut notes = Vec::new();
    match one.state {
        DriveState::Failing => notes.push(Note::bad("The drive reports a failure: replace it.")),
        DriveState::Worn => {
            notes.push(Note::bad(
                "The drive has used up what it was made for, or its spare blocks: replace it.",
            ));
        }
        DriveState::Healthy => {}
    }
    if let Some(why) = &one.too_thin {
        notes.push(Note::caution(format!("Too thin for a projection: {why}.")));
    }
    if let Some((answer, days)) = one.answer.as_ref().and_then(|answer| Some((answer, answer.days?))) {
        let latest = days.latest.map_or_else(|| "no end".to_owned(), |days| time(Some(days)));
        let (likely, earliest) = (time(Some(days.likely)), time(Some(days.earliest)));
        let powered = if answer.is_powered_time { " powered on" } else { "" };
        let text = match answer.name.name() {
            by if days.likely <= 0.0 => format!("It is used up, by {by}."),
            by => format!("It lasts {likely}{powered}, by {by} ({earliest} to {latest})."),
        };
        notes.push(Note::strong(text));
    }
    if let Some(spread) = one.spread.filter(|spread| *spread > SPREAD_LARGE) {
        notes.push(Note::caution(format!(
            "The routes are {spread:.1} times apart: the earliest counts, and the reason is worth a look."
        )));
    }
    for warning in warnings::by_rank(&one.warnings) {
        let text = match &warning.hint {
            Some(hint) => format!("{}. {hint}.", warnings::in_a_line(warning)),
            None => format!("{}.", warnings::in_a_line(warning)),
        };
        let is_note = warning.code.rank() == Rank::Note;
        notes.push(if is_note { Note::plain(text) } else { Note::caution(text) });
    }
    notes
}

fn routes(one: &Endurance) -> Table {
    let columns = vec![
        Column::words("by"),
        Column::numbers("left"),
        Column::numbers("at least").droppable(2),
        Column::numbers("at most").droppable(1),
        Column::words("from"),
    ];
    let mut table = Table::new("Life that is left", columns);
    for route in &one.routes {
        let days = route.days;
        let is_answer = one.answer.as_ref().is_some_and(|answer| answer.name == route.name);
        let severity = if is_answer { Severity::Strong } else { Severity::Plain };
        table.row(vec![
            TableCell::from(route.name.name()).severity(severity),
            TableCell::from(time(days.map(|days| days.likely))).severity(severity),
            TableCell::from(time(days.map(|days| days.earliest))),
            TableCell::from(time(days.and_then(|days| days.latest))),
            TableCell::from(shown(&route.basis)),
        ]);
    }
    table
}

fn intervals(all: &[WearInterval]) -> Table {
    let columns = vec![
        Column::words(&zone::heading("from")),
        Column::words("to"),
        Column::numbers("hosts wrote"),
        Column::numbers("a day"),
        Column::numbers("to the flash").droppable(1),
        Column::numbers("amplification"),
        Column::numbers("used").droppable(2),
    ];
    let mut table = Table::new("Between the readings", columns);
    let left_out = all.len().saturating_sub(INTERVALS_SHOWN);
    for one in &all[left_out..] {
        let host = one.host_bytes.map(|bytes| bytes as f64);
        table.row(vec![
            TableCell::from(zone::column(one.from_utc)),
            TableCell::from(zone::column(one.to_utc)),
            TableCell::from(bytes(host)),
            TableCell::from(rate(host.map(|bytes| bytes / one.days()))),
            TableCell::from(bytes(one.nand_bytes.map(|bytes| bytes as f64))),
            TableCell::from(
                one.write_amplification.map_or_else(|| NONE.to_owned(), |ratio| format!("{ratio:.2}")),
            ),
            TableCell::from(one.used_percent.map_or_else(|| NONE.to_owned(), |used| format!("+{used} %"))),
        ]);
    }
    if left_out > 0 {
        table.note(&format!("the newest {INTERVALS_SHOWN} of {}; --csv has all.", count(all.len() as u64)));
    }
    table
}

pub(super) fn of(one: &Endurance) -> Vec<Fact> {
    let (drive, wear) = (&one.drive, &one.wear);
    let mut facts = Vec::new();
    let mut add =
        |label: &str, value: Option<String>| facts.extend(value.map(|value| Fact::new(label, value)));
    add("known by", drive.place.as_deref().map(shown));
    add("family", drive.family.as_deref().map(shown));
    add("firmware", drive.firmware.as_deref().map(shown));
    add("capacity", drive.capacity_bytes.map(|capacity| bytes(Some(capacity as f64))));
    add("powered on", wear.power_on_hours.map(|hours| format!("{} hours", count(hours))));
    add("written by hosts", wear.host.as_ref().map(counted));
    add("written to the flash", wear.nand.as_ref().map(counted));
    let amplification = one.write_amplification.as_ref();
    add("write amplification", amplification.map(|found| format!("{:.2}, {}", found.value, found.basis)));
    add("used", wear.used.as_ref().map(|used| format!("{} %, {}", used.percent, shown(&used.origin))));
    add("spare", spare(one));
    add("blocks erased", wear.erase_cycles.map(|cycles| format!("{} times in the mean", count(cycles))));
    add("media errors", wear.media_errors.map(count));
    let expected = one.expected.as_ref();
    add("expected writes", expected.map(|found| format!("{}, {}", rate(Some(found.value)), found.basis)));
    add("over its life", one.rates.life.map(|life| rate(Some(life))));
    add("busiest day", one.rates.peak_day.map(|peak| rate(Some(peak))));
    add(
        "implied by its percentage",
        one.implied_bytes.map(|[likely, least, most]| {
            format!("{} in all ({} to {})", bytes(Some(likely)), bytes(Some(least)), bytes(Some(most)))
        }),
    );
    if let Some(rating) = &one.rating {
        let workload =
            rating.workload.as_ref().map(|words| format!(", for {}", shown(words))).unwrap_or_default();
        add("rating from", Some(format!("{}{workload}", shown(&rating.origin))));
    }
    facts.extend(one.converted.iter().flat_map(spellings));
    facts
}

pub(super) fn spellings(converted: &Converted) -> Vec<Fact> {
    let years = format!("over {} years of 365 days", converted.years);
    let mut facts = vec![
        Fact::new("rated", format!("{} {years}", bytes(Some(converted.written_bytes)))),
        Fact::new("rated a day", rate(Some(converted.bytes_per_day))),
    ];
    facts.extend(
        converted
            .drive_writes_per_day
            .map(|drives| Fact::new("rated drive writes a day", format!("{drives:.3}"))),
    );
    facts
}

fn counted(counted: &CountedBytes) -> String {
    format!("{}, {}", bytes(Some(counted.bytes as f64)), shown(&counted.origin))
}

fn spare(one: &Endurance) -> Option<String> {
    let left = one.wear.spare_percent?;
    // Drives that count no spare blocks report 0 of 0.
    match one.wear.spare_threshold_percent {
        Some(0) if left == 0 => None,
        Some(threshold) => Some(format!("{left} %, and it warns at {threshold} %")),
        None => Some(format!("{left} %")),
    }
}

const YEAR_DAYS: f64 = 365.0;

/// `3.62 TB`.
pub(super) fn bytes(bytes: Option<f64>) -> String {
    let Some(bytes) = bytes.filter(|bytes| bytes.is_finite()) else { return NONE.to_owned() };
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= unit * 0.9995) {
        Some((unit, name)) => format!("{} {name}", digits(bytes / unit)),
        None => format!("{bytes:.0} B"),
    }
}

/// `21.0 GB/day`.
pub(super) fn rate(per_day: Option<f64>) -> String {
    per_day.map_or_else(|| NONE.to_owned(), |rate| format!("{}/day", bytes(Some(rate))))
}

/// `2.3 years`, `45 days`, `3 hours`.
pub(super) fn time(days: Option<f64>) -> String {
    match days.filter(|days| days.is_finite()) {
        None => NONE.to_owned(),
        Some(days) if days > 1_000.0 * YEAR_DAYS => "over 1,000 years".to_owned(),
        Some(days) if days >= 2.0 * YEAR_DAYS => format!("{:.1} years", days / YEAR_DAYS),
        Some(days) if days >= 2.0 => format!("{days:.0} days"),
        Some(days) if days > 0.0 => format!("{:.0} hours", days * 24.0),
        Some(_) => "nothing".to_owned(),
    }
}

fn digits(value: f64) -> String {
    match value {
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
