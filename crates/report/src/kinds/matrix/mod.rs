//! The report of a matrix: SQLIO's rows for each pattern with sizes as columns, then every cell with its
//! percentiles, and several devices side by side.

mod grid;
mod notes;

use iostall_measure::{BlockSize, Caching, Durability, Percentile};
use iostall_model::profile::BlockMix;
use iostall_model::{MatrixOutcome, Point, Run};
use iostall_session::analysis::points::iops_half_width;
use serde_json::{Value, json};

use super::points::{self, Origin, PointsSummary};
use crate::chart::{COLOURS, Chart, figure, latency_axis, rate_axis, rounded, seconds};
use crate::format::{NONE, duration, maybe_number, percent};
use crate::percentiles::percentile_cell;
use crate::point::is_imprecise;
use crate::report::Report;
use crate::section::Section;
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::timestamp;
use grid::{Grid, Pattern};

pub(super) fn report<'a>(run: &'a Run, outcome: &'a MatrixOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: asked(outcome),
        headline: points::headline(&outcome.points),
        line: Box::new(|| points::headline(&outcome.points)),
        answer: Box::new(|| notes::answer(&Grid::of(run, outcome))),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts(run, outcome)]),
        series: Box::new(|| points::series_from(run, &outcome.points, |index| origin(run, outcome, index))),
        summary: Box::new(|| {
            Box::new(PointsSummary::from(run, &outcome.points, |index| origin(run, outcome, index)))
        }),
    }
}

fn origin(run: &Run, outcome: &MatrixOutcome, index: usize) -> Origin {
    outcome
        .earlier_of(index)
        .map_or_else(|| Origin::of(run), |cells| Origin { run: cells.run, started_utc: cells.started_utc })
}

fn section(run: &Run, outcome: &MatrixOutcome) -> Section {
    let grid = Grid::of(run, outcome);
    let measured = |pattern: &Pattern| {
        outcome
            .points
            .iter()
            .any(|point| point.access == pattern.access && point.write_pct == pattern.write_pct)
    };
    let patterns: Vec<Pattern> = grid.patterns().into_iter().filter(measured).collect();
    let mut tables: Vec<Table> = patterns.iter().map(|pattern| sqlio(&grid, *pattern)).collect();
    if grid.devices.len() > 1 && !patterns.is_empty() {
        tables.push(side_by_side(&grid, &patterns));
    }
    if !patterns.is_empty() {
        tables.push(cells(&grid, &patterns));
    }
    Section { notes: notes::notes(&grid), tables, ..Section::titled("The matrix") }
}

/// SQLIO's five rows, grouped by depth, with a column per size and device.
fn sqlio(grid: &Grid<'_>, pattern: Pattern) -> Table {
    let plan = &grid.outcome.plan;
    let columns: Vec<(BlockSize, usize)> =
        plan.sizes.iter().flat_map(|size| (0..grid.devices.len()).map(|device| (*size, device))).collect();
    let heads = columns.iter().map(|(size, device)| Column::numbers(&grid.column(*size, *device)));
    let heads = std::iter::once(Column::words("")).chain(heads).collect();
    let mut title = pattern.name().to_owned();
    title[..1].make_ascii_uppercase();
    let mut table = Table::new(&title, heads);
    let millis = |ns: Option<f64>| ns.map_or(NONE.to_owned(), |ns| format!("{:.2}", ns / 1e6));
    for depth in &plan.depths {
        let workers = if plan.workers == 1 { String::new() } else { format!(" × {} workers", plan.workers) };
        table.group(format!("depth {depth}{workers}"), "");
        let mut row = |name: &str, value: &dyn Fn(&Point) -> String| {
            let cell = |(size, device): &(BlockSize, usize)| {
                grid.cell(*device, pattern, *size, *depth).map_or(NONE.into(), |point| value(point).into())
            };
            table.row(std::iter::once(TableCell::from(name)).chain(columns.iter().map(cell)).collect());
        };
        row("IOs/sec", &|point| {
            let mark = if is_imprecise(point, plan.precision_pct) { "?" } else { "" };
            format!("{}{mark}", maybe_number(point.iops()))
        });
        row("MBs/sec", &|point| maybe_number(point.mib_per_s()));
        row("Min_Latency(ms)", &|point| millis(point.latency_ns.min().map(|ns| ns as f64)));
        row("Avg_Latency(ms)", &|point| millis(point.latency_ns.mean()));
        row("Max_Latency(ms)", &|point| millis(point.latency_ns.max().map(|ns| ns as f64)));
    }
    table.note("Rows and units as SQLIO's: a MB is 2^20 bytes.");
    name_devices(&mut table, grid);
    table
}

fn name_devices(table: &mut Table, grid: &Grid<'_>) {
    if grid.devices.len() > 1 {
        let named: Vec<String> =
            grid.devices.iter().map(|(letter, path)| format!("{letter}: {path}")).collect();
        table.note(&format!("{}.", named.join(", ")));
    }
}

