//! The report of a sweep: the recommended setting and why, the knees, the points.

mod command;
mod notes;
mod settings;
mod summary;

use iostall_measure::Percentile;
use iostall_model::{Run, SweepOutcome};
use iostall_session::analysis::sweep::SweepAnalysis;
use serde_json::{Value, json};

use self::notes::notes;
use self::settings::{knees_table, points_table};
use self::summary::summary;
use super::points;
use crate::chart::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds, target_trace};
use crate::percentiles::single_percentile_table;
use crate::report::Report;
use crate::section::Section;

pub(super) fn report<'a>(run: &'a Run, outcome: &'a SweepOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: points::asked(&outcome.profile),
        headline: points::headline(&outcome.points),
        line: Box::new(|| points::headline(&outcome.points)),
        answer: Box::new(|| notes::answer(outcome)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts(outcome)]),
        series: Box::new(|| points::series(run, &outcome.points)),
        summary: Box::new(|| Box::new(summary(run, outcome))),
    }
}

fn section(run: &Run, outcome: &SweepOutcome) -> Section {
    let found = SweepAnalysis::of(outcome);
    let chosen = found.knees.choice.map(|choice| found.points[choice.index()]);
    let details = chosen.and_then(|point| {
        single_percentile_table(&format!("Latency percentiles at {}", point.setting()), &point.latency_ns)
    });
    Section {
        notes: notes(run, outcome, &found),
        tables: vec![knees_table(&found, outcome), points_table(&found, outcome)],
        details: details.into_iter().collect(),
        ..Section::titled("The sweet spot")
    }
}

fn charts(outcome: &SweepOutcome) -> Vec<Chart> {
    let found = SweepAnalysis::of(outcome);
    if found.points.is_empty() {
        return Vec::new();
    }
    vec![
        Chart {
            id: "curve".into(),
            title: "Latency against throughput".into(),
            caption: "Each point is a setting; up to the knee more in flight buys throughput, beyond it only latency.",
            figure: figure(&curve_traces(&found, outcome), &rate_axis("IOPS"), &latency_axis(), "closest"),
        },
        Chart {
            id: "depth".into(),
            title: "Throughput against requests in flight".into(),
            caption: "Where the line turns flat, the storage is saturated.",
            figure: figure(&depth_traces(&found), &depth_axis(), &rate_axis("IOPS"), "closest"),
        },
    ]
}

fn depth_axis() -> Value {
    json!({"title": {"text": "requests in flight"}, "type": "log", "dtick": std::f64::consts::LOG10_2, "tickformat": "~s"})
}

fn curve_traces(found: &SweepAnalysis<'_>, outcome: &SweepOutcome) -> Vec<Value> {
    let statistics: [(&str, &str, Option<Percentile>); 3] = [
        ("p50", "dot", Some(Percentile::P50)),
        ("mean", "solid", None),
        ("p99", "dash", Some(Percentile::P99)),
    ];
    let curve: Vec<usize> = found.knees.curve.clone();
    let x: Vec<f64> = curve.iter().map(|index| rounded(found.curve_points[*index].iops)).collect();
    let names: Vec<String> = curve.iter().map(|index| found.points[*index].setting()).collect();
    let mut traces: Vec<Value> = statistics
        .into_iter()
        .zip(COLOURS)
        .map(|((name, dash, percentile), colour)| {
            let latency = |index: &usize| {
                let histogram = &found.points[*index].latency_ns;
                let ns = match percentile {
                    Some(percentile) => histogram.value_at(percentile).map(|ns| ns as f64),
                    None => histogram.mean(),
                };
                ns.map(|ns| seconds(ns.max(1.0)))
            };
            json!({
                "type": "scatter", "mode": "lines+markers", "name": name, "x": x.clone(),
                "y": curve.iter().map(latency).collect::<Vec<_>>(), "customdata": names.clone(),
                "line": {"color": colour, "dash": dash, "width": 2},
                "hovertemplate": "%{customdata}: %{x:,.0f} IOPS, %{y:.3~s}s",
            })
        })
        .collect();
    traces.extend(knee_trace(found));
    let most = found.curve_points.iter().map(|point| point.iops).fold(0.0, f64::max);
    traces.extend(outcome.latency_ns_p99_target.map(|target| target_trace(most, target)));
    traces
}

