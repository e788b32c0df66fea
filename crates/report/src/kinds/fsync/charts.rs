//! The charts of commits by sync method.

use iostall_measure::Percentile;
use iostall_model::FsyncOutcome;
use iostall_model::sync::SyncStep;
use serde_json::{Value, json};

use crate::chart::{COLOURS, Chart, drawn, figure, latency_axis, rate_axis, rounded, seconds};

pub(super) fn charts(fsync: &FsyncOutcome) -> Vec<Chart> {
    let methods = json!({"type": "category"});
    drawn([
        Chart {
            id: "commits".into(),
            title: "Commits a second".into(),
            caption: "By sync method and number of committers.",
            figure: figure(&rates(fsync), &methods, &rate_axis("commits/s"), "closest"),
        },
        Chart {
            id: "latency".into(),
            title: "Commit latency".into(),
            caption: "From the 50th percentile to the maximum, by sync method and number of committers.",
            figure: figure(&latencies(fsync), &methods, &latency_axis(), "closest"),
        },
    ])
}

fn measured(fsync: &FsyncOutcome) -> impl Iterator<Item = &SyncStep> {
    fsync.steps.iter().filter(|step| !step.commit_ns.is_empty())
}

fn rates(fsync: &FsyncOutcome) -> Vec<Value> {
    let trace = |(committers, colour): (u32, &&str)| {
        let steps: Vec<&SyncStep> = measured(fsync).filter(|step| step.committers == committers).collect();
        json!({
            "type": "bar", "name": trace_name(committers),
            "x": steps.iter().map(|step| step.method.name()).collect::<Vec<_>>(),
            "y": steps.iter().map(|step| step.commits_per_s().map(rounded)).collect::<Vec<_>>(),
            "marker": {"color": colour}, "hovertemplate": "%{x}: %{y:,.0f} commits/s",
        })
    };
    if measured(fsync).next().is_none() {
        return Vec::new();
    }
    fsync.committers().into_iter().zip(COLOURS.iter().cycle()).map(trace).collect()
}

fn trace_name(committers: u32) -> String {
    if committers == 1 { "1 committer".to_owned() } else { format!("{committers} committers") }
}

fn latencies(fsync: &FsyncOutcome) -> Vec<Value> {
    type Level = (&'static str, fn(&SyncStep) -> Option<u64>);
    const LEVELS: [Level; 4] = [
        ("p50", |step| step.commit_ns.value_at(Percentile::P50)),
        ("p95", |step| step.commit_ns.value_at(Percentile::P95)),
        ("p99", |step| step.commit_ns.value_at(Percentile::P99)),
        ("max", |step| step.commit_ns.max()),
    ];
    if measured(fsync).next().is_none() {
        return Vec::new();
    }
    let trace = |((name, value), colour): (&Level, &&str)| {
        let y = measured(fsync).map(|step| value(step).map(|ns| seconds(ns.max(1) as f64)));
        json!({
            "type": "scatter", "mode": "markers", "name": name,
            "x": measured(fsync).map(SyncStep::label).collect::<Vec<_>>(),
            "y": y.collect::<Vec<_>>(),
            "marker": {"color": colour, "size": 9}, "hovertemplate": "%{x}: %{y:.3~s}s",
        })
    };
    LEVELS.iter().zip(COLOURS.iter()).map(trace).collect()
}
