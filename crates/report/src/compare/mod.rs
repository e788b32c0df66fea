//! The report of a comparison: sections for people, a document for scripts.

mod document;
mod page;

pub use self::document::ComparisonDocument;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use iostall_model::{Run, RunBody, RunId};
    use iostall_session::comparison::MeasuredSide;
    use uuid::Uuid;

    use iostall_session::analysis::comparison::Comparison;

    use super::document::to_json;
    use super::page::sections;
    use crate::fixture;

    /// Runs that were measured one by one, whatever they are copied from.
    fn side(label: &str, runs: Vec<Run>) -> MeasuredSide {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let id = || RunId(Uuid::from_u128(NEXT.fetch_add(1, Ordering::Relaxed).into()));
        let runs = runs.into_iter().map(|run| Run { id: id(), ..run }).collect();
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
    fn a_run_against_its_equal_does_not_differ_in_anything() {
        let sides = [side("A", vec![fixture::run()]), side("B", vec![fixture::run()])];
        let value = to_json(&Comparison::of(&sides));
        for row in value["others"][0]["metrics"].as_array().unwrap() {
            assert_eq!(row["ratio"], 1.0, "{row}");
            assert!(
                ["no-difference", "too-few-samples"].contains(&row["verdict"].as_str().unwrap()),
                "{row}"
            );
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
    fn twice_the_rate_makes_two_runs_differ_and_no_more_is_said_of_two_runs() {
        let sides = [side("A", vec![fixture::run()]), side("B", vec![faster(2.0)])];
        let comparison = Comparison::of(&sides);
        let value = to_json(&comparison);
        let row = metric(&value, "data read", "iops");
        assert_eq!(row["verdict"], "these-runs-differ", "{row}");
        assert!((row["ratio"].as_f64().unwrap() - 2.0).abs() < 0.01);
        assert!(row["ratio_low"].as_f64().unwrap() > 1.5, "{row}");
        let section = &sections(&comparison)[0];
        assert_eq!(section.title, "B against A");
        assert!(section.notes[0].text.contains("These runs differ in"), "{section:?}");
        let said = format!("{section:?}");
        assert!(!said.contains("significant") && said.contains("at least 4 runs a side"), "{said}");
    }

    #[test]
    fn four_runs_a_side_are_compared_run_by_run() {
        let sides = [side("A", vec![fixture::run(); 4]), side("B", vec![faster(2.0); 4])];
        let comparison = Comparison::of(&sides);
        let value = to_json(&comparison);
        assert_eq!(value["others"][0]["samples"], "runs");
        assert_eq!(value["others"][0]["runs"], serde_json::json!([4, 4]));
        assert_eq!(metric(&value, "data read", "iops")["verdict"], "significant");
        assert!(sections(&comparison)[0].notes[0].text.contains("differ significantly"));
    }

    /// The story: "These runs do not differ in any of 20 metrics", of which 9 could not be tested and one had fallen by a third.
    #[test]
    fn that_no_difference_was_shown_is_not_said_to_be_none() {
        let sides = [side("A", vec![fixture::run()]), side("B", vec![faster(1.0)])];
        let text = &sections(&Comparison::of(&sides))[0].notes[0].text.clone();
        let is_open = text.contains("could be shown") || text.contains("No verdict");
        assert!(is_open && !text.contains("do not differ"), "{text}");
    }

    /// The story: `compare 1,1,1,1 2,2,2,2` of two equal runs said that all five metrics differ significantly.
    #[test]
    fn a_run_given_four_times_is_one_run_and_one_on_both_sides_is_in_neither() {
        let (one, two, three) =
            (side("", vec![fixture::run()]), side("", vec![faster(2.0)]), side("", vec![faster(2.0)]));
        let of = |first: &[&MeasuredSide], second: &[&MeasuredSide]| {
            let runs = |sides: &[&MeasuredSide]| sides.iter().flat_map(|side| side.runs.clone()).collect();
            let side = |label: &str, runs| MeasuredSide { label: label.into(), runs };
            Comparison::of(&[side("A", runs(first)), side("B", runs(second))])
        };
        let repeated = of(&[&one; 4], &[&two; 4]);
        let value = to_json(&repeated);
        assert_eq!(value["others"][0]["runs"], serde_json::json!([1, 1]));
        assert_eq!(value["others"][0]["samples"], "seconds");
        assert!(format!("{:?}", sections(&repeated)).contains("6 runs were repeated"));
        let shared = of(&[&one, &three], &[&two, &three]);
        assert_eq!(to_json(&shared)["others"][0]["runs"], serde_json::json!([1, 1]));
        assert!(format!("{:?}", sections(&shared)).contains("One run was given on both sides"));
        let itself = &sections(&of(&[&one], &[&one]))[0];
        assert!(
            itself.notes[0].text.contains("compared with itself") && itself.tables.is_empty(),
            "{itself:?}"
        );
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
        let said = sections(&Comparison::of(&sides))[0]
            .notes
            .iter()
            .map(|note| note.text.clone())
            .collect::<Vec<_>>()
            .join("\n");
        for words in [
            "sizes: 9 GiB and 33 GiB",
            "block sizes: ",
            "and 64 KiB",
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
        let value = to_json(&Comparison::of(&sides));
        let row = metric(&value, "random read 8K, depth 8 × 1 worker, target 1", "iops");
        // Three intervals per side: too few for a verdict.
        assert!(row["verdict"] == "too-few-samples" && row["ratio"] == 1.0, "{row}");
        let mixed = [side("A", vec![fixture::sweep()]), side("B", vec![fixture::run()])];
        let section = &sections(&Comparison::of(&mixed))[0];
        assert!(section.notes[0].text.contains("nothing in common"));
        assert!(section.tables.is_empty());
    }
}
