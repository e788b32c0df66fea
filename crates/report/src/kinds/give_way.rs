//! How a transfer gave way to a database.

use iostall_model::give_way::{Decision, GiveWay, Why};
use iostall_model::requirement::Requirement;
use iostall_model::{FigureUnit, Verdict};
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, length_axis, rate_axis, rounded, seconds};
use crate::format::{NONE, count, duration, maybe_duration, percent, shown, throughput};
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::verdicts::sentence;

/// As many decisions are listed: the first half, and the last.
const LISTED: usize = 24;

pub(super) fn section(gave_way: Option<&GiveWay>) -> Option<Section> {
    let gave_way = gave_way?;
    let section = Section {
        subtitle: headline(gave_way),
        layout: Layout::Facts,
        facts: facts(gave_way),
        notes: notes(gave_way),
        tables: vec![table(gave_way)],
        ..Section::titled(format!("Giving way to {}", shown(&gave_way.source)))
    };
    Some(section)
}

/// What set the pace, for the answer in one sentence.
pub(super) fn pace(gave_way: &GiveWay) -> String {
    format!("giving way to {} set the pace", shown(&gave_way.source))
}

fn headline(gave_way: &GiveWay) -> String {
    format!(
        "{} of the time at its floor of {}",
        percent(share(gave_way.floor_ns, gave_way)),
        throughput(gave_way.floor_bytes_per_s as f64)
    )
}

fn share(part_ns: u64, gave_way: &GiveWay) -> f64 {
    part_ns as f64 / gave_way.governed_ns.max(1) as f64
}

fn facts(gave_way: &GiveWay) -> Vec<Fact> {
    let mut facts = Vec::new();
    for kept in &gave_way.kept {
        let wait_ns = &kept.wait_ns;
        let found = match wait_ns.mean() {
            None => "nobody waited for anything of that kind".to_owned(),
            Some(mean_ns) => format!(
                "{} of {} operations: mean {}, p95 {}, max {}",
                shown(&kept.requirement),
                count(wait_ns.count()),
                duration(mean_ns),
                maybe_duration(p95_ns(wait_ns)),
                maybe_duration(wait_ns.max().map(|ns| ns as f64)),
            ),
        };
        facts.push(Fact::new("users waited", found));
    }
    let share_of_readings = gave_way.reading_share().map_or_else(|| NONE.to_owned(), percent);
    facts.push(Fact::new(
        "readings",
        format!(
            "{} ({} failed), every {}, together {} of the time of one connection, the longest {}",
            count(gave_way.readings + gave_way.failed_readings),
            count(gave_way.failed_readings),
            duration(gave_way.interval_ns as f64),
            share_of_readings,
            duration(gave_way.reading_ns_max as f64),
        ),
    ));
    facts
}

fn p95_ns(wait_ns: &iostall_measure::Histogram) -> Option<f64> {
    let at = iostall_measure::Percentile::new(95.0)?;
    wait_ns.value_at(at).map(|ns| ns as f64)
}

fn notes(gave_way: &GiveWay) -> Vec<Note> {
    let mut notes: Vec<Note> =
        gave_way.kept.iter().filter_map(|kept| missed(gave_way, &kept.requirement)).collect();
    notes.push(Note::plain(
        "A reading says how long operations took together, not each of them: every operation counts with the mean of its reading.",
    ));
    notes
}

/// A requirement that was missed is said here too, because it may not have been typed again when a stored run is shown.
fn missed(gave_way: &GiveWay, requirement: &str) -> Option<Note> {
    let requirement: Requirement = requirement.parse().ok()?;
    let verdict = gave_way.verdict(&requirement).filter(|verdict| !verdict.met)?;
    Some(Note::bad(format!("{}.", sentence(&Verdict { unit: Some(FigureUnit::Nanoseconds), ..verdict }))))
}

fn table(gave_way: &GiveWay) -> Table {
    let mut table = Table::new(
        "Decisions",
        vec![
            Column::numbers("after"),
            Column::words("why"),
            Column::numbers("users waited"),
            Column::numbers("rate from then on"),
            Column::numbers("in flight").droppable(1),
        ],
    );
    let decisions = &gave_way.decisions;
    let (first, last) = match decisions.len() {
        0..=LISTED => (decisions.as_slice(), &[][..]),
        many => (&decisions[..LISTED / 2], &decisions[many - LISTED / 2..]),
    };
    for decision in first {
        row(&mut table, decision);
    }
    let between = decisions.len() - first.len() - last.len();
    if between > 0 {
        table.group(format!("{} more, which JSON lists", count(between as u64)), "");
    }
    for decision in last {
        row(&mut table, decision);
    }
    if gave_way.decisions_left_out > 0 {
        let text = format!("{} more decisions were too many to keep.", count(gave_way.decisions_left_out));
        table.note(&text);
    }
    table
}

