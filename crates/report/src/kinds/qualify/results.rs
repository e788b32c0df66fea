//! What each test is about beside the steady state: tables, sentences, and figures for scripts.

use iostall_measure::{ByteCount, Percentile};
use iostall_model::qualify::{QualifyTest, Stage};
use iostall_model::{Point, QualifyOutcome};
use iostall_session::analysis::qualify::{
    FastCache, StageRounds, cross_recovery, demand, depth_curves, fast_cache, idle_recovery, points_of,
    stages, steady_window_of,
};
use serde_json::{Value, json};

use super::tables::cells;
use super::words::cell_name;
use crate::format::{
    NONE, bytes as as_bytes, count, duration, maybe_duration, maybe_number, number, percent,
};
use crate::section::Note;
use crate::table::{Column, Table, TableCell};

/// The answer of a test that is not about a steady state; `None` for the others.
pub(super) fn answer(outcome: &QualifyOutcome) -> Option<String> {
    let none = "nothing was measured".to_owned();
    match outcome.plan.test {
        QualifyTest::FastCache => Some(match fast_cache(outcome) {
            Some((found, _)) => format!(
                "fast cache of {}: {} MB/s, then {} MB/s",
                decimal(found.bytes),
                number(found.fast / 1e6),
                number(found.slow / 1e6)
            ),
            None if outcome.rounds.is_empty() => none,
            None => format!("no fast cache within {}", decimal(outcome.rounds_bytes() as f64)),
        }),
        QualifyTest::CrossStimulus => Some(match cross_recovery(outcome) {
            Some(found) if found.segments.len() == 3 => match found.recovered {
                Some((ns, _)) => format!("as fast as before after {}", duration(ns as f64)),
                None => "not yet as fast as before".to_owned(),
            },
            Some(_) => "stopped before the third segment".to_owned(),
            None => none,
        }),
        _ => None,
    }
}

/// Bytes as vendors count them.
fn decimal(bytes: f64) -> String {
    if bytes >= 1e9 { format!("{} GB", number(bytes / 1e9)) } else { format!("{} MB", number(bytes / 1e6)) }
}

pub(super) fn notes(outcome: &QualifyOutcome) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some((found, _)) = fast_cache(outcome) {
        notes.push(Note::strong(format!(
            "Writes in order are fast for {}, and then {} of that: {} MB/s in place of {}.",
            decimal(found.bytes),
            percent(found.slow / found.fast),
            number(found.slow / 1e6),
            number(found.fast / 1e6)
        )));
        notes.extend(outcome.plan.backup_size.map(|size| of_backup(&found, size)));
    } else if let Some(answer) = answer(outcome) {
        notes.push(Note::plain(format!("{answer}.")));
    }
    for curve in depth_curves(outcome) {
        let deepest = curve.points.last().map_or(0, |point| point.queue_depth);
        let what = curve.points.first().map(|point| cell_name(point.write_pct, point.block_size.largest()));
        if let Some((enough, what)) = curve.enough.filter(|enough| *enough < deepest).zip(what) {
            notes.push(Note::plain(format!(
                "{what}: the drive takes depth {enough}; up to {deepest} in flight bring no twentieth more, and only wait longer."
            )));
        }
    }
    notes
}

/// A load of a backup that ends after the cache takes longer than its first seconds promise.
fn of_backup(found: &FastCache, size: ByteCount) -> Note {
    let (bytes, named) = (size.bytes() as f64, as_bytes(size.bytes()));
    let whole_ns = found.seconds_for(bytes) * 1e9;
    if bytes <= found.bytes {
        return Note::plain(format!(
            "A load of your {named} backup ends within the cache: {}, if the cache is empty before.",
            length(whole_ns)
        ));
    }
    Note::caution(format!(
        "A load of your {named} backup ends after the cache: {} in all, where its first speed promises {}. The cache is full after {}.",
        length(whole_ns),
        length(bytes / found.fast * 1e9),
        length(found.bytes / found.fast * 1e9)
    ))
}

fn length(ns: f64) -> String {
    let minutes = (ns / 6e10).round();
    match (minutes / 60.0).floor() {
        _ if ns < 1.2e11 => duration(ns),
        hours if hours < 1.0 => format!("{minutes} min"),
        hours => format!("{hours} h {} min", minutes - hours * 60.0),
    }
}

