//! The plots of the specification: how the rounds converge, the window, and a write saturation over what was written.

use iostall_model::qualify::QualifyTest;
use iostall_model::{Point, QualifyOutcome};
use iostall_session::analysis::qualify::{TrackedWindow, cliff, course, shown_window};
use serde_json::{Value, json};

use super::words::cell_name;
use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded};

pub(super) fn charts(outcome: &QualifyOutcome) -> Vec<Chart> {
    let y = rate_axis("IOPS");
    let rounds = json!({"title": {"text": "round"}});
    let mut charts = match outcome.plan.test {
        QualifyTest::Iops => vec![Chart {
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
    let steps = match outcome.plan.test {
        QualifyTest::Iops => rounds.clone(),
        QualifyTest::Saturation => json!({"title": {"text": "tenth of the active range"}}),
    };
    for (index, one) in shown_window(outcome).iter().flat_map(|window| window.tracked.iter().enumerate()) {
        charts.push(Chart {
            id: format!("window-{index}").into(),
            title: format!("Measurement window, {}", cell_name(one.write_pct, one.size)).into(),
            caption: "The rounds of the window with their average, 110 and 90 % of it, and the line that fits best.",
            figure: figure(&window(one), &steps, &y, "closest"),
        });
    }
    drawn(charts)
}

fn convergence(outcome: &QualifyOutcome) -> Vec<Value> {
    let sizes = outcome.plan.sizes.iter().zip(COLOURS.iter().cycle());
    let writes: Vec<_> = outcome.plan.write_pcts.iter().filter(|mix| mix.percent() >= 100.0).collect();
    let Some(write_pct) = writes.first().filter(|_| !outcome.rounds.is_empty()) else { return Vec::new() };
    let line = |(size, colour): (&iostall_measure::BlockSize, &&str)| {
        let rates = outcome
            .rounds
            .iter()
            .map(|round| round.point(**write_pct, *size).and_then(Point::iops).map(rounded));
        json!({
            "type": "scatter", "mode": "lines+markers", "name": cell_name(**write_pct, *size),
            "x": (1..=outcome.rounds.len()).collect::<Vec<_>>(), "y": rates.collect::<Vec<_>>(),
            "line": {"color": colour, "width": 2}, "hovertemplate": "round %{x}: %{y:,.0f}",
        })
    };
    sizes.map(line).collect()
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
    let rounds: Vec<usize> = (found.first_round..found.first_round + one.iops.len()).collect();
    let ends = [found.first_round, found.first_round + one.iops.len() - 1];
    let line = |name: &str, y: [f64; 2], colour: &str, dash: &str| {
        json!({
            "type": "scatter", "mode": "lines", "name": name, "x": ends, "y": y.map(rounded),
            "line": {"color": colour, "dash": dash, "width": 1}, "hovertemplate": "%{y:,.0f}",
        })
    };
    let level = |share: f64| [share * found.average; 2];
    vec![
        json!({
            "type": "scatter", "mode": "lines+markers", "name": "IOPS", "x": rounds,
            "y": one.iops.iter().map(|iops| rounded(*iops)).collect::<Vec<_>>(),
            "line": {"color": COLOURS[0], "width": 2}, "hovertemplate": "round %{x}: %{y:,.0f}",
        }),
        line("average", level(1.0), COLOURS[2], "solid"),
        line("110 %", level(1.1), COLOURS[4], "longdash"),
        line("90 %", level(0.9), COLOURS[4], "longdash"),
        line("best fit", ends.map(|round| found.fitted(round)), COLOURS[1], "dot"),
    ]
}