fn row(table: &mut Table, decision: &Decision) {
    let severity = match decision.why {
        Why::Missed | Why::Silent => Severity::Bad,
        Why::Slower => Severity::Caution,
        Why::Begin | Why::Faster | Why::Idle | Why::Answers => Severity::Plain,
    };
    table.row(vec![
        TableCell::maybe_time(Some(decision.at_ns as f64)),
        TableCell::from(decision.why.words()).severity(severity),
        TableCell::maybe_time(decision.wait_ns.map(|ns| ns as f64)),
        throughput(decision.bytes_per_s as f64).into(),
        count(decision.in_flight_max.into()).into(),
    ]);
}

pub(super) fn charts(gave_way: &GiveWay) -> Vec<Chart> {
    let at = |decision: &Decision| seconds(decision.at_ns as f64);
    let x: Vec<f64> = gave_way.decisions.iter().map(at).collect();
    let trace = |name: &str, colour: &str, y: Vec<Option<f64>>, hover: &str| -> Value {
        json!({
            "type": "scatter", "mode": "lines+markers", "name": name, "x": x, "y": y, "connectgaps": true,
            "line": {"color": colour, "width": 2, "shape": "hv"}, "hovertemplate": hover,
        })
    };
    let allowed = |decision: &Decision| Some(rounded(decision.bytes_per_s as f64 / 1_048_576.0));
    let waited = |decision: &Decision| decision.wait_ns.map(|ns| seconds(ns.max(1) as f64));
    let time = json!({"title": {"text": "seconds from the start"}, "rangemode": "tozero"});
    let has_waits = gave_way.decisions.iter().any(|decision| decision.wait_ns.is_some());
    let rates =
        trace("allowed", COLOURS[0], gave_way.decisions.iter().map(allowed).collect(), "%{y:,.0f} MiB/s");
    let waits =
        trace("users waited", COLOURS[1], gave_way.decisions.iter().map(waited).collect(), "%{y:.3~s}s");
    drawn([
        Chart {
            id: "allowed".into(),
            title: "Allowed rate".into(),
            caption: "The rate that the transfer was allowed from each decision on.",
            figure: figure(&[rates], &time, &rate_axis("MiB/s"), "x unified"),
        },
        Chart {
            id: "waited".into(),
            title: "Users waited".into(),
            caption: "What users waited for an operation at each decision.",
            figure: figure(
                if has_waits { std::slice::from_ref(&waits) } else { &[] },
                &time,
                &length_axis("waited"),
                "x unified",
            ),
        },
    ])
}

#[cfg(test)]
mod tests {
    use iostall_measure::Histogram;
    use iostall_model::give_way::KeptFigure;

    use super::*;

    fn gave_way(decisions: usize) -> GiveWay {
        let mut wait_ns = Histogram::new();
        wait_ns.record_many(2_000_000, 300);
        wait_ns.record_many(9_000_000, 40);
        let decision = |index: usize| Decision {
            at_ns: index as u64 * 1_000_000_000,
            why: if index.is_multiple_of(2) { Why::Faster } else { Why::Slower },
            wait_ns: Some(3_000_000),
            bytes_per_s: 50 << 20,
            in_flight_max: 2,
            reason: None,
        };
        GiveWay {
            source: "postgres://shop:5432".into(),
            kept: vec![KeptFigure { requirement: "commit.p95<5ms".into(), wait_ns }],
            floor_bytes_per_s: 4 << 20,
            interval_ns: 200_000_000,
            readings: 99,
            failed_readings: 1,
            reading_ns_sum: 200_000_000,
            reading_ns_max: 9_000_000,
            governed_ns: 20_000_000_000,
            floor_ns: 5_000_000_000,
            decisions: (0..decisions).map(decision).collect(),
            ..GiveWay::default()
        }
    }

    #[test]
    fn a_reader_sees_whether_users_waited_and_what_was_decided() {
        let section = section(Some(&gave_way(3))).unwrap();
        assert_eq!(section.subtitle, "25.0 % of the time at its floor of 4.00 MiB/s");
        assert!(section.facts[0].value.starts_with("commit.p95<5ms of 340 operations: mean"));
        assert!(section.notes[0].text.contains("commit.p95<5ms is missed: "), "{:?}", section.notes);
        assert_eq!(section.tables[0].lines.len(), 3);
        assert_eq!(super::section(None), None);
    }

    #[test]
    fn of_many_decisions_the_first_and_the_last_are_listed() {
        let table = table(&gave_way(100));
        assert_eq!(table.lines.len(), LISTED + 1);
        assert!(
            matches!(&table.lines[LISTED / 2], crate::table::TableLine::Group { title, .. } if title.starts_with("76 more"))
        );
    }

    #[test]
    fn a_page_has_both_curves_and_none_of_waiting_where_nobody_waited() {
        assert_eq!(charts(&gave_way(3)).len(), 2);
        let mut quiet = gave_way(2);
        for decision in &mut quiet.decisions {
            decision.wait_ns = None;
        }
        assert_eq!(charts(&quiet).len(), 1);
    }
}
