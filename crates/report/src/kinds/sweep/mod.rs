//! The report of a sweep: the recommended setting and why, the knees, the points.

mod charts;
mod command;
mod notes;
mod settings;
mod summary;

use iostall_model::{Run, SweepOutcome};
use iostall_session::analysis::sweep::SweepAnalysis;

use self::notes::notes;
use self::settings::{knees_table, points_table};
use self::summary::summary;
use super::points;
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
        charts: Box::new(|| vec![charts::charts(outcome)]),
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
