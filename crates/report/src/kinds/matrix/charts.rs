//! The figures of a matrix: a heat map per device, and a set of curves per pattern.

use iostall_measure::Percentile;
use iostall_model::profile::BlockMix;
use iostall_model::{MatrixOutcome, Point, Run};
use serde_json::{Value, json};

use super::{Grid, Pattern};
use crate::chart::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds};

/// Devices have different dashes, sizes different colours.
const DASHES: [&str; 4] = ["solid", "dash", "dot", "dashdot"];

pub(super) fn charts(run: &Run, outcome: &MatrixOutcome) -> Vec<Chart> {
    if outcome.points.is_empty() {
        return Vec::new();
    }
    let grid = Grid::of(run, outcome);
    // One scale for all devices: with a scale of its own the slower one would look as bright.
    let most = outcome.points.iter().filter_map(Point::mib_per_s).fold(0.0, f64::max);
    let mut charts: Vec<Chart> =
        (0..grid.devices.len()).map(|device| heat_map(&grid, device, most)).collect();
    for (index, pattern) in grid.patterns().into_iter().enumerate() {
        let traces = curves(&grid, pattern);
        if !traces.is_empty() {
            charts.push(Chart {
                id: format!("curves-{index}").into(),
                title: format!("Latency against throughput, {}", pattern.name()).into(),
                caption: "A line a size, a point a depth: the 99th percentile at each throughput.",
                figure: figure(&traces, &rate_axis("MiB/s"), &latency_axis(), "closest"),
            });
        }
    }
    charts
}

fn heat_map(grid: &Grid<'_>, device: usize, most: f64) -> Chart {
    let plan = &grid.outcome.plan;
    let sizes: Vec<String> = plan.sizes.iter().map(|size| BlockMix::single(*size).in_words()).collect();
    let (mut labels, mut rows, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    // The first row is drawn at the bottom.
    for pattern in grid.patterns().into_iter().rev() {
        for depth in plan.depths.iter().rev() {
            let cells = plan.sizes.iter().map(|size| grid.cell(device, pattern, *size, *depth));
            let rate = |point: &Point| point.mib_per_s().map(rounded);
            let cells: Vec<Option<&Point>> = cells.collect();
            labels.push(format!("{}, depth {depth}", pattern.name()));
            rows.push(cells.iter().map(|cell| cell.and_then(rate)).collect::<Vec<_>>());
            texts.push(cells.iter().map(|cell| cell.map(crate::point::in_words)).collect::<Vec<_>>());
        }
    }
    let trace = json!({
        "type": "heatmap", "x": sizes, "y": labels, "z": rows, "text": texts, "colorscale": "Viridis",
        "zmin": 0, "zmax": rounded(most), "colorbar": {"title": {"text": "MiB/s"}}, "hoverongaps": false, "showlegend": false,
        "hovertemplate": "%{y}, %{x}: %{text}<extra></extra>",
    });
    let (letter, path) = &grid.devices[device];
    Chart {
        id: format!("heat-{device}").into(),
        title: format!("Throughput {letter} {path}").replace("  ", " ").into(),
        caption: "The brighter, the more MiB/s, on one scale for all devices; what was not measured is empty.",
        figure: figure(
            &[trace],
            &json!({"title": {"text": "size"}, "type": "category"}),
            &json!({"title": {"text": ""}, "type": "category"}),
            "closest",
        ),
    }
}

fn curves(grid: &Grid<'_>, pattern: Pattern) -> Vec<Value> {
    let plan = &grid.outcome.plan;
    let mut traces = Vec::new();
    for (size, colour) in plan.sizes.iter().zip(COLOURS.iter().cycle()) {
        for (device, (letter, _)) in grid.devices.iter().enumerate() {
            let points: Vec<&Point> =
                plan.depths.iter().filter_map(|depth| grid.cell(device, pattern, *size, *depth)).collect();
            if points.is_empty() {
                continue;
            }
            let p99 = |point: &&Point| {
                point.latency_ns.value_at(Percentile::P99).map(|ns| seconds(ns.max(1) as f64))
            };
            traces.push(json!({
                "type": "scatter", "mode": "lines+markers",
                "name": format!("{} {letter}", BlockMix::single(*size).in_words()).trim_end(),
                "x": points.iter().map(|point| point.mib_per_s().map(rounded)).collect::<Vec<_>>(),
                "y": points.iter().map(p99).collect::<Vec<_>>(),
                "customdata": points.iter().map(|point| point.queue_depth).collect::<Vec<_>>(),
                "line": {"color": colour, "dash": DASHES[device % DASHES.len()], "width": 2},
                "hovertemplate": "depth %{customdata}: %{x:,.1f} MiB/s, p99 %{y:.3~s}s",
            }));
        }
    }
    traces
}
