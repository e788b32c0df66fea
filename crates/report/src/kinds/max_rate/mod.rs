//! The report of a search for the highest rate.

use iostall_measure::Percentile;
use iostall_model::{MaxRateOutcome, Point, Run};
use iostall_session::analysis::max_rate::{Found, found};
use serde::Serialize;
use serde_json::{Value, json};

use super::points::{self, PointsSummary};
use crate::chart::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds, target_trace};
use crate::facts;
use crate::format::{NONE, count, duration, maybe_number, number, percent};
use crate::percentiles::{percentile_cell, single_percentile_table};
use crate::report::Report;
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn report<'a>(run: &'a Run, outcome: &'a MaxRateOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: points::asked(&outcome.profile),
        headline: points::headline(&outcome.points),
        line: Box::new(|| points::headline(&outcome.points)),
        answer: Box::new(|| answer(outcome)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts(outcome)]),
        series: Box::new(|| points::series(run, &outcome.points)),
        summary: Box::new(|| {
            let points = PointsSummary::of(run, &outcome.points);
            Box::new(Summary { points, max_rate: MaxRateSummary::of(outcome) })
        }),
    }
}

fn rate(point: &Point) -> f64 {
    point.rate_iops.unwrap_or(0.0)
}

fn section(run: &Run, outcome: &MaxRateOutcome) -> Section {
    let details = outcome.best().and_then(|point| {
        single_percentile_table("Response time percentiles at the highest rate", &point.latency_ns)
    });
    Section {
        notes: notes(run, outcome),
        tables: if outcome.points.is_empty() { Vec::new() } else { vec![trials(outcome)] },
        details: details.into_iter().collect(),
        ..Section::titled("The highest rate")
    }
}

fn answer(outcome: &MaxRateOutcome) -> String {
    let target = duration(outcome.latency_ns_p99_target as f64);
    match found(outcome) {
        Found::Confirmed { point, .. } => {
            format!("up to {} requests a second are answered within {target} (p99)", number(rate(point)))
        }
        Found::NotConfirmed(_) | Found::None => {
            format!("no rate is confirmed to be answered within {target} (p99)")
        }
    }
}

fn notes(run: &Run, outcome: &MaxRateOutcome) -> Vec<Note> {
    let target = duration(outcome.latency_ns_p99_target as f64);
    let (point, too_late) = match found(outcome) {
        Found::Confirmed { point, too_late } => (point, too_late),
        Found::NotConfirmed(point) => return vec![not_confirmed(run, point, &target)],
        Found::None => return vec![Note::caution(nothing_found(run, outcome, &target))],
    };
    let p99_ns = point.latency_ns.value_at(Percentile::P99).unwrap_or(0);
    let above = too_late.map_or_else(String::new, |rate| format!(" {} a second were not.", number(rate)));
    let mut notes = vec![Note::strong(format!(
        "Up to {} requests a second ({} MiB/s) are answered in time: p99 of the response time {}, promised {target}.{above}",
        number(rate(point)),
        maybe_number(point.mib_per_s()),
        duration(p99_ns as f64),
    ))];
    notes.extend(outcome.probe.as_ref().and_then(Point::iops).filter(|closed| *closed > 0.0).map(|closed| {
        Note::plain(format!(
            "A closed loop reached {} IOPS; {} of it can be promised to users who arrive by themselves.",
            number(closed),
            percent(rate(point) / closed)
        ))
    }));
    let paths: Vec<String> = run.targets.iter().map(|target| facts::path(&target.path)).collect();
    notes.push(Note::plain(format!(
        "To hold it for longer: iostall load --rate {:.0} --arrivals poisson --queue-depth {} --workers {} --block-size {} {}",
        rate(point),
        point.queue_depth,
        point.workers,
        point.block_size,
        paths.join(" ")
    )));
    notes
}

/// Single intervals that were answered in time promise nothing, but they are in the table.
fn not_confirmed(run: &Run, point: &Point, target: &str) -> Note {
    let why = if run.interrupted {
        "the search was stopped before it looked longer"
    } else {
        "over several intervals neither this rate nor the lower ones that were tried kept it"
    };
    Note::caution(format!(
        "No rate is confirmed: up to {} a second kept the 99th percentile of the response time within {target} in one interval, but \
         {why}. A longer --interval makes short looks less lucky.",
        number(rate(point))
    ))
}

fn nothing_found(run: &Run, outcome: &MaxRateOutcome, target: &str) -> String {
    if run.interrupted {
        "The search was stopped before a rate was confirmed.".to_owned()
    } else if outcome.points.is_empty() {
        "No rate was tried: the closed loop that tells where to begin completed nothing in its interval. Choose a longer \
         --interval."
            .to_owned()
    } else {
        format!("No rate that was tried keeps the 99th percentile of the response time within {target}.")
    }
}

