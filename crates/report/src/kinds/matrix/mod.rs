//! The report of a matrix: SQLIO's rows for each pattern with sizes as columns, then every cell with its
//! percentiles, and several devices side by side.

mod charts;
mod grid;

use iostall_measure::{BlockSize, ByteCount, Caching, Durability, Percentile};
use iostall_model::profile::BlockMix;
use iostall_model::{MatrixOutcome, Point, Run};
use iostall_stats::plateau::{Cap, cap};

use grid::{Grid, Pattern, iops};

use super::points::{self, PointsSummary};
use crate::format::{NONE, duration, maybe_duration, maybe_number, number, percent};
use crate::percentiles::percentile_cell;
use crate::point::precision;
use crate::report::Report;
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

/// Beyond this ratio, the used parts of two devices count as different in size.
const SIZES_APART: f64 = 1.1;

pub(super) fn report<'a>(run: &'a Run, outcome: &'a MatrixOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: asked(outcome),
        headline: points::headline(&outcome.points),
        line: Box::new(|| points::headline(&outcome.points)),
        asked: None,
        opens_one_way: true,
        sections: Box::new(|| vec![section(run, outcome)]),
        when_empty: "",
        charts: Box::new(|| vec![charts::charts(run, outcome)]),
        series: Box::new(|| points::series(run, &outcome.points)),
        summary: Box::new(|| Box::new(PointsSummary::of(run, &outcome.points))),
    }
}

/// A table per pattern with the devices side by side, and every cell.
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
    Section { notes: notes(&grid), tables, ..Section::titled("The matrix") }
}

fn notes(grid: &Grid<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let (measured, planned) = (grid.outcome.points.len(), grid.planned());
    if measured < planned {
        notes.push(Note::caution(format!(
            "{measured} of {planned} cells were measured; the same command with --resume measures the rest."
        )));
    }
    notes.extend(different_sizes(grid));
    for (device, (letter, path)) in grid.devices.iter().enumerate() {
        let name = if letter.is_empty() { path.clone() } else { format!("{letter} ({path})") };
        for pattern in grid.patterns() {
            notes.extend(best_of(grid, device, pattern, &name));
            notes.extend(limit_of(grid, device, pattern, &name));
        }
    }
    notes
}

/// A note if different amounts of the devices are used: a smaller part is cached sooner, and disks seek less
/// in it.
fn different_sizes(grid: &Grid<'_>) -> Option<Note> {
    let (least, most) = (*grid.used_bytes.iter().min()?, *grid.used_bytes.iter().max()?);
    (most as f64 > least as f64 * SIZES_APART).then(|| {
        let sizes = grid.devices.iter().zip(&grid.used_bytes);
        let sizes: Vec<String> =
            sizes.map(|((letter, _), bytes)| format!("{} of {letter}", ByteCount(*bytes))).collect();
        Note::caution(format!(
            "The devices are not loaded alike: {} are used; --size {least} makes them alike.",
            sizes.join(", ")
        ))
    })
}

/// The most IOPS and the most MiB/s of a pattern.
fn best_of(grid: &Grid<'_>, device: usize, pattern: Pattern, name: &str) -> Option<Note> {
    let sizes = grid.outcome.plan.sizes.iter();
    let best: Vec<&Point> = sizes.filter_map(|size| grid.best(device, pattern, *size)).collect();
    let most = |value: fn(&Point) -> f64| {
        best.iter().copied().max_by(|left, right| value(left).total_cmp(&value(right)))
    };
    let (rate, bandwidth) = (most(iops)?, most(|point| point.mib_per_s().unwrap_or(0.0))?);
    Some(Note::plain(format!(
        "{name}, {}: up to {} IOPS ({}, depth {}) and {} MiB/s ({}, depth {}).",
        pattern.name(),
        number(iops(rate)),
        rate.block_size,
        rate.queue_depth,
        maybe_number(bandwidth.mib_per_s()),
        bandwidth.block_size,
        bandwidth.queue_depth
    )))
}

/// A limit that shows as equal IOPS, or equal bandwidth, at several sizes.
fn limit_of(grid: &Grid<'_>, device: usize, pattern: Pattern, name: &str) -> Option<Note> {
    let sizes = grid.outcome.plan.sizes.iter();
    let best: Vec<(f64, f64)> = sizes
        .filter_map(|size| Some((f64::from(size.bytes()), iops(grid.best(device, pattern, *size)?))))
        .collect();
    let level = match cap(&best)? {
        Cap::Iops(level) => format!("IOPS stay at {} whatever the size", number(level)),
        Cap::MibPerSecond(level) => format!("throughput stays at {} MiB/s whatever the size", number(level)),
    };
    Some(Note::caution(format!(
        "{name}, {}: {level}: that is a limit (of the volume, the link, a control group), not a device at its end.",
        pattern.name()
    )))
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
        row("IOs/sec", &|point| maybe_number(point.iops()));
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

/// Every cell of every device, compared with the first device.
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
    let mut cells: Vec<TableCell> = vec![BlockMix::single(size).to_string().into(), depth.to_string().into()];
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

/// Every cell with its percentiles.
fn cells(grid: &Grid<'_>, patterns: &[Pattern]) -> Table {
    let several = grid.devices.len() > 1;
    let mut columns = vec![Column::numbers("size"), Column::numbers("depth")];
    columns.extend(several.then(|| Column::words("target")));
    columns.extend([
        Column::numbers("IOPS"),
        Column::numbers("±").droppable(1),
        Column::numbers("MiB/s"),
        Column::numbers("mean").droppable(3),
        Column::numbers("p50").droppable(4),
        Column::numbers("p95").droppable(2),
        Column::numbers("p99"),
        Column::numbers("p99.9").droppable(5),
        Column::numbers("max"),
    ]);
    let mut table = Table::new("Cells", columns);
    for pattern in patterns {
        table.group(pattern.name(), "");
        for size in &grid.outcome.plan.sizes {
            for depth in &grid.outcome.plan.depths {
                for (device, (letter, _)) in grid.devices.iter().enumerate() {
                    let Some(point) = grid.cell(device, *pattern, *size, *depth) else { continue };
                    let mut cells: Vec<TableCell> =
                        vec![point.block_size.to_string().into(), depth.to_string().into()];
                    cells.extend(several.then(|| TableCell::from(letter.clone())));
                    cells.extend(figures(point));
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
        precision(point).map_or(NONE.to_owned(), percent).into(),
        maybe_number(point.mib_per_s()).into(),
        maybe_duration(point.latency_ns.mean()).into(),
        at(Percentile::P50),
        at(Percentile::P95),
        at(Percentile::P99),
        at(Percentile::P99_9),
        maybe_duration(point.latency_ns.max().map(|ns| ns as f64)).into(),
    ]
}

/// The plan of a matrix in words.
fn asked(outcome: &MatrixOutcome) -> String {
    let plan = &outcome.plan;
    let sizes: Vec<String> = plan.sizes.iter().map(|size| BlockMix::single(*size).to_string()).collect();
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
