//! The sections about a fleet: servers that need a look, the worst files and volumes, shared devices, and growth.

use std::io::{self, Write};

use iostall_session::output::Form;
use iostall_watch::{
    DailyTrend, FleetCapacity, FleetDevice, FleetFile, FleetLoad, FleetReport, ServerFault, ServerState,
};
use serde_json::json;

use crate::format::{NONE, count, maybe_number, mean_bytes, shown};
use crate::forms::write_page;
use crate::html::write_sections_html;
use crate::markdown::write_sections_markdown;
use crate::section::{Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone;

pub fn title(report: &FleetReport) -> String {
    let servers = count(report.servers.len() as u64);
    let (from, to) = (zone::timestamp(report.from), zone::timestamp(report.to));
    format!("fleet: {servers} servers in {}, {from} to {to}", shown(&report.repository))
}

/// All sections; one without rows says so.
pub fn sections(report: &FleetReport) -> Vec<Section> {
    vec![
        servers(&report.servers),
        files(&report.files),
        volumes(&report.volumes),
        devices(&report.devices),
        capacity(&report.capacity),
    ]
}

/// A section with a table, or with `none` where it has no line.
fn section(title: &str, table: Table, none: &str) -> Section {
    if table.lines.is_empty() {
        return Section { notes: vec![Note::plain(none)], ..Section::titled(title) };
    }
    Section { results: Some(table), ..Section::titled(title) }
}

fn servers(servers: &[ServerState]) -> Section {
    let columns = vec![
        Column::words("server"),
        Column::words("state"),
        Column::words(&zone::heading("newest sample")),
        Column::numbers("clock ahead, s").droppable(2),
        Column::numbers("sources").droppable(1),
        Column::words("iostall").droppable(0),
    ];
    let mut table = Table::new("Servers", columns);
    let (odd, well): (Vec<_>, Vec<_>) = servers.iter().partition(|server| !server.faults.is_empty());
    for server in odd {
        let words: Vec<&str> = server.faults.iter().map(|fault| word(*fault)).collect();
        let clock = server.clock_ahead_ms.map(|ms| format!("{:.1}", ms as f64 / 1e3));
        table.row(vec![
            shown(&server.server).into(),
            TableCell::from(words.join(", ")).severity(Severity::Caution),
            server.newest_sample.map_or_else(|| NONE.to_owned(), zone::column).into(),
            clock.unwrap_or_else(|| NONE.to_owned()).into(),
            count(server.sources).into(),
            server.version.as_deref().map_or_else(|| NONE.to_owned(), shown).into(),
        ]);
    }
    let well = count(well.len() as u64);
    let none = format!("All {well} servers have sent lately, with good clocks.");
    let mut section = section("Servers", table, &none);
    if section.results.is_some() {
        section.notes.push(Note::plain(format!("Servers with which nothing is wrong: {well}.")));
    }
    section
}

fn word(fault: ServerFault) -> &'static str {
    match fault {
        ServerFault::Silent => "silent for a day",
        ServerFault::Late => "late",
        ServerFault::Old => "older iostall",
        ServerFault::Clock => "clock off",
        ServerFault::Cloned => "two machines send as this one",
    }
}

fn load_columns() -> Vec<Column> {
    vec![
        Column::numbers("stall ms/s"),
        Column::numbers("ms per I/O"),
        Column::numbers("reads/s").droppable(3),
        Column::numbers("writes/s").droppable(3),
        Column::numbers("MiB/s").droppable(4),
    ]
}

fn load_cells(load: &FleetLoad) -> Vec<TableCell> {
    vec![
        maybe_number(Some(load.stall_ms_per_s)).into(),
        maybe_number(load.stall_ms_per_io).into(),
        maybe_number(load.reads_per_s).into(),
        maybe_number(load.writes_per_s).into(),
        maybe_number(Some(load.mib_per_s)).into(),
    ]
}

