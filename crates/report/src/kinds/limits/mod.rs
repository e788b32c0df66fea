//! The report of a search for the limits of a volume.

mod first_reads;
mod rows;
mod volume_log;
mod words;

use iostall_model::limits::{LimitsProbe, LimitsTask, ProbeStep};
use iostall_model::{LimitsOutcome, Run};
use iostall_session::analysis::limits::found;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded};
use crate::facts;
use crate::format::{bytes, count, duration, number, percent, throughput};
use crate::judgement::unless_disturbed;
use crate::point::setting_of;
use crate::report::Report;
use crate::section::{Fact, Section};
use crate::table::{Column, Table, TableCell};

pub(super) fn report<'a>(run: &'a Run, outcome: &'a LimitsOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: shape(outcome),
        headline: headline(outcome),
        line: Box::new(|| words::answer(outcome, &found(outcome))),
        answer: Box::new(|| unless_disturbed(run, words::answer(outcome, &found(outcome)))),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts(outcome)]),
        series: Box::new(|| rows::series(outcome)),
        summary: Box::new(|| Box::new(rows::LimitsSummary::of(run, outcome))),
    }
}

fn shape(outcome: &LimitsOutcome) -> String {
    let plan = &outcome.plan;
    if plan.task == LimitsTask::VendorLog {
        return "the volume's own log".to_owned();
    }
    if plan.task == LimitsTask::ReadAll {
        let pace =
            plan.bytes_per_s.map_or_else(String::new, |rate| format!(", {} at most", throughput(rate)));
        return format!("every block once{pace}");
    }
    let what = if plan.writes { "random writes" } else { "random reads" };
    format!(
        "{what}, {}, {} and {} at most",
        setting_of(plan.queue_depth, plan.workers),
        plan.time_limit,
        plan.byte_limit
    )
}

fn headline(outcome: &LimitsOutcome) -> String {
    if outcome.plan.task == LimitsTask::VendorLog {
        return String::new();
    }
    if let Some(read) = &outcome.read_all {
        return format!("{} in {}", bytes(read.bytes()), duration(read.elapsed_ns as f64));
    }
    let probes = outcome.probes.len();
    let plural = if probes == 1 { "" } else { "s" };
    let seconds: f64 = outcome.probes.iter().map(LimitsProbe::seconds).sum();
    format!(
        "{probes} probe{plural}, {} under load, {}",
        duration(seconds * 1e9),
        bytes(outcome.moved_bytes())
    )
}

fn section(run: &Run, outcome: &LimitsOutcome) -> Section {
    Section {
        facts: facts(run, outcome),
        notes: words::notes(outcome, &found(outcome)),
        tables: tables(outcome),
        ..Section::titled("The limits")
    }
}

fn tables(outcome: &LimitsOutcome) -> Vec<Table> {
    let measured = (!outcome.probes.is_empty()).then(|| probes(outcome));
    volume_log::table(outcome).into_iter().chain(measured).collect()
}

fn facts(run: &Run, outcome: &LimitsOutcome) -> Vec<Fact> {
    let targets = run.targets.iter().zip(&outcome.used_bytes);
    let used = targets.map(|(target, used)| format!("{} of {}", bytes(*used), facts::path(&target.path)));
    let plan = &outcome.plan;
    if plan.task == LimitsTask::VendorLog {
        return Vec::new();
    }
    let mut facts = vec![
        Fact::new("used", used.collect::<Vec<_>>().join(", ")),
        Fact::new(if plan.writes { "written" } else { "read" }, bytes(outcome.moved_bytes())),
    ];
    if plan.task != LimitsTask::ReadAll {
        facts.push(Fact::new("allowed", format!("{}, {}", plan.time_limit, plan.byte_limit)));
        facts.push(Fact::new("ended because", words::ended(outcome.ended)));
    }
    facts.extend(first_reads::facts(outcome));
    facts
}

