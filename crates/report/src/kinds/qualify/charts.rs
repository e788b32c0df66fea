//! The plots of the specification: how the rounds converge, the window, and a write saturation over what was written.

use iostall_measure::Durability;
use iostall_model::qualify::{QualifyRound, QualifyTest};
use iostall_model::{Point, QualifyOutcome};
use iostall_session::analysis::qualify::{
    Rates, StageRounds, TrackedWindow, cliff, course, demand, shown_stage, shown_window, stages,
};
use serde_json::{Value, json};

use super::words::{cell_name, figure_name};
use crate::chart::{COLOURS, Chart, drawn, figure, length_axis, rate_axis, rounded, seconds};

pub(super) fn charts(outcome: &QualifyOutcome) -> Vec<Chart> {
    let y = rate_axis("IOPS");
    let rounds = json!({"title": {"text": "round"}});
    let mut charts = match outcome.plan.test {
        QualifyTest::Demand => vec![Chart {
            id: "demand".into(),
            title: "Latency over requests a second".into(),
            caption: "A line for each number of threads, a point for each depth.",
            figure: figure(
                &demand_lines(outcome),
                &rate_axis("IOPS"),
                &length_axis("mean latency"),
                "closest",
            ),
        }],
        QualifyTest::CrossStimulus
        | QualifyTest::FastCache
        | QualifyTest::IdleRecovery
        | QualifyTest::ActiveRange => {
            let fills = json!({"title": {"text": "active ranges written"}});
            let unit = rate_axis("MB/s");
            vec![Chart {
                id: "stages".into(),
                title: "Writes over what was written".into(),
                caption: "A line for each stage.",
                figure: figure(&stage_lines(outcome), &fills, &unit, "closest"),
            }]
        }
        QualifyTest::Iops
        | QualifyTest::Sizes
        | QualifyTest::Throughput
        | QualifyTest::Latency
        | QualifyTest::Depth
        | QualifyTest::WriteCache => vec![Chart {
            id: "convergence".into(),
            title: "Convergence of the writes".into(),
            caption: "A line for each size of writes, round by round.",
            figure: figure(&convergence(outcome), &rounds, &y, "closest"),
        }],
        QualifyTest::Saturation => {
            let fills = json!({"title": {"text": "active ranges written"}});
            vec![Chart {
                id: "saturation".into(),
                title: "Random writes over what was written".into(),
                caption: "A dashed line marks the cliff, where there is one.",
                figure: figure(&saturation(outcome), &fills, &y, "closest"),
            }]
        }
    };
    let steps = if shown_stage(outcome).is_some_and(|one| one.stage.by_fill) {
        json!({"title": {"text": "tenth of the active range"}})
    } else {
        rounds.clone()
    };
    for (index, one) in shown_window(outcome).iter().flat_map(|window| window.tracked.iter().enumerate()) {
        charts.push(Chart {
            id: format!("window-{index}").into(),
            title: format!("Measurement window, {}", cell_name(one.write_pct, one.size)).into(),
            caption: "The rounds of the window with their average, 110 and 90 % of it, and the line that fits best.",
            figure: figure(&window(one), &steps, &rate_axis(figure_name(one.figure)), "closest"),
        });
    }
    drawn(charts)
}

fn stage_lines(outcome: &QualifyOutcome) -> Vec<Value> {
    let all = stages(outcome);
    let line = |(one, colour): (&StageRounds<'_>, &&str)| {
        let rate = |round: &QualifyRound| Rates::of(round.points.iter()).map(|rates| rounded(rates.mb_per_s));
        let x = one.rounds.iter().map(|round| rounded(outcome.fills(round.written_bytes)));
        json!({
            "type": "scatter", "mode": "lines+markers", "name": one.stage.name,
            "x": x.collect::<Vec<_>>(), "y": one.rounds.iter().map(rate).collect::<Vec<_>>(),
            "line": {"color": colour, "width": 2}, "hovertemplate": "%{x} fills: %{y:,.1f} MB/s",
        })
    };
    all.iter().filter(|one| !one.rounds.is_empty()).zip(COLOURS.iter().cycle()).map(line).collect()
}