pub(super) fn tables(outcome: &QualifyOutcome) -> Vec<Table> {
    let all = stages(outcome);
    let Some(first) = all.first() else { return Vec::new() };
    let iops = |point: &Point| maybe_number(point.iops());
    let mb_per_s = |point: &Point| maybe_number(point.mib_per_s().map(|mib| mib * 1.048_576));
    match outcome.plan.test {
        QualifyTest::Iops => cells(outcome, first, "IOPS", &iops).into_iter().collect(),
        QualifyTest::Sizes => {
            let rates = cells(outcome, first, "IOPS", &iops);
            rates.into_iter().chain(cells(outcome, first, "MB/s", &mb_per_s)).collect()
        }
        QualifyTest::Throughput => {
            all.iter().filter_map(|one| cells(outcome, one, "MB/s in order", &mb_per_s)).collect()
        }
        QualifyTest::Latency => latency(outcome, &all),
        QualifyTest::IdleRecovery => idle(outcome).into_iter().collect(),
        QualifyTest::CrossStimulus => cross(outcome).into_iter().collect(),
        QualifyTest::Demand => demands(outcome).into_iter().collect(),
        QualifyTest::ActiveRange => vec![ranges(&all)],
        QualifyTest::Depth => depth_tables(outcome),
        QualifyTest::WriteCache => vec![write_cache(first)],
        QualifyTest::FastCache => rests(outcome).into_iter().collect(),
        QualifyTest::Saturation => Vec::new(),
    }
}

