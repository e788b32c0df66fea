//! What a matrix found, in words.

use iostall_measure::ByteCount;
use iostall_model::Point;
use iostall_session::analysis::points::{Cap, limit};

use super::grid::{Grid, Pattern, iops};
use crate::format::{maybe_number, number};
use crate::point::{give_or_take, imprecise};
use crate::section::Note;
use crate::zone::timestamp;

/// Beyond this ratio, the used parts of two devices count as different in size.
const SIZES_APART: f64 = 1.1;

/// What is missing or old first, then the best of each pattern.
pub(super) fn notes(grid: &Grid<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let (measured, planned) = (grid.outcome.points.len(), grid.planned());
    if measured < planned {
        notes.push(Note::caution(format!(
            "{measured} of {planned} cells were measured; the same command with --resume measures the rest."
        )));
    }
    notes.extend(earlier(grid));
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

/// The most of each device, and the limits that were found.
pub(super) fn answer(grid: &Grid<'_>) -> String {
    let several = grid.devices.len() > 1;
    let mut clauses = Vec::new();
    for (device, (letter, path)) in grid.devices.iter().enumerate() {
        let name = if several { format!("{letter} ({path}) ") } else { String::new() };
        let best: Vec<&Point> = grid
            .patterns()
            .into_iter()
            .flat_map(|pattern| {
                grid.outcome.plan.sizes.iter().filter_map(move |size| grid.best(device, pattern, *size))
            })
            .collect();
        let most = |value: &dyn Fn(&Point) -> f64| best.iter().map(|point| value(point)).fold(0.0, f64::max);
        if best.is_empty() {
            continue;
        }
        let (rate, bandwidth) = (most(&iops), most(&|point| point.mib_per_s().unwrap_or(0.0)));
        clauses.push(format!("{name}up to {} IOPS and {} MiB/s", number(rate), number(bandwidth)));
        let mut caps: Vec<String> = Vec::new();
        for pattern in grid.patterns() {
            let cap = cap_of(grid, device, pattern).map(|cap| match cap {
                Cap::Iops(level) => format!("capped at {} IOPS", number(level)),
                Cap::MibPerSecond(level) => format!("capped at {} MiB/s", number(level)),
            });
            caps.extend(cap.filter(|cap| !caps.contains(cap)));
        }
        clauses.extend(caps);
    }
    if clauses.is_empty() {
        return "nothing measured".to_owned();
    }
    let outcome = grid.outcome;
    clauses.extend(imprecise(&outcome.points, "cells", outcome.plan.precision_pct));
    clauses.join(" · ")
}

fn cap_of(grid: &Grid<'_>, device: usize, pattern: Pattern) -> Option<Cap> {
    let sizes = grid.outcome.plan.sizes.iter();
    let best: Vec<&Point> = sizes.filter_map(|size| grid.best(device, pattern, *size)).collect();
    limit(&best)
}

fn earlier(grid: &Grid<'_>) -> Option<Note> {
    let runs = &grid.outcome.earlier;
    let cells: usize = runs.iter().map(|run| run.points.len()).sum();
    let named: Vec<String> = runs
        .iter()
        .map(|run| format!("{} of run {} ({})", run.points.len(), run.run, timestamp(run.started_utc)))
        .collect();
    (cells > 0).then(|| {
        Note::caution(format!(
            "{cells} of {} cells were not measured by this run but by a stopped one before it: {}. The table of cells says when \
             each was measured; what changed on the storage since then is a difference between cells.",
            grid.outcome.points.len(),
            named.join(", ")
        ))
    })
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

fn best_of(grid: &Grid<'_>, device: usize, pattern: Pattern, name: &str) -> Option<Note> {
    let sizes = grid.outcome.plan.sizes.iter();
    let best: Vec<&Point> = sizes.filter_map(|size| grid.best(device, pattern, *size)).collect();
    let most = |value: fn(&Point) -> f64| {
        best.iter().copied().max_by(|left, right| value(left).total_cmp(&value(right)))
    };
    let (rate, bandwidth) = (most(iops)?, most(|point| point.mib_per_s().unwrap_or(0.0))?);
    Some(Note::plain(format!(
        "{name}, {}: up to {} IOPS{} ({}, depth {}) and {} MiB/s ({}, depth {}).",
        pattern.name(),
        number(iops(rate)),
        give_or_take(rate),
        rate.block_size.in_words(),
        rate.queue_depth,
        maybe_number(bandwidth.mib_per_s()),
        bandwidth.block_size.in_words(),
        bandwidth.queue_depth
    )))
}

/// A limit that shows as equal IOPS, or equal bandwidth, at several sizes.
fn limit_of(grid: &Grid<'_>, device: usize, pattern: Pattern, name: &str) -> Option<Note> {
    let level = match cap_of(grid, device, pattern)? {
        Cap::Iops(level) => format!("IOPS stay at {} whatever the size", number(level)),
        Cap::MibPerSecond(level) => format!("throughput stays at {} MiB/s whatever the size", number(level)),
    };
    Some(Note::caution(format!(
        "{name}, {}: {level}: that is a limit (of the volume, the link, a control group), not a device at its end.",
        pattern.name()
    )))
}
