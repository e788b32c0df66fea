//! The report of a comparison: sections for people, a document for scripts.

mod page;

use iostall_session::analysis::comparison::{ComparedSide, Comparison};
use iostall_stats::compare::Samples;

pub use self::page::sections;

/// The comparison for scripts.
pub fn to_json(comparison: &Comparison) -> serde_json::Value {
    let others: Vec<_> = comparison.others.iter().map(side_json).collect();
    serde_json::json!({
        "schema": "iostall-comparison", "schema_version": 1, "first": comparison.first,
        "bootstrap_seed": comparison.seed, "others": others,
    })
}

fn side_json(other: &ComparedSide) -> serde_json::Value {
    let rows: Vec<_> = other
        .rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "subject": row.subject, "metric": row.metric, "first": row.first, "second": row.second,
                "difference": row.second - row.first, "ratio": row.ratio(),
                "ratio_low": row.found.map(|found| found.ratio.low), "ratio_high": row.found.map(|found| found.ratio.high),
                "p_value": row.found.map(|found| found.p_value),
                "samples": row.found.map(|found| [found.counts.0, found.counts.1]),
                "significant": row.found.map(|found| found.is_significant()),
            })
        })
        .collect();
    let samples = match other.samples {
        Samples::Runs => "runs",
        Samples::Seconds => "seconds",
    };
    serde_json::json!({"label": other.label, "samples": samples, "differences": other.differences, "metrics": rows})
}

#[cfg(test)]
mod tests {
    use iostall_model::{Run, RunBody};
    use iostall_session::comparison::MeasuredSide;

    use super::*;
    use crate::fixture;

    fn side(label: &str, runs: Vec<Run>) -> MeasuredSide {
        MeasuredSide { label: label.into(), runs }
    }

    /// The fixture with every rate multiplied.
    fn faster(share: f64) -> Run {
        let mut run = fixture::run();
        let RunBody::Load(load) = &mut run.body else { unreachable!("the fixture is a load") };
        for point in load.spans.iter_mut().flat_map(|span| &mut span.roles).flat_map(|role| &mut role.series)
        {
            for op in &mut point.ops {
                op.count = iostall_measure::Nanos::from_seconds(op.count as f64 * share / 1e9).0;
            }
        }
        for cell in load.spans.iter_mut().flat_map(|span| &mut span.roles).flat_map(|role| &mut role.cells) {
            cell.service_ns.merge(&cell.service_ns.clone());
        }
        run
    }

    fn metric<'a>(value: &'a serde_json::Value, subject: &str, metric: &str) -> &'a serde_json::Value {
        let metrics = value["others"][0]["metrics"].as_array().unwrap();
        metrics.iter().find(|row| row["subject"] == subject && row["metric"] == metric).unwrap()
    }

    #[test]
    fn a_run_against_itself_does_not_differ_in_anything() {
        let sides = [side("A", vec![fixture::run()]), side("B", vec![fixture::run()])];
        let value = to_json(&Comparison::of(&sides, 1));
        for row in value["others"][0]["metrics"].as_array().unwrap() {
            assert_eq!(row["ratio"], 1.0, "{row}");
            assert_ne!(row["significant"], true, "{row}");
        }
        assert_eq!(value["others"][0]["samples"], "seconds");
        assert!(
            value["others"][0]["differences"]
                .as_array()
                .unwrap()
                .iter()
                .all(|note| note.as_str().unwrap().contains("failed"))
        );
    }

    #[test]
    fn twice_the_rate_is_found_significant_second_by_second() {
        let sides = [side("A", vec![fixture::run()]), side("B", vec![faster(2.0)])];
        let comparison = Comparison::of(&sides, 1);
        let value = to_json(&comparison);
        let row = metric(&value, "data read", "iops");
        assert_eq!(row["significant"], true, "{row}");
        assert!((row["ratio"].as_f64().unwrap() - 2.0).abs() < 0.01);
        assert!(row["ratio_low"].as_f64().unwrap() > 1.5, "{row}");
        let section = &sections(&comparison)[0];
        assert_eq!(section.title, "B against A");
        assert!(section.notes[0].text.contains("differ significantly"), "{section:?}");
    }

    #[test]
    fn four_runs_a_side_are_compared_run_by_run() {
        let sides = [side("A", vec![fixture::run(); 4]), side("B", vec![faster(2.0); 4])];
        let value = to_json(&Comparison::of(&sides, 1));
        assert_eq!(value["others"][0]["samples"], "runs");
        assert_eq!(metric(&value, "data read", "iops")["samples"], serde_json::json!([4, 4]));
    }

    #[test]
    fn what_makes_runs_incomparable_is_said() {
        let mut other = fixture::run();
        other.targets[0].size_bytes *= 4;
        other.interrupted = true;
        let RunBody::Load(load) = &mut other.body else { unreachable!("the fixture is a load") };
        let role = &mut load.profile.spans[0].roles[0];
        role.block_size = "64K".parse().unwrap();
        role.caching = iostall_measure::Caching::Buffered;
        load.spans[0].roles[0].engine.name = "psync".into();
        let sides = [side("A", vec![fixture::run()]), side("B", vec![other])];
        let said = sections(&Comparison::of(&sides, 1))[0]
            .notes
            .iter()
            .map(|note| note.text.clone())
            .collect::<Vec<_>>()
            .join("\n");
        for words in [
            "sizes: 9 GiB and 33 GiB",
            "block sizes: ",
            "and 64K",
            "caching: direct and buffered",
            "interrupted",
            "engines",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }

    #[test]
    fn sweeps_are_compared_setting_by_setting_and_different_kinds_have_nothing_in_common() {
        let sides = [side("A", vec![fixture::sweep()]), side("B", vec![fixture::sweep()])];
        let value = to_json(&Comparison::of(&sides, 1));
        let row = metric(&value, "random read 8K, depth 8 × 1 worker, target 1", "iops");
        // Three intervals per side: too few for a verdict.
        assert!(row["significant"].is_null() && row["ratio"] == 1.0, "{row}");
        let mixed = [side("A", vec![fixture::sweep()]), side("B", vec![fixture::run()])];
        let section = &sections(&Comparison::of(&mixed, 1))[0];
        assert!(section.notes[0].text.contains("nothing in common"));
        assert!(section.tables.is_empty());
    }
}
