//! The charts of a span in a load.

use iostall_measure::{Histogram, Op, Percentile};
use iostall_model::figures::{LatencyKind, RowKind, per_second, rows};
use iostall_model::outcome::{IntervalOp, IntervalPoint, RoleOutcome, SpanOutcome};
use serde_json::{Value, json};

use super::series::ops_of;
use crate::chart::{
    COLOURS, Chart, drawn, figure, latency_axis, latency_axis_across, rate_axis, rounded, seconds, trace_name,
};

pub(super) fn charts(span: &SpanOutcome) -> Vec<Chart> {
    let all = [
        Chart {
            id: "percentiles".into(),
            title: "Latency by percentile".into(),
            caption: "How slow the slowest requests were: each step to the right is ten times rarer.",
            figure: figure(&percentile_traces(span), &percentile_axis(), &latency_axis(), "closest"),
        },
        Chart {
            id: "distribution".into(),
            title: "Requests answered within".into(),
            caption: "Share of the requests that took at most this long.",
            figure: figure(
                &distribution_traces(span),
                &latency_axis_across(),
                &json!({"title": {"text": "share of requests"}, "ticksuffix": " %", "range": [0, 101]}),
                "closest",
            ),
        },
        Chart {
            id: "iops".into(),
            title: "IOPS over time".into(),
            caption: "Requests completed each second, by role and operation.",
            figure: figure(
                &rate_traces(span, Op::ALL.as_slice(), "%{y:,.0f} IOPS", |op| op.count as f64),
                &time_axis(),
                &rate_axis("IOPS"),
                "x unified",
            ),
        },
        Chart {
            id: "throughput".into(),
            title: "Throughput over time".into(),
            caption: "Data moved each second, by role and operation.",
            figure: figure(
                &rate_traces(span, &[Op::Read, Op::Write], "%{y:,.1f} MiB/s", |op| {
                    op.bytes as f64 / 1_048_576.0
                }),
                &time_axis(),
                &rate_axis("MiB/s"),
                "x unified",
            ),
        },
        Chart {
            id: "latency".into(),
            title: "Latency over time".into(),
            caption: "Median, 99th percentile and maximum of each second; response time where the loop is open.",
            figure: figure(&latency_traces(span), &time_axis(), &latency_axis(), "x unified"),
        },
    ];
    drawn(all)
}

fn time_axis() -> Value {
    json!({"title": {"text": "seconds from the start of the measured part"}, "rangemode": "tozero"})
}

/// Percentiles with equal distances between nines: the axis is the logarithm of `1 / (1 - p)`.
fn percentile_axis() -> Value {
    let shares =
        [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999, 0.999_999_9, 0.999_999_99, 0.999_999_999];
    let labels =
        ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "5 nines", "6 nines", "7 nines", "8 nines", "9 nines"];
    let places: Vec<f64> = shares.iter().map(|share| rounded(1.0 / (1.0 - share))).collect();
    json!({
        "title": {"text": "percentile"}, "type": "log",
        "tickmode": "array", "tickvals": places, "ticktext": labels,
    })
}

/// Every latency of the span: name, colour, dash and histogram. A row keeps its colour; if it has both kinds,
/// service is dashed and response is solid.
fn latency_sets(span: &SpanOutcome) -> Vec<(String, &'static str, &'static str, Histogram)> {
    let mut sets = Vec::new();
    let mut colours = COLOURS.iter().cycle();
    for role in &span.roles {
        for row in rows(role).iter().filter(|row| row.kind != RowKind::Total) {
            let colour = colours.next().copied().unwrap_or(COLOURS[0]);
            let open = row.response_ns.is_some();
            for (kind, histogram) in row.latencies().filter(|(_, histogram)| !histogram.is_empty()) {
                let name = trace_name(&role.name, row.kind.name());
                let name = if open { format!("{name} {}", kind.name()) } else { name };
                let dash = if open && kind == LatencyKind::Service { "dash" } else { "solid" };
                sets.push((name, colour, dash, histogram.clone()));
            }
        }
    }
    sets
}

fn percentile_traces(span: &SpanOutcome) -> Vec<Value> {
    let trace = |(name, colour, dash, histogram): (String, &str, &str, Histogram)| {
        let count = histogram.count() as f64;
        let (mut x, mut y, mut percents) = (vec![1.0], Vec::new(), vec!["0".to_owned()]);
        y.push(seconds(histogram.min().unwrap_or(0) as f64));
        let mut seen = 0_u64;
        for (_, high, bucket) in histogram.filled() {
            seen += bucket;
            // The middle of the last sample's rank, so that the maximum has a finite position.
            let beyond = (count - seen as f64 + 0.5) / count;
            x.push(rounded(1.0 / beyond));
            y.push(seconds(high.min(histogram.max().unwrap_or(high)) as f64));
            percents.push(percent_words(1.0 - beyond));
        }
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "customdata": percents,
            "line": {"color": colour, "dash": dash, "width": 2},
            "hovertemplate": "%{customdata} % took at most <b>%{y:.3~s}s</b>",
        })
    };
    latency_sets(span).into_iter().map(trace).collect()
}

/// A percentage with as many digits as it has nines, plus two.
fn percent_words(share: f64) -> String {
    let beyond = (1.0 - share).max(1e-12);
    let nines = Percentile::LEVELS.iter().filter(|(step, _)| 1.0 - step.percent() / 100.0 > beyond).count();
    format!("{:.*}", nines.saturating_sub(3).max(2), share * 100.0)
}

