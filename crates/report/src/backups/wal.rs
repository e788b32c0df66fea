//! What is in an archive of PostgreSQL's log, and how far it brings backups.

use iostall_model::wal_archive::{WalGap, WalListing, WalReach, WalSet};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::catalog::id;
use crate::format::{NONE, bytes, count, shown};
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::{column, heading};

pub fn wal_sections(listing: &WalListing) -> Vec<Section> {
    let mut sections = vec![Section {
        facts: facts(listing),
        results: (!listing.ranges.is_empty()).then(|| ranges(listing)),
        tables: broken(listing).into_iter().collect(),
        notes: notes(listing),
        layout: Layout::Facts,
        ..Section::default()
    }];
    if !listing.sets.is_empty() {
        sections.push(Section {
            results: Some(sets(&listing.sets)),
            layout: Layout::Figures,
            ..Section::default()
        });
    }
    sections
}

pub fn wal_json(listing: &WalListing) -> Value {
    let mut value = json!(listing);
    value["is_good"] = json!(listing.is_good());
    value
}

fn facts(listing: &WalListing) -> Vec<Fact> {
    let checked =
        if listing.is_checked { "every byte was read" } else { "headers were read (--check reads all)" };
    vec![
        Fact::new("archive", shown(&listing.directory)),
        Fact::new(
            "cluster",
            format!("{}, segments of {}", shown(&listing.system_identifier), bytes(listing.segment_bytes)),
        ),
        Fact::new(
            "holds",
            format!("{} files, {}; {checked}", count(listing.files), bytes(listing.stored_bytes)),
        ),
    ]
}

fn time(at: Option<Timestamp>) -> String {
    at.map_or_else(|| NONE.to_owned(), column)
}

fn ranges(listing: &WalListing) -> Table {
    let (from, to) = (heading("from"), heading("to"));
    let columns = vec![
        Column::numbers("timeline"),
        Column::words("first segment"),
        Column::words("last segment"),
        Column::numbers("segments"),
        Column::numbers("stored").droppable(2),
        Column::words("from LSN").droppable(1),
        Column::words("to LSN"),
        Column::words(&from).droppable(1),
        Column::words(&to),
    ];
    let mut table = Table::new("Segments without a gap", columns);
    for range in &listing.ranges {
        table.row(vec![
            TableCell::from(range.timeline.to_string()),
            TableCell::from(shown(&range.first)),
            TableCell::from(shown(&range.last)),
            TableCell::from(count(range.segments)),
            TableCell::from(bytes(range.stored_bytes)),
            TableCell::from(shown(&range.from_lsn)),
            TableCell::from(shown(&range.to_lsn)),
            TableCell::from(time(range.from_utc)),
            TableCell::from(time(range.to_utc)),
        ]);
    }
    table
}

fn broken(listing: &WalListing) -> Option<Table> {
    if listing.gaps.is_empty() && listing.damaged.is_empty() {
        return None;
    }
    let mut table = Table::new("Missing and damaged", vec![Column::words("what"), Column::words("where")]);
    for gap in &listing.gaps {
        table.row(vec![TableCell::from("GAP").severity(Severity::Bad), TableCell::from(missing(gap))]);
    }
    for damage in &listing.damaged {
        let place = format!("{}: {}", shown(&damage.file), shown(&damage.wrong));
        table.row(vec![TableCell::from("DAMAGED").severity(Severity::Bad), TableCell::from(place)]);
    }
    Some(table)
}

fn missing(gap: &WalGap) -> String {
    match gap.segments {
        1 => format!("{} is missing", shown(&gap.first)),
        many => {
            let (first, last) = (shown(&gap.first), shown(&gap.last));
            format!("{first} to {last} are missing, {} segments", count(many))
        }
    }
}

fn sets(sets: &[WalSet]) -> Table {
    let (ended, until) = (heading("from"), heading("to"));
    let columns = vec![
        Column::words("set"),
        Column::words("source").droppable(1),
        Column::words(&ended),
        Column::words("from LSN").droppable(2),
        Column::numbers("timeline"),
        Column::words(&until),
        Column::words("to LSN"),
        Column::words("then"),
    ];
    let mut table = Table::new("Points in time that backups can be brought to", columns);
    for set in sets {
        let begin = || {
            vec![
                TableCell::from(id(&set.set)),
                TableCell::from(shown(&set.source)),
                TableCell::from(time(set.ended_utc)),
                TableCell::from(shown(&set.stop_lsn)),
            ]
        };
        if set.reaches.is_empty() {
            let why = set.wrong.as_deref().unwrap_or("no segment of its timeline is in the archive");
            let (timeline, none) = (TableCell::from(set.timeline.to_string()), || TableCell::from(NONE));
            let why = TableCell::from(shown(why)).severity(Severity::Bad);
            table.row([begin(), vec![timeline, none(), none(), why]].concat());
        }
        for reach in &set.reaches {
            table.row([begin(), way(reach)].concat());
        }
    }
    table
}

fn way(reach: &WalReach) -> Vec<TableCell> {
    let then = match &reach.gap {
        Some(gap) => TableCell::from(missing(gap)).severity(Severity::Bad),
        None => TableCell::from("the end of the archive"),
    };
    vec![
        TableCell::from(reach.timeline.to_string()),
        TableCell::from(time(reach.to_utc)),
        TableCell::from(shown(&reach.to_lsn)),
        then,
    ]
}

fn notes(listing: &WalListing) -> Vec<Note> {
    if listing.is_good() {
        return Vec::new();
    }
    vec![Note::bad(
        "A recovery ends at what is missing or damaged. Where the server still has the segment (pg_wal), archive it again; \
         otherwise make a new backup now: it needs nothing of what was before it.",
    )]
}