fn probes(outcome: &LimitsOutcome) -> Table {
    let columns = vec![
        Column::words("probe"),
        Column::words("size"),
        Column::numbers("in flight").droppable(1),
        Column::numbers("time"),
        Column::numbers("requests").droppable(2),
        Column::numbers("IOPS"),
        Column::numbers("MiB/s"),
        Column::numbers("mean").droppable(3),
        Column::words("fell"),
    ];
    let mut table = Table::new("What was measured, in order", columns);
    for probe in &outcome.probes {
        let seconds = probe.seconds().max(f64::MIN_POSITIVE);
        let fell = iostall_session::analysis::limits::fall(probe).map_or_else(String::new, |found| {
            format!(
                "from {} to {} ({}) after {}",
                number(found.change.before),
                number(found.change.after),
                percent(found.change.after / found.change.before),
                duration(found.lasted_s * 1e9)
            )
        });
        table.row(vec![
            step(probe).into(),
            probe.block_size.to_string().into(),
            count(probe.in_flight).into(),
            duration(probe.seconds() * 1e9).into(),
            count(probe.count()).into(),
            number(probe.count() as f64 / seconds).into(),
            number(probe.bytes() as f64 / seconds / 1_048_576.0).into(),
            TableCell::maybe_time(probe.latency_ns_mean),
            fell.into(),
        ]);
    }
    table
}

fn step(probe: &LimitsProbe) -> String {
    let what = match probe.step {
        ProbeStep::Unloaded => "one at a time",
        ProbeStep::Load => "until it falls",
        ProbeStep::Again => "after a pause",
        ProbeStep::Size => "this size",
        ProbeStep::Sustained => "what lasts",
        ProbeStep::Together => "both targets",
    };
    let pause = match probe.pause_ns {
        0 => String::new(),
        pause_ns => format!(" of {}", duration(pause_ns as f64)),
    };
    let whose = match probe.targets.as_slice() {
        [target] if *target > 0 => format!(", target {}", target + 1),
        _ => String::new(),
    };
    format!("{what}{pause}{whose}")
}

/// Points of a line at most: a page of an hour's search stays small.
const POINTS_MAX: usize = 1000;

fn charts(outcome: &LimitsOutcome) -> Vec<Chart> {
    let loaded = outcome.probes.iter().filter(|probe| probe.step != ProbeStep::Unloaded);
    let traces: Vec<Value> =
        loaded.zip(COLOURS.iter().cycle()).map(|(probe, colour)| trace(probe, colour)).collect();
    if traces.is_empty() {
        return Vec::new();
    }
    let x = json!({"title": {"text": "seconds from the start"}});
    drawn(vec![Chart {
        id: "limits".into(),
        title: "Requests a second".into(),
        caption: "A line for each probe; where the first one falls, a bucket is empty.",
        figure: figure(&traces, &x, &rate_axis("IOPS"), "closest"),
    }])
}

fn trace(probe: &LimitsProbe, colour: &str) -> Value {
    let each = probe.counts.len().div_ceil(POINTS_MAX).max(1);
    let seconds = probe.interval_s() * each as f64;
    let start_s = probe.start_ns as f64 / 1e9;
    let rates = probe.counts.chunks_exact(each).map(|part| part.iter().sum::<u64>() as f64 / seconds);
    let (x, y): (Vec<f64>, Vec<f64>) = rates
        .enumerate()
        .map(|(index, rate)| (rounded(start_s + (index as f64 + 0.5) * seconds), rounded(rate)))
        .unzip();
    json!({
        "type": "scatter", "mode": "lines", "name": probe.block_size.to_string(), "x": x, "y": y,
        "line": {"color": colour, "width": 2}, "hovertemplate": "%{x} s: %{y:,.0f}",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::limits as run;
    use crate::text::{TextOptions, write_text};

    fn text(run: &Run) -> String {
        let mut text = String::new();
        write_text(&Report::of(run), &TextOptions { width: 120, ..TextOptions::default() }, &mut text)
            .unwrap();
        text
    }

    #[test]
    fn the_report_of_a_bucket_says_its_size_its_rates_and_how_long_it_lasted() {
        let text = text(&run(true)).split_whitespace().collect::<Vec<_>>().join(" ");
        for said in
            ["a bucket of 54,000 requests: 3,000 IOPS for 20.0 s", "then 300 IOPS", "A pause gave back"]
        {
            assert!(text.contains(said), "{said}:\n{text}");
        }
    }

    #[test]
    fn where_nothing_fell_it_says_how_much_was_spent() {
        let text = text(&run(false)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("No bucket") && text.contains("6,000 requests"), "{text}");
    }
}