/// A ring around the recommended setting.
fn knee_trace(found: &SweepAnalysis<'_>) -> Option<Value> {
    let index = found.knees.choice?.index();
    let p99 = found.points[index].latency_ns.value_at(Percentile::P99)?;
    Some(json!({
        "type": "scatter", "mode": "markers", "name": format!("use {}", found.points[index].setting()),
        "x": [rounded(found.curve_points[index].iops)], "y": [seconds(p99.max(1) as f64)],
        "marker": {"size": 18, "symbol": "circle-open", "color": COLOURS[4], "line": {"width": 3}},
        "hovertemplate": "%{x:,.0f} IOPS, p99 %{y:.3~s}s",
    }))
}

fn depth_traces(found: &SweepAnalysis<'_>) -> Vec<Value> {
    let mut workers: Vec<u32> = found.points.iter().map(|point| point.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    workers
        .iter()
        .zip(COLOURS.iter().cycle())
        .map(|(count, colour)| {
            let mut of_these: Vec<usize> =
                (0..found.points.len()).filter(|index| found.points[*index].workers == *count).collect();
            of_these.sort_by_key(|index| found.curve_points[*index].in_flight);
            let plural = if *count == 1 { "" } else { "s" };
            json!({
                "type": "scatter", "mode": "lines+markers", "name": format!("{count} worker{plural}"),
                "x": of_these.iter().map(|index| found.curve_points[*index].in_flight).collect::<Vec<_>>(),
                "y": of_these.iter().map(|index| rounded(found.curve_points[*index].iops)).collect::<Vec<_>>(),
                "line": {"color": colour, "width": 2},
                "hovertemplate": "%{x} in flight: %{y:,.0f} IOPS",
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use iostall_session::analysis::sweep::target_missed;

    use super::*;
    use crate::fixture;
    use crate::json::{JsonLayout, read_json, write_json};
    use crate::text::{TextOptions, write_text};
    use iostall_model::RunBody;

    fn outcome(run: &mut Run) -> &mut SweepOutcome {
        match &mut run.body {
            RunBody::Sweep(outcome) => outcome,
            _ => unreachable!("the fixture is a sweep"),
        }
    }

    fn text(run: &Run) -> String {
        let mut text = String::new();
        write_text(&Report::of(run), &TextOptions { width: 120, ..TextOptions::default() }, &mut text)
            .unwrap();
        text
    }

    fn in_a_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn json(run: &Run) -> serde_json::Value {
        let mut bytes = Vec::new();
        write_json(&Report::of(run), JsonLayout::Pretty, &mut bytes).unwrap();
        assert_eq!(&read_json(&bytes).unwrap(), run);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn the_report_of_a_sweep_reads_so() {
        insta::assert_snapshot!(text(&fixture::sweep()));
    }

    #[test]
    fn a_script_finds_the_setting_to_use() {
        let value = json(&fixture::sweep());
        let knees = value["summary"]["sweep"]["knees"].as_array().unwrap();
        let to_use: Vec<_> = knees.iter().filter(|knee| knee["recommended"] == true).collect();
        assert_eq!(to_use.len(), 1);
        assert_eq!(to_use[0]["by"], "latency");
        assert_eq!(value["summary"]["points"].as_array().unwrap().len(), 8);
        assert!(value["summary"]["sweep"]["plateau_iops"].as_f64().is_some());
    }

    #[test]
    fn a_target_that_no_setting_meets_is_told_and_the_nearest_is_shown() {
        let mut run = fixture::sweep();
        outcome(&mut run).latency_ns_p99_target = Some(1000);
        assert!(target_missed(outcome(&mut run)));
        assert!(in_a_line(&text(&run)).contains("No setting keeps the target. Nearest: depth 4"));
        assert!(!target_missed(outcome(&mut fixture::sweep())));
    }

    /// The story: a setting that was known to 39 % was recommended in the same words as one that was known to 1 %.
    #[test]
    fn a_recommendation_says_how_sure_it_is_and_what_is_as_good() {
        let mut run = fixture::sweep();
        let sure = in_a_line(&text(&run));
        assert!(sure.contains("· IOPS ± 0.6 %") && !sure.contains("told apart"), "{sure}");
        outcome(&mut run).latency_ns_p99_target = None;
        for point in &mut outcome(&mut run).points[2..6] {
            for (repeat, share) in point.repeats.iter_mut().zip([70, 100, 130]) {
                repeat.count = repeat.count * share / 100;
            }
        }
        let unsure = in_a_line(&text(&run));
        assert!(unsure.contains("· IOPS ± 74"), "{unsure}");
        assert!(unsure.contains("in flight cannot be told apart"), "{unsure}");
        let value = json(&run);
        let alike = value["summary"]["sweep"]["alike_in_flight"].as_array().unwrap().clone();
        assert!(alike.len() > 1 && alike.contains(&serde_json::json!(8)), "{alike:?}");
        outcome(&mut run).points.iter_mut().for_each(|point| point.repeats.truncate(1));
        let once = in_a_line(&text(&run));
        assert!(once.contains("· measured once") && once.contains("how sure this choice is"), "{once}");
    }

    /// A narrow terminal dropped the column that says how sure the others are, and kept the share of the best power.
    #[test]
    fn how_sure_a_setting_is_is_the_last_column_to_be_left_out() {
        let mut times_left_out = 0;
        for width in 40..130 {
            let mut text = String::new();
            write_text(
                &Report::of(&fixture::sweep()),
                &TextOptions { width, ..TextOptions::default() },
                &mut text,
            )
            .unwrap();
            let text = in_a_line(&text);
            let left_out = text.rsplit_once("Left out at this width: ").map_or("", |(_, rest)| rest);
            let left_out = left_out.split('.').next().unwrap_or_default();
            times_left_out += usize::from(left_out.contains("power"));
            assert!(!left_out.contains('±') || left_out.contains("power"), "{width}: {left_out}");
        }
        assert!(times_left_out > 0);
    }

    #[test]
    fn storage_that_gives_less_at_the_end_is_not_trusted() {
        let mut run = fixture::sweep();
        assert!(!text(&run).contains("measured again"));
        for repeat in &mut outcome(&mut run).checked.as_mut().unwrap().repeats {
            repeat.count /= 10;
            repeat.start_ns += 40_000_000_000;
        }
        let said = in_a_line(&text(&run));
        assert!(
            said.contains(
                "measured again 40.0 s later, fell from 40,100 to 4,010 IOPS (-90 %): burst credits"
            ),
            "{said}"
        );
    }

    #[test]
    fn a_sweep_that_was_stopped_at_once_is_reported_without_a_false_number() {
        let mut run = fixture::sweep();
        let outcome = outcome(&mut run);
        (outcome.points, outcome.checked) = (Vec::new(), None);
        let text = text(&run);
        assert!(text.contains("nothing measured") && !text.contains("NaN"), "{text}");
        let value = json(&run);
        assert!(value["summary"]["sweep"]["knees"].as_array().unwrap().is_empty());
        let mut page = String::new();
        crate::html::write_html(&Report::of(&run), &mut page).unwrap();
        assert!(!page.contains("class=\"chart\""));
    }

    #[test]
    fn the_page_of_a_sweep_draws_the_curve_with_its_knee_and_target() {
        let mut page = String::new();
        crate::html::write_html(&Report::of(&fixture::sweep()), &mut page).unwrap();
        assert!(page.contains("id=\"span-1-curve\"") && page.contains("p99 target"));
        assert!(page.contains("iostall sweep report"));
    }
}
