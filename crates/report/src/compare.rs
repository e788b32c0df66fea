//! The report of a comparison: every metric of the first side beside the others', with difference, ratio, confidence
//! interval and whether it is significant.

use std::collections::BTreeMap;

use iostall_measure::{Histogram, Op, Percentile};
use iostall_model::outcome::{IntervalOp, RoleOutcome, SpanOutcome};
use iostall_model::{Point, Repeat, Run, RunBody};
use iostall_qualify::compare::{Difference, SAMPLES_MIN, Samples, compare, doubts};
use serde::Serialize;

use crate::chapter::{Chapter, Finding};
use crate::figures::{RowKind, rows};
use crate::format::{NONE, duration, number, shown};
use crate::point::{access_word, setting};
use crate::table::{Column, Table, TableCell, Tone};

/// Shorter intervals of a series are left out.
const WHOLE_NS: u64 = 500_000_000;

/// One side: what it is called, and its runs.
#[derive(Clone, Debug)]
pub struct Side {
    /// `A #12`, say.
    pub label: String,
    /// One run, or repeats of it.
    pub runs: Vec<Run>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Metric {
    Iops,
    MibPerS,
    LatencyNsMean,
    LatencyNsP50,
    LatencyNsP99,
}

impl Metric {
    const ALL: [Self; 5] =
        [Self::Iops, Self::MibPerS, Self::LatencyNsMean, Self::LatencyNsP50, Self::LatencyNsP99];

    fn name(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::MibPerS => "MiB/s",
            Self::LatencyNsMean => "mean latency",
            Self::LatencyNsP50 => "p50 latency",
            Self::LatencyNsP99 => "p99 latency",
        }
    }

    fn is_rate(self) -> bool {
        matches!(self, Self::Iops | Self::MibPerS)
    }

    fn shown(self, value: f64) -> String {
        if self.is_rate() { number(value) } else { duration(value) }
    }
}

/// What one subject (a role's operation, a setting) gave in all runs of a side.
#[derive(Default)]
struct Gathered {
    count: u64,
    bytes: u64,
    measured_ns: u64,
    latency_ns: Histogram,
    /// By metric: one value a run.
    runs: BTreeMap<Metric, Vec<f64>>,
    /// By metric: one value a second, or an interval of a point.
    seconds: BTreeMap<Metric, Vec<f64>>,
}

impl Gathered {
    fn add_run(&mut self, count: u64, bytes: u64, measured_ns: u64, latency_ns: &Histogram) {
        for metric in Metric::ALL {
            if let Some(value) = value_of(metric, count, bytes, measured_ns, latency_ns) {
                self.runs.entry(metric).or_default().push(value);
            }
        }
        self.count += count;
        self.bytes += bytes;
        self.measured_ns += measured_ns;
        self.latency_ns.merge(latency_ns);
    }

    fn add_second(&mut self, metric: Metric, value: Option<f64>) {
        self.seconds.entry(metric).or_default().extend(value);
    }

    fn value(&self, metric: Metric) -> Option<f64> {
        value_of(metric, self.count, self.bytes, self.measured_ns, &self.latency_ns)
    }
}

fn value_of(metric: Metric, count: u64, bytes: u64, measured_ns: u64, latency_ns: &Histogram) -> Option<f64> {
    let per_second = |amount: f64| (measured_ns > 0).then(|| amount / (measured_ns as f64 / 1e9));
    match metric {
        Metric::Iops => per_second(count as f64),
        Metric::MibPerS => per_second(bytes as f64 / 1_048_576.0),
        Metric::LatencyNsMean => latency_ns.mean(),
        Metric::LatencyNsP50 => latency_ns.value_at(Percentile::P50).map(|ns| ns as f64),
        Metric::LatencyNsP99 => latency_ns.value_at(Percentile::P99).map(|ns| ns as f64),
    }
}

/// Subjects in the order they come up first.
#[derive(Default)]
struct Subjects(Vec<(String, Gathered)>);