fn distribution_traces(span: &SpanOutcome) -> Vec<Value> {
    let trace = |(name, colour, dash, histogram): (String, &str, &str, Histogram)| {
        let count = histogram.count() as f64;
        let mut x = vec![seconds(histogram.min().unwrap_or(0).max(1) as f64)];
        let mut y = vec![0.0];
        let mut seen = 0_u64;
        for (_, high, bucket) in histogram.filled() {
            seen += bucket;
            x.push(seconds(high.min(histogram.max().unwrap_or(high)).max(1) as f64));
            y.push(rounded(seen as f64 / count * 100.0));
        }
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y,
            "line": {"color": colour, "dash": dash, "width": 2},
            "hovertemplate": "<b>%{y:.2f} %</b> took at most %{x:.3~s}s",
        })
    };
    latency_sets(span).into_iter().map(trace).collect()
}

/// Every operation in a series with its colour, the same as for its latency.
fn series_ops(span: &SpanOutcome) -> Vec<(&RoleOutcome, Op, &'static str)> {
    let mut ops = Vec::new();
    let mut colours = COLOURS.iter().cycle();
    for role in &span.roles {
        let in_series = ops_of(role);
        for row in rows(role).iter().filter(|row| row.kind != RowKind::Total) {
            let colour = colours.next().copied().unwrap_or(COLOURS[0]);
            if let RowKind::Op(op) = row.kind
                && in_series.contains(&op)
            {
                ops.push((role, op, colour));
            }
        }
    }
    ops
}

fn find(point: &IntervalPoint, op: Op) -> Option<&IntervalOp> {
    point.ops.iter().find(|found| found.op == op)
}

fn starts(role: &RoleOutcome) -> Vec<f64> {
    role.series.iter().map(|point| seconds(point.start_ns as f64)).collect()
}

/// A line needs two points; a short series is drawn with markers.
fn mode(role: &RoleOutcome) -> &'static str {
    if role.series.len() < 3 { "lines+markers" } else { "lines" }
}

fn rate_traces(span: &SpanOutcome, wanted: &[Op], hover: &str, amount: fn(&IntervalOp) -> f64) -> Vec<Value> {
    let of_op = |(role, op, colour): (&RoleOutcome, Op, &str)| {
        // If nothing completed, the rate is zero, but there is no latency.
        let rate = |point: &IntervalPoint| {
            per_second(find(point, op).map_or(0.0, amount), point.length_ns).map(rounded)
        };
        json!({
            "type": "scatter", "mode": mode(role), "name": trace_name(&role.name, op.name()),
            "x": starts(role), "y": role.series.iter().map(rate).collect::<Vec<_>>(),
            "line": {"color": colour, "width": 2}, "hovertemplate": hover,
        })
    };
    series_ops(span).into_iter().filter(|(_, op, _)| wanted.contains(op)).map(of_op).collect()
}

fn latency_traces(span: &SpanOutcome) -> Vec<Value> {
    type Statistic = (&'static str, &'static str, f64, fn(&IntervalOp) -> u64);
    const STATISTICS: [Statistic; 3] = [
        ("p50", "solid", 2.0, |op| op.latency_ns_p50),
        ("p99", "dash", 2.0, |op| op.latency_ns_p99),
        ("max", "dot", 1.0, |op| op.latency_ns_max),
    ];
    let mut traces = Vec::new();
    for (role, op, colour) in series_ops(span) {
        for (statistic, dash, width, value) in STATISTICS {
            let y: Vec<Option<f64>> = role
                .series
                .iter()
                .map(|point| find(point, op).map(|found| seconds(value(found).max(1) as f64)))
                .collect();
            traces.push(json!({
                "type": "scatter", "mode": mode(role),
                "name": trace_name(&role.name, &format!("{} {statistic}", op.name())),
                "x": starts(role), "y": y,
                "line": {"color": colour, "dash": dash, "width": width},
                "hovertemplate": "%{y:.3~s}s",
            }));
        }
    }
    traces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_percentile_chart_ends_at_the_maximum_and_never_falls() {
        let run = fixture::run();
        let charts = charts(&fixture::load(&run).spans[0]);
        let trace = &charts[0].figure["data"][0];
        assert_eq!(trace["name"], "data read");
        let y: Vec<f64> = trace["y"].as_array().unwrap().iter().map(|y| y.as_f64().unwrap()).collect();
        assert!(y.is_sorted());
        let reads = fixture::load(&run).spans[0].roles[0].op(Op::Read).unwrap();
        let max_s = reads.service_ns.max().unwrap() as f64 / 1e9;
        assert!((y.last().unwrap() / max_s - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_second_without_requests_is_a_rate_of_zero_and_a_latency_of_nothing() {
        let run = fixture::run();
        let mut span = fixture::load(&run).spans[0].clone();
        span.roles[0].series[3].ops.clear();
        let charts = charts(&span);
        let y =
            |id: &str| charts.iter().find(|chart| chart.id == id).unwrap().figure["data"][0]["y"][3].clone();
        assert_eq!(y("iops"), json!(0.0));
        assert_eq!(y("latency"), Value::Null);
    }

    #[test]
    fn nothing_measured_is_nothing_drawn() {
        let run = fixture::empty();
        assert!(charts(&fixture::load(&run).spans[0]).is_empty());
    }

    #[test]
    fn a_role_keeps_its_colour_from_chart_to_chart() {
        let run = fixture::run();
        let charts = charts(&fixture::load(&run).spans[0]);
        let colour = |id: &str, name: &str| {
            let chart = charts.iter().find(|chart| chart.id == id).unwrap();
            let data = chart.figure["data"].as_array().unwrap();
            data.iter().find(|trace| trace["name"] == name).unwrap()["line"]["color"].clone()
        };
        assert_eq!(colour("iops", "log sync"), colour("percentiles", "log sync service"));
        assert_eq!(colour("iops", "data write"), colour("latency", "data write p99"));
    }
}