fn latency(outcome: &QualifyOutcome, all: &[StageRounds<'_>]) -> Vec<Table> {
    let Some(first) = all.first() else { return Vec::new() };
    let mean = |point: &Point| maybe_duration(point.latency_ns.mean());
    let at =
        |point: &Point, percentile| maybe_duration(point.latency_ns.value_at(percentile).map(|ns| ns as f64));
    let slow = |point: &Point| at(point, Percentile::P99_9);
    let most = |point: &Point| maybe_duration(point.latency_ns.max().map(|ns| ns as f64));
    let mut tables: Vec<Table> = [
        cells(outcome, first, "Mean latency", &mean),
        cells(outcome, first, "99.9th percentile of latency", &slow),
        cells(outcome, first, "Largest latency", &most),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(point) = all.get(1).and_then(|one| points_of(one).into_iter().next()) {
        let columns = vec![Column::words("percentile"), Column::numbers("latency")];
        let name = cell_name(point.write_pct, point.block_size.largest());
        let mut table = Table::new(&format!("How long {name} takes, {} of it", count_of(&point)), columns);
        for (percentile, name) in Percentile::LEVELS.iter().filter(|(level, _)| level.percent() >= 50.0) {
            // A percentile with fewer than ten requests beyond it says nothing.
            if point.latency_ns.count() as f64 * (1.0 - percentile.percent() / 100.0) >= 10.0 {
                table.row(vec![(*name).into(), at(&point, *percentile).into()]);
            }
        }
        table.row(vec!["largest".into(), most(&point).into()]);
        tables.push(table);
    }
    tables
}

fn count_of(point: &Point) -> String {
    count(point.latency_ns.count())
}

fn idle(outcome: &QualifyOutcome) -> Option<Table> {
    let (baseline, states) = idle_recovery(outcome)?;
    let columns = vec![
        Column::words("idle after each burst"),
        Column::numbers("writing"),
        Column::numbers("IOPS"),
        Column::numbers("of the baseline"),
        Column::numbers("without a pause again"),
    ];
    let mut table = Table::new("Host idle recovery", columns);
    for one in &states {
        table.row(vec![
            one.wait.to_string().into(),
            percent(one.duty).into(),
            number(one.iops).into(),
            percent(one.of_baseline).into(),
            one.back_of_baseline.map_or_else(|| NONE.to_owned(), percent).into(),
        ]);
    }
    table.note(&format!(
        "The baseline is {} requests a second without a pause; IOPS are those of the bursts.",
        number(baseline)
    ));
    Some(table)
}

fn cross(outcome: &QualifyOutcome) -> Option<Table> {
    let found = cross_recovery(outcome)?;
    let columns = vec![
        Column::words("writes"),
        Column::numbers("MB/s"),
        Column::numbers("IOPS"),
        Column::numbers("mean latency"),
        Column::numbers("largest"),
    ];
    let mut table = Table::new("Cross stimulus recovery", columns);
    for (name, rates) in &found.segments {
        table.row(vec![
            name.as_str().into(),
            number(rates.mb_per_s).into(),
            number(rates.iops).into(),
            duration(rates.latency_ms_mean * 1e6).into(),
            duration(rates.latency_ms_max * 1e6).into(),
        ]);
    }
    if let Some((ns, bytes)) = found.recovered {
        table.note(&format!(
            "The third was as fast as the first on average after {}, when it had written {}.",
            duration(ns as f64),
            decimal(bytes as f64)
        ));
    }
    Some(table)
}

fn demands(outcome: &QualifyOutcome) -> Option<Table> {
    let found = demand(outcome)?;
    let columns = vec![
        Column::numbers("threads"),
        Column::numbers("depth"),
        Column::numbers("IOPS"),
        Column::numbers("mean latency"),
        Column::numbers("p99.9"),
        Column::words(""),
    ];
    let mut table = Table::new("Demand: latency against requests a second", columns);
    for (index, point) in found.points.iter().enumerate() {
        let places =
            [(found.most, "most below 5 ms"), (found.middle, "halfway"), (found.least, "one in flight")];
        let names: Vec<&str> =
            places.iter().filter(|(at, _)| *at == Some(index)).map(|(_, name)| *name).collect();
        table.row(vec![
            point.workers.to_string().into(),
            point.queue_depth.to_string().into(),
            maybe_number(point.iops()).into(),
            TableCell::maybe_time(point.latency_ns.mean()),
            TableCell::maybe_time(point.latency_ns.value_at(Percentile::P99_9).map(|ns| ns as f64)),
            names.join(", ").into(),
        ]);
    }
    table.note("The specification measures the three named points for ten minutes more; here they are those of the rounds.");
    Some(table)
}

fn ranges(all: &[StageRounds<'_>]) -> Table {
    let columns = vec![
        Column::words("active range"),
        Column::numbers("IOPS"),
        Column::numbers("of the whole"),
        Column::words("steady"),
    ];
    let mut table = Table::new("Random writes to a part of the active range", columns);
    let is_whole = |one: &&StageRounds<'_>| one.stage.range_pct().percent() >= 100.0;
    let whole = all.iter().find(is_whole).and_then(iops_of);
    for one in all {
        let Some(iops) = iops_of(one) else { continue };
        let of_whole = whole.map_or_else(|| NONE.to_owned(), |whole| percent(iops / whole));
        let state = if steady_window_of(one).is_some() { "yes" } else { "no" };
        table.row(vec![one.stage.name.as_str().into(), number(iops).into(), of_whole.into(), state.into()]);
    }
    table.note("The rest holds what was written before: the spare area of the whole drive serves the part.");
    table
}

fn iops_of(one: &StageRounds<'_>) -> Option<f64> {
    points_of(one).first().and_then(Point::iops)
}

fn depth_tables(outcome: &QualifyOutcome) -> Vec<Table> {
    let one = |curve: iostall_session::analysis::qualify::DepthCurve| {
        let what = curve.points.first().map(|point| cell_name(point.write_pct, point.block_size.largest()));
        let columns = vec![
            Column::numbers("depth"),
            Column::numbers("IOPS"),
            Column::numbers("mean latency"),
            Column::numbers("p99.9"),
        ];
        let mut table = Table::new(&format!("Depth, {}", what.unwrap_or_default()), columns);
        for point in &curve.points {
            table.row(vec![
                point.queue_depth.to_string().into(),
                maybe_number(point.iops()).into(),
                TableCell::maybe_time(point.latency_ns.mean()),
                TableCell::maybe_time(point.latency_ns.value_at(Percentile::P99_9).map(|ns| ns as f64)),
            ]);
        }
        table
    };
    depth_curves(outcome).into_iter().map(one).collect()
}

fn write_cache(rounds: &StageRounds<'_>) -> Table {
    let columns = vec![
        Column::words("writes"),
        Column::numbers("in flight"),
        Column::numbers("any IOPS"),
        Column::numbers("durable IOPS"),
        Column::numbers("of any"),
        Column::numbers("any mean"),
        Column::numbers("durable mean"),
    ];
    let mut table = Table::new("Writes as they are, and with O_DSYNC", columns);
    // Each pair is the same writes without and with it.
    for pair in points_of(rounds).chunks(2) {
        let [any, durable] = pair else { continue };
        let share = any.iops().zip(durable.iops()).map(|(any, durable)| durable / any);
        table.row(vec![
            cell_name(any.write_pct, any.block_size.largest()).into(),
            any.in_flight().to_string().into(),
            maybe_number(any.iops()).into(),
            maybe_number(durable.iops()).into(),
            share.map_or_else(|| NONE.to_owned(), percent).into(),
            TableCell::maybe_time(any.latency_ns.mean()),
            TableCell::maybe_time(durable.latency_ns.mean()),
        ]);
    }
    table.note("O_DSYNC is not a switched-off cache: a drive that protects its cache answers both alike.");
    table
}

fn rests(outcome: &QualifyOutcome) -> Option<Table> {
    let (found, rests) = fast_cache(outcome)?;
    let columns = vec![Column::words("when"), Column::numbers("fast"), Column::numbers("of the first")];
    let mut table = Table::new("The fast cache", columns);
    table.row(vec!["at first".into(), decimal(found.bytes).into(), percent(1.0).into()]);
    for one in &rests {
        let name = format!("after {} of rest", one.rest);
        table.row(vec![name.into(), decimal(one.bytes).into(), percent(one.share).into()]);
    }
    table.note(
        "It is the drive's memory of one bit a cell; how much is free depends on how full the drive is.",
    );
    Some(table)
}

/// For scripts; null for tests whose points say everything.
pub(super) fn figures(outcome: &QualifyOutcome) -> Value {
    if let Some((found, rests)) = fast_cache(outcome) {
        let rest = |one: &iostall_session::analysis::qualify::AfterRest| json!({"rest_s": one.rest.0 as f64 / 1e9, "bytes": one.bytes, "share": one.share});
        let backup = outcome.plan.backup_size.map(|size| found.seconds_for(size.bytes() as f64));
        return json!({
            "fast_cache_bytes": found.bytes, "fast_bytes_per_s": found.fast, "slow_bytes_per_s": found.slow,
            "backup_s": backup, "rests": rests.iter().map(rest).collect::<Vec<_>>(),
        });
    }
    if let Some((baseline, states)) = idle_recovery(outcome) {
        let state = |one: &iostall_session::analysis::qualify::WaitState| {
            json!({
                "wait_s": one.wait.0 as f64 / 1e9, "duty": one.duty, "iops": one.iops,
                "of_baseline": one.of_baseline, "back_of_baseline": one.back_of_baseline,
            })
        };
        return json!({"baseline_iops": baseline, "waits": states.iter().map(state).collect::<Vec<_>>()});
    }
    if let Some(found) = cross_recovery(outcome) {
        let segment = |(name, rates): &(String, iostall_session::analysis::qualify::Rates)| json!({"name": name, "mb_per_s": rates.mb_per_s, "latency_ms_mean": rates.latency_ms_mean});
        let (ns, bytes) = found.recovered.unzip();
        return json!({
            "segments": found.segments.iter().map(segment).collect::<Vec<_>>(),
            "recovered_s": ns.map(|ns| ns as f64 / 1e9), "recovered_bytes": bytes,
        });
    }
    if let Some(found) = demand(outcome) {
        let at = |index: Option<usize>| {
            index.and_then(|index| found.points.get(index)).map(|point| {
                json!({
                    "workers": point.workers, "queue_depth": point.queue_depth, "iops": point.iops(),
                    "latency_ms_mean": point.latency_ns.mean().map(|ns| ns / 1e6),
                })
            })
        };
        return json!({"most": at(found.most), "halfway": at(found.middle), "least": at(found.least)});
    }
    let of_range = |one: &StageRounds<'_>| {
        let (stage, iops): (&Stage, f64) = (&one.stage, iops_of(one)?);
        Some(json!({
            "range_pct": stage.range_pct().percent(), "iops": iops, "steady": steady_window_of(one).is_some(),
        }))
    };
    if outcome.plan.test == QualifyTest::ActiveRange {
        return json!({"ranges": stages(outcome).iter().filter_map(of_range).collect::<Vec<_>>()});
    }
    let curves = depth_curves(outcome);
    if !curves.is_empty() {
        let of = |curve: &iostall_session::analysis::qualify::DepthCurve| json!({"write_pct": curve.points.first().map(|point| point.write_pct.percent()), "enough": curve.enough});
        return json!({"depths": curves.iter().map(of).collect::<Vec<_>>()});
    }
    Value::Null
}