impl Subjects {
    fn of(&mut self, subject: &str) -> &mut Gathered {
        let place = self.0.iter().position(|(name, _)| name == subject).unwrap_or_else(|| {
            self.0.push((subject.to_owned(), Gathered::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    fn get(&self, subject: &str) -> Option<&Gathered> {
        self.0.iter().find(|(name, _)| name == subject).map(|(_, gathered)| gathered)
    }
}

fn gather(runs: &[Run]) -> Subjects {
    let mut all = Subjects::default();
    for run in runs {
        if let RunBody::Load(load) = &run.body {
            for (index, span) in load.spans.iter().enumerate() {
                let several = load.profile.spans.len() > 1;
                let prefix = if several { format!("span {} ", index + 1) } else { String::new() };
                for role in &span.roles {
                    gather_role(&prefix, span, role, &mut all);
                }
            }
        }
        for point in crate::point::points(run) {
            gather_point(point, all.of(&subject_of(point)));
        }
    }
    all
}

fn gather_role(prefix: &str, span: &SpanOutcome, role: &RoleOutcome, all: &mut Subjects) {
    for row in rows(role).iter().filter(|row| row.kind.moves_data()) {
        let Some(latency_ns) = row.waited_ns() else { continue };
        let gathered = all.of(&format!("{prefix}{} {}", shown(&role.name), row.kind.name()));
        gathered.add_run(row.count, row.bytes, span.measured_ns, latency_ns);
        // A last interval of a few milliseconds is too short for a rate.
        for point in role.series.iter().filter(|point| point.length_ns >= WHOLE_NS) {
            let counts = |op: &&IntervalOp| match row.kind {
                RowKind::Op(kind) => op.op == kind,
                _ => op.op != Op::Sync,
            };
            let ops: Vec<&IntervalOp> = point.ops.iter().filter(counts).collect();
            gather_second(&ops, point.length_ns, gathered);
        }
    }
}

fn gather_second(ops: &[&IntervalOp], length_ns: u64, gathered: &mut Gathered) {
    let seconds = length_ns as f64 / 1e9;
    let count: u64 = ops.iter().map(|op| op.count).sum();
    let bytes: u64 = ops.iter().map(|op| op.bytes).sum();
    gathered.add_second(Metric::Iops, Some(count as f64 / seconds));
    gathered.add_second(Metric::MibPerS, Some(bytes as f64 / 1_048_576.0 / seconds));
    let mean = ops.iter().map(|op| op.latency_ns_mean * op.count as f64).sum::<f64>() / count as f64;
    gathered.add_second(Metric::LatencyNsMean, Some(mean).filter(|mean| mean.is_finite()));
    // Percentiles of two operations cannot be put together: only a single one has them.
    if let [op] = ops {
        gathered.add_second(Metric::LatencyNsP50, Some(op.latency_ns_p50 as f64));
        gathered.add_second(Metric::LatencyNsP99, Some(op.latency_ns_p99 as f64));
    }
}

fn subject_of(point: &Point) -> String {
    let op = match point.write_pct.percent() {
        none if none <= 0.0 => "read".to_owned(),
        all if all >= 100.0 => "write".to_owned(),
        some => format!("with {some} % writes"),
    };
    let target =
        if point.targets.len() == 1 { format!(", target {}", point.targets[0] + 1) } else { String::new() };
    format!("{} {op} {}, {}{target}", access_word(point), point.block_size, setting(point))
}

fn gather_point(point: &Point, gathered: &mut Gathered) {
    let count = point.repeats.iter().map(|repeat| repeat.count).sum();
    let bytes = point.repeats.iter().map(|repeat| repeat.bytes).sum();
    gathered.add_run(count, bytes, point.measured_ns(), &point.latency_ns);
    for repeat in &point.repeats {
        let mib = |repeat: &Repeat| {
            repeat.iops().map(|_| repeat.bytes as f64 / 1_048_576.0 / (repeat.measured_ns as f64 / 1e9))
        };
        gathered.add_second(Metric::Iops, repeat.iops());
        gathered.add_second(Metric::MibPerS, mib(repeat));
        gathered.add_second(Metric::LatencyNsMean, repeat.latency_ns_mean);
        gathered.add_second(Metric::LatencyNsP99, repeat.latency_ns_p99.map(|ns| ns as f64));
    }
}

/// One metric of one subject on two sides.
#[derive(Debug)]
struct Row {
    subject: String,
    metric: Metric,
    first: f64,
    second: f64,
    found: Option<Difference>,
}

/// The second side, or a later one, against the first.
#[derive(Debug)]
struct Against {
    label: String,
    rows: Vec<Row>,
    doubts: Vec<String>,
    samples: Samples,
}

/// A comparison of sides with the first of them.
#[derive(Debug)]
pub struct Comparison {
    first: String,
    others: Vec<Against>,
    seed: u64,
}

impl Comparison {
    /// Compares every side with the first. `seed` is the bootstrap's.
    pub fn of(sides: &[Side], seed: u64) -> Self {
        let Some((first, others)) = sides.split_first() else {
            return Self { first: String::new(), others: Vec::new(), seed };
        };
        let others = others.iter().map(|second| against(first, second, seed)).collect();
        Self { first: first.label.clone(), others, seed }
    }

    /// Findings and a table for each side but the first.
    pub fn chapters(&self) -> Vec<Chapter> {
        self.others.iter().map(|other| self.chapter(other)).collect()
    }

    fn chapter(&self, other: &Against) -> Chapter {
        let mut findings: Vec<Finding> = Vec::new();
        let significant: Vec<&Row> = other.rows.iter().filter(|row| is_significant(row)).collect();
        findings.push(match (other.rows.len(), significant.len()) {
            (0, _) => Finding::doubt("The two have nothing in common that could be compared."),
            (_, 0) if other.rows.iter().all(|row| row.found.is_none()) => Finding::doubt(format!(
                "No verdict: there are too few samples. Measure longer, or repeat: at least {SAMPLES_MIN} runs a side."
            )),
            (all, 0) => Finding::strong(format!("No significant difference in any of {all} metrics.")),
            (all, count) => Finding::strong(format!("{count} of {all} metrics differ significantly.")),
        });
        findings.extend(other.doubts.iter().map(|doubt| Finding::doubt(format!("Not the same: {doubt}."))));
        Chapter {
            title: format!("{} against {}", other.label, self.first),
            findings,
            tables: if other.rows.is_empty() { Vec::new() } else { vec![self.table(other)] },
            details: Vec::new(),
        }
    }

    fn table(&self, other: &Against) -> Table {
        let columns = vec![
            Column::words(""),
            Column::numbers(&self.first),
            Column::numbers(&other.label),
            Column::numbers("difference").droppable(1),
            Column::numbers("ratio"),
            Column::numbers("95 % of the ratio").droppable(2),
            Column::numbers("p").droppable(3),
            Column::words("verdict"),
        ];
        let mut table = Table::new("Metrics", columns);
        let mut subject = "";
        for row in &other.rows {
            if row.subject != subject {
                table.group(row.subject.clone(), "");
                subject = &row.subject;
            }
            table.row(cells(row));
        }
        let samples = match other.samples {
            Samples::Runs => "each run is one sample",
            Samples::Seconds => {
                "seconds (intervals of points) are the samples, put in blocks as long as their correlation lasts; the \
                 percentiles' are those of each second"
            }
        };
        table.note(&format!(
            "95 %: percentile bootstrap (seed {}). p: Mann–Whitney rank test. {samples}. Significant: p < 0.05 and 1 outside \
             the interval. With so many metrics one in twenty differs by chance.",
            self.seed
        ));
        table
    }

    /// The comparison for scripts.
    pub fn to_json(&self) -> serde_json::Value {
        let others: Vec<_> = self.others.iter().map(against_json).collect();
        serde_json::json!({
            "schema": "iostall-comparison", "schema_version": 1, "first": self.first, "bootstrap_seed": self.seed,
            "others": others,
        })
    }
}

fn against_json(other: &Against) -> serde_json::Value {
    let rows: Vec<_> = other
        .rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "subject": row.subject, "metric": row.metric, "first": row.first, "second": row.second,
                "difference": row.second - row.first, "ratio": ratio(row),
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
    serde_json::json!({"label": other.label, "samples": samples, "doubts": other.doubts, "metrics": rows})
}

fn against(first: &Side, second: &Side, seed: u64) -> Against {
    let samples = if first.runs.len() >= SAMPLES_MIN && second.runs.len() >= SAMPLES_MIN {
        Samples::Runs
    } else {
        Samples::Seconds
    };
    let (ours, theirs) = (gather(&first.runs), gather(&second.runs));
    let mut rows = Vec::new();
    for (subject, ours) in &ours.0 {
        let Some(theirs) = theirs.get(subject) else { continue };
        for metric in Metric::ALL {
            let (Some(one), Some(other)) = (ours.value(metric), theirs.value(metric)) else { continue };
            let values = |side: &Gathered| -> Vec<f64> {
                let all = if samples == Samples::Runs { &side.runs } else { &side.seconds };
                all.get(&metric).cloned().unwrap_or_default()
            };
            let found = compare(&values(ours), &values(theirs), samples, seed);
            rows.push(Row { subject: subject.clone(), metric, first: one, second: other, found });
        }
    }
    let mut reasons: Vec<String> = Vec::new();
    for pair in first.runs.iter().flat_map(|ours| second.runs.iter().map(move |theirs| (ours, theirs))) {
        for reason in doubts(pair.0, pair.1) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    Against { label: second.label.clone(), rows, doubts: reasons, samples }
}

fn ratio(row: &Row) -> Option<f64> {
    (row.first > 0.0).then(|| row.second / row.first)
}

fn is_significant(row: &Row) -> bool {
    row.found.is_some_and(|found| found.is_significant())
}

fn cells(row: &Row) -> Vec<TableCell> {
    let difference = row.second - row.first;
    let sign = if difference < 0.0 { "-" } else { "+" };
    let found = row.found.as_ref();
    let interval = found.map(|found| format!("{:.3} to {:.3}", found.ratio.low, found.ratio.high));
    let p =
        found.map(
            |found| if found.p_value < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", found.p_value) },
        );
    let none = || NONE.to_owned();
    vec![
        row.metric.name().into(),
        row.metric.shown(row.first).into(),
        row.metric.shown(row.second).into(),
        format!("{sign}{}", row.metric.shown(difference.abs())).into(),
        ratio(row).map_or_else(none, |ratio| format!("{ratio:.3}")).into(),
        interval.unwrap_or_else(none).into(),
        p.unwrap_or_else(none).into(),
        verdict(row),
    ]
}

fn verdict(row: &Row) -> TableCell {
    if row.found.is_none() {
        return TableCell::from("too few samples").tone(Tone::Doubt);
    }
    if !is_significant(row) {
        return "no significant difference".into();
    }
    let change = ratio(row).map_or(0.0, |ratio| (ratio - 1.0) * 100.0);
    let better = (row.second > row.first) == row.metric.is_rate();
    let word = if better { "better" } else { "worse" };
    TableCell::from(format!("{word}, {change:+.1} %")).tone(if better { Tone::Strong } else { Tone::Bad })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn side(label: &str, runs: Vec<Run>) -> Side {
        Side { label: label.into(), runs }
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
        let value = Comparison::of(&sides, 1).to_json();
        for row in value["others"][0]["metrics"].as_array().unwrap() {
            assert_eq!(row["ratio"], 1.0, "{row}");
            assert_ne!(row["significant"], true, "{row}");
        }
        assert_eq!(value["others"][0]["samples"], "seconds");
        assert!(
            value["others"][0]["doubts"]
                .as_array()
                .unwrap()
                .iter()
                .all(|doubt| doubt.as_str().unwrap().contains("failed"))
        );
    }

    #[test]
    fn twice_the_rate_is_found_significant_second_by_second() {
        let sides = [side("A", vec![fixture::run()]), side("B", vec![faster(2.0)])];
        let comparison = Comparison::of(&sides, 1);
        let value = comparison.to_json();
        let row = metric(&value, "data read", "iops");
        assert_eq!(row["significant"], true, "{row}");
        assert!((row["ratio"].as_f64().unwrap() - 2.0).abs() < 0.01);
        assert!(row["ratio_low"].as_f64().unwrap() > 1.5, "{row}");
        let chapter = &comparison.chapters()[0];
        assert_eq!(chapter.title, "B against A");
        assert!(chapter.findings[0].text.contains("differ significantly"), "{chapter:?}");
    }

    #[test]
    fn four_runs_a_side_are_compared_run_by_run() {
        let sides = [side("A", vec![fixture::run(); 4]), side("B", vec![faster(2.0); 4])];
        let value = Comparison::of(&sides, 1).to_json();
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
        let said = Comparison::of(&sides, 1).chapters()[0]
            .findings
            .iter()
            .map(|finding| finding.text.clone())
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
        let value = Comparison::of(&sides, 1).to_json();
        let row = metric(&value, "random read 8K, depth 8 × 1 worker, target 1", "iops");
        // Three intervals a side: too few for a verdict.
        assert!(row["significant"].is_null() && row["ratio"] == 1.0, "{row}");
        let mixed = [side("A", vec![fixture::sweep()]), side("B", vec![fixture::run()])];
        let chapter = &Comparison::of(&mixed, 1).chapters()[0];
        assert!(chapter.findings[0].text.contains("nothing in common"));
        assert!(chapter.tables.is_empty());
    }
}