fn demand_lines(outcome: &QualifyOutcome) -> Vec<Value> {
    let Some(demand) = demand(outcome) else { return Vec::new() };
    let mut threads: Vec<u32> = demand.points.iter().map(|point| point.workers).collect();
    threads.dedup();
    let line = |(workers, colour): (&u32, &&str)| {
        let own = || demand.points.iter().filter(|point| point.workers == *workers);
        let depth = |point: &Point| format!("depth {}", point.queue_depth);
        json!({
            "type": "scatter", "mode": "lines+markers", "name": format!("{workers} threads"),
            "x": own().map(|point| point.iops().map(rounded)).collect::<Vec<_>>(),
            "y": own().map(|point| point.latency_ns.mean().map(seconds)).collect::<Vec<_>>(),
            "text": own().map(depth).collect::<Vec<_>>(),
            "line": {"color": colour, "width": 2}, "hovertemplate": "%{text}: %{x:,.0f} IOPS, %{y:.3~s}s",
        })
    };
    threads.iter().zip(COLOURS.iter().cycle()).map(line).collect()
}

fn convergence(outcome: &QualifyOutcome) -> Vec<Value> {
    let all = stages(outcome);
    let mut lines = Vec::new();
    for one in all.iter().filter(|one| !one.rounds.is_empty()) {
        for (index, cell) in one.stage.cells.iter().enumerate() {
            if cell.write_pct.percent() < 100.0 {
                continue;
            }
            let depth = if one.stage.cells.iter().any(|other| other.queue_depth != cell.queue_depth) {
                format!(", depth {} × {}", cell.queue_depth, cell.workers)
            } else {
                String::new()
            };
            let durable = if cell.durability == Durability::None { "" } else { ", write-through" };
            let colour = COLOURS[lines.len() % COLOURS.len()];
            let rates =
                one.rounds.iter().map(|round| round.points.get(index).and_then(Point::iops).map(rounded));
            lines.push(json!({
                "type": "scatter", "mode": "lines+markers",
                "name": format!("{}{depth}{durable}", cell_name(cell.write_pct, cell.size)),
                "x": (1..=one.rounds.len()).collect::<Vec<_>>(), "y": rates.collect::<Vec<_>>(),
                "line": {"color": colour, "width": 2}, "hovertemplate": "round %{x}: %{y:,.0f}",
            }));
        }
    }
    lines
}

fn saturation(outcome: &QualifyOutcome) -> Vec<Value> {
    let steps = course(outcome);
    if steps.is_empty() {
        return Vec::new();
    }
    let (x, y): (Vec<f64>, Vec<f64>) =
        steps.iter().map(|(fills, iops)| (rounded(*fills), rounded(*iops))).unzip();
    let most = y.iter().copied().fold(0.0, f64::max);
    let mut traces = vec![json!({
        "type": "scatter", "mode": "lines+markers", "name": "0/100 4 KiB", "x": x, "y": y,
        "line": {"color": COLOURS[0], "width": 2}, "hovertemplate": "%{x} fills: %{y:,.0f}",
    })];
    if let Some(found) = cliff(outcome) {
        traces.push(json!({
            "type": "scatter", "mode": "lines", "name": "cliff",
            "x": [rounded(found.fills), rounded(found.fills)], "y": [0.0, most],
            "line": {"color": COLOURS[4], "dash": "longdash", "width": 1}, "hovertemplate": "%{x} fills",
        }));
    }
    traces
}

fn window(one: &TrackedWindow) -> Vec<Value> {
    let found = &one.determination;
    let rounds: Vec<usize> = (found.first_round..found.first_round + one.values.len()).collect();
    let ends = [found.first_round, found.first_round + one.values.len() - 1];
    let line = |name: &str, y: [f64; 2], colour: &str, dash: &str| {
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": ends, "y": y.map(rounded),
            "line": {"color": colour, "dash": dash, "width": 1}, "hovertemplate": "%{y:,.0f}",
        })
    };
    let level = |share: f64| [share * found.average; 2];
    vec![
        json!({
            "type": "scatter", "mode": "lines+markers", "name": figure_name(one.figure), "x": rounds,
            "y": one.values.iter().map(|value| rounded(*value)).collect::<Vec<_>>(),
            "line": {"color": COLOURS[0], "width": 2}, "hovertemplate": "round %{x}: %{y:,.0f}",
        }),
        line("average", level(1.0), COLOURS[2], "solid"),
        line("110 %", level(1.1), COLOURS[4], "longdash"),
        line("90 %", level(0.9), COLOURS[4], "longdash"),
        line("best fit", ends.map(|round| found.fitted(round)), COLOURS[1], "dot"),
    ]
}
