//! The cost of the load and how well its schedule was kept: open loop, CPU, devices, errors.

use iostall_measure::platform::{DeviceCounters, Target};
use iostall_model::figures::{CpuUse, machine_busy, per_second};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};

use crate::facts;
use crate::format::{NONE, bytes, count, maybe_number, mean_bytes, number, percent, shown};
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn tables(span: &SpanOutcome, targets: &[Target]) -> Vec<Table> {
    let tables = [open_loop(span), cpu(span), devices(span), errors(span, targets)];
    tables.into_iter().flatten().collect()
}

/// How well each open loop of the span kept its schedule; `None` if all loops are closed.
fn open_loop(span: &SpanOutcome) -> Option<Table> {
    let mut table = Table::new(
        "Open loop",
        vec![
            Column::words("role"),
            Column::numbers("asked /s"),
            Column::numbers("arrived /s"),
            Column::numbers("completed /s"),
            Column::numbers("backlog max").droppable(4),
            Column::numbers("at end").droppable(2),
            Column::numbers("late starts"),
            Column::numbers("latest"),
            Column::numbers("gap CV").droppable(1),
        ],
    );
    for role in &span.roles {
        let Some(open) = &role.open_loop else { continue };
        let completed = role.reads_and_writes().and_then(|outcome| outcome.iops(span.measured_ns));
        let severity = |bad: bool| if bad { Severity::Caution } else { Severity::Plain };
        let late = if open.arrivals > 0 { open.late_starts as f64 / open.arrivals as f64 } else { 0.0 };
        table.row(vec![
            shown(&role.name).into(),
            number(open.rate_asked_iops).into(),
            maybe_number(per_second(open.arrivals as f64, span.measured_ns)).into(),
            maybe_number(completed).into(),
            count(open.backlog_max).into(),
            TableCell::from(count(open.backlog_at_end)).severity(severity(open.backlog_at_end > 0)),
            TableCell::from(format!("{} ({})", count(open.late_starts), percent(late)))
                .severity(severity(open.late_starts > 0)),
            TableCell::time(open.lateness_ns_max as f64),
            number(open.gap_coefficient_of_variation).into(),
        ]);
    }
    if table.lines.is_empty() {
        return None;
    }
    table.note("late: handed over more than 1 ms after it was due. backlog: due and not yet handed over.");
    Some(table)
}

/// The CPU time of the load; `None` if it was not measured.
fn cpu(span: &SpanOutcome) -> Option<Table> {
    let process = CpuUse::of_process(span);
    if process.total_ns() == 0 {
        return None;
    }
    let mut table = Table::new(
        "Processor",
        vec![
            Column::words("role"),
            Column::numbers("CPU per I/O"),
            Column::numbers("user"),
            Column::numbers("kernel"),
            Column::numbers("IOPS per CPU-second"),
            Column::numbers("I/Os per submit call").droppable(1),
        ],
    );
    for role in &span.roles {
        let used = CpuUse::of_role(role);
        let batch = (role.submit_calls > 0).then(|| used.requests as f64 / role.submit_calls as f64);
        cpu_line(&mut table, &shown(&role.name), used, batch);
    }
    cpu_line(&mut table, "whole process", process, None);
    let busy = machine_busy(span).map(|busy| format!("machine busy {}", percent(busy)));
    let cores = per_second(process.total_ns() as f64 / 1e9, span.measured_ns)
        .map(|cores| format!("this process used {} of {} CPUs", number(cores), span.cpus.len()));
    let said: Vec<String> = cores.into_iter().chain(busy).collect();
    if !said.is_empty() && !span.cpus.is_empty() {
        table.note(&format!("{}.", said.join("; ")));
    }
    Some(table)
}

fn cpu_line(table: &mut Table, name: &str, used: CpuUse, batch: Option<f64>) {
    let each = |part: u64| {
        let mean = (used.requests > 0).then(|| part as f64 / used.requests as f64);
        TableCell::maybe_time(mean)
    };
    table.row(vec![
        name.into(),
        TableCell::maybe_time(used.ns_per_request()),
        each(used.user_ns),
        each(used.system_ns),
        maybe_number(used.requests_per_cpu_second()).into(),
        maybe_number(batch).into(),
    ]);
}

/// The block layer's figures; `None` without devices or measurements.
fn devices(span: &SpanOutcome) -> Option<Table> {
    if span.devices.is_empty() || span.measured_ns == 0 {
        return None;
    }
    let mut table = Table::new(
        "Devices, as the kernel counted",
        vec![
            Column::words("device"),
            Column::numbers("reads/s"),
            Column::numbers("mean read"),
            Column::numbers("writes/s"),
            Column::numbers("mean write"),
            Column::numbers("flushes/s").droppable(2),
            Column::numbers("merged").droppable(1),
            Column::numbers("busy"),
        ],
    );
    for device in &span.devices {
        device_line(&mut table, device, span.measured_ns);
    }
    Some(table)
}

fn device_line(table: &mut Table, device: &DeviceCounters, measured_ns: u64) {
    let rate = |requests: u64| TableCell::from(maybe_number(per_second(requests as f64, measured_ns)));
    let size = |mean: Option<f64>| TableCell::from(mean.map_or_else(|| NONE.to_owned(), mean_bytes));
    let busy = (measured_ns > 0).then(|| device.busy_ms as f64 * 1e6 / measured_ns as f64);
    table.row(vec![
        shown(&device.name).into(),
        rate(device.read_requests),
        size(device.read_request_bytes_mean()),
        rate(device.write_requests),
        size(device.write_request_bytes_mean()),
        rate(device.flush_requests),
        count(device.read_merges + device.write_merges).into(),
        // The kernel's clock ticks differ from ours by a few milliseconds, so limit it to 100 %.
        busy.map_or_else(|| NONE.to_owned(), |busy| percent(busy.min(1.0))).into(),
    ]);
}

/// Failures, with the first of each kind described; `None` if there were none.
fn errors(span: &SpanOutcome, targets: &[Target]) -> Option<Table> {
    let mut table = Table::new(
        "Errors",
        vec![
            Column::words("role"),
            Column::words("operation"),
            Column::words("error"),
            Column::numbers("count"),
            Column::words("first one"),
        ],
    );
    for role in &span.roles {
        error_lines(&mut table, role, targets);
    }
    (!table.lines.is_empty()).then_some(table)
}

fn error_lines(table: &mut Table, role: &RoleOutcome, targets: &[Target]) {
    for error in &role.errors {
        let target = usize::try_from(error.first_target).ok().and_then(|index| targets.get(index));
        let place = target.map_or_else(|| format!("target {}", error.first_target), |t| facts::path(&t.path));
        let moved = if error.first_moved > 0 {
            format!(", {} moved", bytes(u64::from(error.first_moved)))
        } else {
            String::new()
        };
        let first = format!(
            "{} at offset {} of {place}{moved}",
            bytes(u64::from(error.first_length)),
            count(error.first_offset)
        );
        table.row(vec![
            shown(&role.name).into(),
            error.op.name().into(),
            TableCell::from(format!("{}: {}", shown(&error.kind), shown(&error.message)))
                .severity(Severity::Bad),
            TableCell::from(count(error.count)).severity(Severity::Bad),
            first.into(),
        ]);
    }
}