fn trials(outcome: &MaxRateOutcome) -> Table {
    let columns = vec![
        Column::numbers("rate asked"),
        Column::numbers("IOPS"),
        Column::numbers("mean").droppable(1),
        Column::numbers("p50").droppable(2),
        Column::numbers("p99"),
        Column::numbers("p99.9").droppable(3),
        Column::numbers("max"),
        Column::numbers("backlog"),
        Column::words("in time"),
    ];
    let mut table = Table::new("Rates that were tried (response times)", columns);
    let searches = outcome.points.len().saturating_sub(outcome.confirmations as usize);
    for (index, point) in outcome.points.iter().enumerate() {
        let at = |percentile: Percentile| percentile_cell(&point.latency_ns, percentile);
        let backlog = point.repeats.iter().filter_map(|repeat| repeat.backlog_at_end).max();
        let met = point.answers_in_time(outcome.latency_ns_p99_target);
        let word = match (met, index >= searches) {
            (true, false) => "yes, one interval",
            (true, true) => "yes, confirmed",
            (false, false) => "no",
            (false, true) => "no, not confirmed",
        };
        table.row(vec![
            number(rate(point)).into(),
            maybe_number(point.iops()).into(),
            TableCell::maybe_time(point.latency_ns.mean()),
            at(Percentile::P50),
            at(Percentile::P99),
            at(Percentile::P99_9),
            TableCell::maybe_time(point.latency_ns.max().map(|ns| ns as f64)),
            backlog.map_or(NONE.to_owned(), count).into(),
            TableCell::from(word).severity(if met { Severity::Strong } else { Severity::Plain }),
        ]);
    }
    table.note(
        "Response time: from the moment a request was to arrive (Poisson) to its answer, waiting included.",
    );
    table
}

#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    points: PointsSummary,
    max_rate: MaxRateSummary,
}

#[derive(Debug, Serialize)]
struct MaxRateSummary {
    rate_iops: Option<f64>,
    latency_ns_p99: Option<u64>,
    latency_ns_p99_target: u64,
    closed_loop_iops: Option<f64>,
}

impl MaxRateSummary {
    fn of(outcome: &MaxRateOutcome) -> Self {
        let found = outcome.best();
        Self {
            rate_iops: found.map(rate),
            latency_ns_p99: found.and_then(|point| point.latency_ns.value_at(Percentile::P99)),
            latency_ns_p99_target: outcome.latency_ns_p99_target,
            closed_loop_iops: outcome.probe.as_ref().and_then(Point::iops),
        }
    }
}

fn charts(outcome: &MaxRateOutcome) -> Vec<Chart> {
    let mut points: Vec<&Point> =
        outcome.points.iter().filter(|point| !point.latency_ns.is_empty()).collect();
    points.sort_by(|left, right| left.rate_iops.unwrap_or(0.0).total_cmp(&right.rate_iops.unwrap_or(0.0)));
    let Some(most) = points.last().and_then(|point| point.rate_iops) else { return Vec::new() };
    let line = |(name, percentile): (&str, Percentile), colour: &str| {
        let y = |point: &&Point| point.latency_ns.value_at(percentile).map(|ns| seconds(ns.max(1) as f64));
        json!({
            "type": "scatter", "mode": "lines+markers", "name": name,
            "x": points.iter().map(|point| point.rate_iops.map(rounded)).collect::<Vec<_>>(),
            "y": points.iter().map(y).collect::<Vec<_>>(), "line": {"color": colour, "width": 2},
            "hovertemplate": "%{x:,.0f} a second: %{y:.3~s}s",
        })
    };
    let mut traces: Vec<Value> = [("p50", Percentile::P50), ("p99", Percentile::P99)]
        .into_iter()
        .zip(COLOURS)
        .map(|(statistic, colour)| line(statistic, colour))
        .collect();
    traces.push(target_trace(most, outcome.latency_ns_p99_target));
    vec![Chart {
        id: "rates".into(),
        title: "Response time against rate".into(),
        caption: "Every rate that was tried; where p99 crosses the target is what can be promised.",
        figure: figure(&traces, &rate_axis("arrivals a second"), &latency_axis(), "closest"),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::max_rate as run;
    use crate::text::{TextOptions, write_text};
    use iostall_model::RunBody;

    fn text(run: &Run) -> String {
        let mut text = String::new();
        write_text(&Report::of(run), &TextOptions { width: 120, ..TextOptions::default() }, &mut text)
            .unwrap();
        text
    }

    #[test]
    fn the_report_of_a_search_reads_so() {
        insta::assert_snapshot!(text(&run(500_000)));
    }

    #[test]
    fn only_a_confirmed_rate_is_an_answer() {
        let RunBody::MaxRate(mut outcome) = run(500_000).body else { unreachable!("just made") };
        assert_eq!(outcome.best().unwrap().queue_depth, 4);
        outcome.confirmations = 0;
        assert_eq!(outcome.best(), None);
        assert!(text(&run(1000)).contains("No rate that was tried keeps"));
    }

    /// The story: the report said that no rate keeps the promise, above a table with three rates marked "yes".
    #[test]
    fn rates_that_were_in_time_once_are_not_denied_where_none_is_confirmed() {
        let mut run = run(500_000);
        let RunBody::MaxRate(outcome) = &mut run.body else { unreachable!("just made") };
        outcome.confirmations = 0;
        outcome.points.pop();
        let text = text(&run).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("No rate is confirmed: up to 40,100 a second kept"), "{text}");
        assert!(!text.contains("No rate that was tried"), "{text}");
    }

    #[test]
    fn where_nothing_was_tried_nothing_is_said_of_what_was() {
        let mut run = run(1000);
        let RunBody::MaxRate(outcome) = &mut run.body else { unreachable!("just made") };
        outcome.points.clear();
        outcome.confirmations = 0;
        let text = text(&run);
        assert!(text.contains("No rate was tried") && text.contains("--interval"), "{text}");
    }

    #[test]
    fn the_page_of_a_search_draws_response_time_against_rate() {
        let mut page = String::new();
        crate::html::write_html(&Report::of(&run(500_000)), &mut page).unwrap();
        assert!(page.contains("id=\"span-1-rates\"") && page.contains("iostall max-rate report"));
    }
}
