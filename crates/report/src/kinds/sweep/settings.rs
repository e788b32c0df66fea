//! The settings of a sweep in tables: those at a knee, and all.

use iostall_measure::Percentile;
use iostall_model::SweepOutcome;
use iostall_session::analysis::points::iops_half_width;
use iostall_session::analysis::sweep::SweepAnalysis;

use crate::format::{NONE, duration, maybe_number, number, percent};
use crate::percentiles::percentile_cell;
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn knees_table(found: &SweepAnalysis<'_>, outcome: &SweepOutcome) -> Table {
    let mut table = Table::new(
        "Knees",
        vec![
            Column::words("by"),
            Column::words("setting"),
            Column::numbers("in flight"),
            Column::numbers("IOPS"),
            Column::numbers("mean"),
            Column::numbers("p99"),
        ],
    );
    let mut row = |by: String, index: Option<usize>| {
        let point = index.map(|index| (found.points[index], &found.curve_points[index]));
        table.row(match point {
            None => std::iter::once(by.into()).chain((0..5).map(|_| NONE.into())).collect(),
            Some((point, numbers)) => vec![
                by.into(),
                point.setting().into(),
                numbers.in_flight.to_string().into(),
                number(numbers.iops).into(),
                TableCell::time(numbers.latency_ns_mean),
                percentile_cell(&point.latency_ns, Percentile::P99),
            ],
        });
    };
    if let Some(target) = outcome.latency_ns_p99_target {
        row(format!("latency: p99 within {}", duration(target as f64)), found.knees.slo);
    }
    row("power: most IOPS / latency".to_owned(), found.knees.power);
    row("Kneedle: bend of the curve".to_owned(), found.knees.kneedle);
    if let Some(usl) = &found.knees.usl {
        let peak = match usl.peak() {
            Some(peak) => format!("peak at {} in flight", number(peak)),
            None => "no peak".to_owned(),
        };
        table.note(&format!(
            "Universal scalability law through the curve: contention {}, coherence {}, {peak}.",
            percent(usl.contention),
            if usl.coherence > 0.0 { format!("{:.1e}", usl.coherence) } else { "0".to_owned() }
        ));
    }
    table
}

pub(super) fn points_table(found: &SweepAnalysis<'_>, outcome: &SweepOutcome) -> Table {
    let columns = vec![
        Column::numbers("depth"),
        Column::numbers("workers"),
        Column::numbers("in flight"),
        Column::numbers("IOPS"),
        Column::numbers("±").droppable(5),
        Column::numbers("MiB/s"),
        Column::numbers("mean").droppable(3),
        Column::numbers("p50").droppable(1),
        Column::numbers("p99"),
        Column::numbers("power").droppable(4),
        Column::numbers("by Little").droppable(2),
        Column::words("knee"),
    ];
    let mut table = Table::new("Settings", columns);
    let mut order: Vec<usize> = (0..found.points.len()).collect();
    order.sort_by_key(|index| (found.points[*index].in_flight(), found.points[*index].workers));
    let best = found.knees.power.map_or(1.0, |index| found.curve_points[index].power());
    for index in order {
        table.row(point_cells(found, index, best, outcome.precision_pct));
    }
    table.note(
        "± is half the 95 % confidence interval of IOPS; power is IOPS / mean latency, in % of the best.",
    );
    table.note("by Little: requests in flight by Little's law (IOPS × mean latency); ? is more than 5 % off what was asked.");
    table
}

fn point_cells(found: &SweepAnalysis<'_>, index: usize, best: f64, precision_pct: f64) -> Vec<TableCell> {
    let (point, numbers) = (found.points[index], &found.curve_points[index]);
    let sure = match iops_half_width(&point.repeats) {
        None => TableCell::from(NONE),
        Some(share) if share * 100.0 > precision_pct => {
            TableCell::from(format!("{}?", percent(share))).severity(Severity::Caution)
        }
        Some(share) => percent(share).into(),
    };
    let little = number(numbers.in_flight_by_little());
    let little = if numbers.obeys_little() {
        TableCell::from(little)
    } else {
        TableCell::from(format!("{little}?")).severity(Severity::Caution)
    };
    let marks: Vec<&str> = [
        (found.knees.slo == Some(index), "latency"),
        (found.is_power(index), "power"),
        (found.knees.kneedle == Some(index), "Kneedle"),
    ]
    .into_iter()
    .filter_map(|(is, word)| is.then_some(word))
    .collect();
    let chosen = found.knees.choice.is_some_and(|choice| choice.index() == index);
    let severity = if chosen { Severity::Strong } else { Severity::Plain };
    vec![
        TableCell::from(point.queue_depth.to_string()).severity(severity),
        point.workers.to_string().into(),
        point.in_flight().to_string().into(),
        TableCell::from(number(numbers.iops)).severity(severity),
        sure,
        maybe_number(point.mib_per_s()).into(),
        TableCell::time(numbers.latency_ns_mean),
        percentile_cell(&point.latency_ns, Percentile::P50),
        percentile_cell(&point.latency_ns, Percentile::P99),
        format!("{:.0} %", numbers.power() / best * 100.0).into(),
        little,
        TableCell::from(marks.join(", ")).severity(severity),
    ]
}