fn side_by_side(grid: &Grid<'_>, patterns: &[Pattern]) -> Table {
    let mut columns = vec![Column::numbers("size"), Column::numbers("depth")];
    for (index, (letter, _)) in grid.devices.iter().enumerate() {
        columns.push(Column::numbers(&format!("IOPS {letter}")));
        columns.push(Column::numbers(&format!("p99 {letter}")));
        if index > 0 {
            columns.push(Column::numbers(&format!("IOPS {letter} / A")));
        }
    }
    let mut table = Table::new("Side by side", columns);
    for pattern in patterns {
        table.group(pattern.name(), "");
        for size in &grid.outcome.plan.sizes {
            for depth in &grid.outcome.plan.depths {
                table.row(beside(grid, *pattern, *size, *depth));
            }
        }
    }
    name_devices(&mut table, grid);
    table.note("One run each is no proof: `iostall compare --fresh` measures two targets in turn and says what is significant.");
    table
}

fn beside(grid: &Grid<'_>, pattern: Pattern, size: BlockSize, depth: u32) -> Vec<TableCell> {
    let first = grid.cell(0, pattern, size, depth).and_then(Point::iops).filter(|iops| *iops > 0.0);
    let mut cells: Vec<TableCell> = vec![BlockMix::single(size).in_words().into(), depth.to_string().into()];
    for device in 0..grid.devices.len() {
        let point = grid.cell(device, pattern, size, depth);
        let rate = point.and_then(Point::iops);
        cells.push(maybe_number(rate).into());
        cells.push(point.map_or(NONE.into(), |point| percentile_cell(&point.latency_ns, Percentile::P99)));
        if device > 0 {
            let ratio = first.zip(rate).map(|(first, rate)| format!("{:.2}×", rate / first));
            cells.push(ratio.unwrap_or_else(|| NONE.to_owned()).into());
        }
    }
    cells
}

fn cells(grid: &Grid<'_>, patterns: &[Pattern]) -> Table {
    let several = grid.devices.len() > 1;
    let mut columns = vec![Column::numbers("size"), Column::numbers("depth")];
    columns.extend(several.then(|| Column::words("target")));
    columns.extend([
        Column::numbers("IOPS"),
        Column::numbers("±").droppable(6),
        Column::numbers("MiB/s"),
        Column::numbers("mean").droppable(3),
        Column::numbers("p50").droppable(4),
        Column::numbers("p95").droppable(2),
        Column::numbers("p99"),
        Column::numbers("p99.9").droppable(5),
        Column::numbers("max"),
    ]);
    let resumed = !grid.outcome.earlier.is_empty();
    columns.extend(resumed.then(|| Column::words("measured")));
    let mut table = Table::new("Cells", columns);
    for pattern in patterns {
        table.group(pattern.name(), "");
        for size in &grid.outcome.plan.sizes {
            for depth in &grid.outcome.plan.depths {
                for (device, (letter, _)) in grid.devices.iter().enumerate() {
                    let Some(place) = grid.place(device, *pattern, *size, *depth) else { continue };
                    let point = &grid.outcome.points[place];
                    let mut cells: Vec<TableCell> =
                        vec![point.block_size.in_words().into(), depth.to_string().into()];
                    cells.extend(several.then(|| TableCell::from(letter.clone())));
                    cells.extend(figures(point));
                    let measured_utc = || origin(grid.run, grid.outcome, place).measured_utc(point);
                    cells.extend(resumed.then(|| TableCell::from(timestamp(measured_utc()))));
                    table.row(cells);
                }
            }
        }
    }
    table.note("± is half the 95 % confidence interval of IOPS; ? is a percentile with fewer than 10 samples beyond it.");
    table
}

fn figures(point: &Point) -> Vec<TableCell> {
    let at = |percentile: Percentile| percentile_cell(&point.latency_ns, percentile);
    let rate = TableCell::from(maybe_number(point.iops()));
    let rate = if point.failed() > 0 { rate.severity(Severity::Bad) } else { rate };
    vec![
        rate,
        iops_half_width(&point.repeats).map_or(NONE.to_owned(), percent).into(),
        maybe_number(point.mib_per_s()).into(),
        TableCell::maybe_time(point.latency_ns.mean()),
        at(Percentile::P50),
        at(Percentile::P95),
        at(Percentile::P99),
        at(Percentile::P99_9),
        TableCell::maybe_time(point.latency_ns.max().map(|ns| ns as f64)),
    ]
}

fn asked(outcome: &MatrixOutcome) -> String {
    let plan = &outcome.plan;
    let sizes: Vec<String> = plan.sizes.iter().map(|size| BlockMix::single(*size).in_words()).collect();
    let depths: Vec<String> = plan.depths.iter().map(u32::to_string).collect();
    let caching = match plan.caching {
        Caching::Direct => "direct",
        Caching::Buffered => "buffered",
    };
    let durability = if plan.durability == Durability::WriteThrough { ", write-through" } else { "" };
    let plural = if plan.workers == 1 { "" } else { "s" };
    let intervals = if plan.repeats_max == 1 {
        "1 interval".to_owned()
    } else {
        format!("up to {} intervals", plan.repeats_max)
    };
    format!(
        "sizes {} × depths {}, {} worker{plural}, {caching}{durability}, {intervals} of {} a cell",
        sizes.join(", "),
        depths.join(", "),
        plan.workers,
        duration(plan.interval.0 as f64)
    )
}

/// Devices have different dashes, sizes different colours.
const DASHES: [&str; 4] = ["solid", "dash", "dot", "dashdot"];

fn charts(run: &Run, outcome: &MatrixOutcome) -> Vec<Chart> {
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