fn files(files: &[FleetFile]) -> Section {
    let mut columns =
        vec![Column::words("server"), Column::words("source").droppable(1), Column::words("file")];
    columns.extend(load_columns());
    columns.push(Column::words("p95 of a day, ms").droppable(0));
    let mut table = Table::new("Files", columns);
    for file in files {
        let load = &file.load;
        let scope = if load.scope.is_empty() || load.name.contains(['/', '\\']) {
            String::new()
        } else {
            format!("{}: ", load.scope)
        };
        let mut cells: Vec<TableCell> = vec![
            shown(&load.server).into(),
            shown(&load.source).into(),
            shown(&format!("{scope}{}", load.name)).into(),
        ];
        cells.extend(load_cells(load));
        cells.push(trend(&file.stall_ms_p95_trend, |value| maybe_number(Some(value))).into());
        table.row(cells);
    }
    table.notes.push(
        "Rates are of each second of the window, also where it was not watched. The trend is of the stall that 95 of 100 reads and \
         writes of a day had at most in their interval, and a change a day."
            .to_owned(),
    );
    section("Worst files", table, "No file was waited for.")
}

fn volumes(volumes: &[FleetLoad]) -> Section {
    let mut columns =
        vec![Column::words("server"), Column::words("source").droppable(1), Column::words("volume")];
    columns.extend(load_columns());
    let mut table = Table::new("Volumes", columns);
    for load in volumes {
        table.row([named(load), load_cells(load)].concat());
    }
    section("Worst volumes", table, "No volume was waited for.")
}

fn named(load: &FleetLoad) -> Vec<TableCell> {
    vec![shown(&load.server).into(), shown(&load.source).into(), shown(&load.name).into()]
}

fn devices(devices: &[FleetDevice]) -> Section {
    let mut columns =
        vec![Column::words("server"), Column::words("source").droppable(1), Column::words("volume")];
    columns.extend(load_columns());
    let mut table = Table::new("Neighbours", columns);
    for device in devices {
        let model = device.model.as_deref().map(|model| format!("{}, ", shown(model))).unwrap_or_default();
        table.group(format!("{model}{} {}", device.kind, shown(&device.identity)), "");
        for load in &device.volumes {
            table.row([named(load), load_cells(load)].concat());
        }
    }
    section("Neighbours on one device", table, "No device is known to hold volumes of several sources.")
}

fn capacity(capacity: &[FleetCapacity]) -> Section {
    let columns = vec![
        Column::words("server"),
        Column::words("source").droppable(1),
        Column::numbers("held"),
        Column::numbers("grown"),
        Column::words("a day").droppable(0),
    ];
    let mut table = Table::new("Capacity", columns);
    for one in capacity {
        let grown = one.bytes_last - one.bytes_first;
        table.row(vec![
            shown(&one.server).into(),
            shown(&one.source).into(),
            mean_bytes(one.bytes_last).into(),
            signed(grown).into(),
            trend_only(&one.trend, signed).into(),
        ]);
    }
    let mut section = section("Capacity", table, "No sizes of files are there.");
    if let Some(first) = capacity.iter().map(|one| one.first).min() {
        section.subtitle = format!("since {} at the earliest", zone::timestamp(first));
    }
    section
}

fn signed(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "+" };
    format!("{sign}{}", mean_bytes(bytes.abs()))
}

fn trend(trend: &DailyTrend, show: impl Fn(f64) -> String) -> String {
    let newest = trend.newest.map_or_else(|| NONE.to_owned(), &show);
    format!("{newest} ({})", trend_only(trend, show))
}

/// The change a day with its interval, or why there is none.
fn trend_only(trend: &DailyTrend, show: impl Fn(f64) -> String) -> String {
    match (trend.per_day, trend.per_day_min, trend.per_day_max, &trend.refused) {
        (Some(slope), Some(least), Some(most), _) => {
            format!("{} ({} to {})", show(slope), show(least), show(most))
        }
        (.., Some(why)) => why.clone(),
        _ => NONE.to_owned(),
    }
}

pub fn write_fleet(report: &FleetReport, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Markdown => {
            write_page(out, |text| write_sections_markdown(&title(report), &sections(report), text))
        }
        Form::Html => {
            let sections = sections(report);
            let charts: Vec<_> = sections.iter().map(|_| Vec::new()).collect();
            write_page(out, |text| write_sections_html("fleet", &title(report), &sections, &charts, text))
        }
        _ => {
            let mut document = json!({"schema": "iostall-fleet", "schema_version": 1});
            for (key, value) in json!(report).as_object().into_iter().flatten() {
                document[key] = value.clone();
            }
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)
        }
    }
}
