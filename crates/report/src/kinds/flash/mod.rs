//! The report of a simulated flash device.

mod facts;
mod notes;

use iostall_model::kinds::{FlashLife, FlashTenth};
use iostall_model::{FlashOutcome, Run};
use serde::Serialize;
use serde_json::{Value, json};

use self::notes::{interval, ratio};
use crate::chart::{COLOURS, Chart, drawn, figure, rounded};
use crate::format::{NONE, percent};
use crate::report::{Report, Series};
use crate::section::{Layout, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub(super) fn report<'a>(run: &'a Run, flash: &'a FlashOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: facts::headline(flash),
        line: Box::new(|| line(flash)),
        answer: Box::new(|| answer(flash)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(flash)]),
        when_empty: "",
        charts: Box::new(|| vec![charts(flash)]),
        series: Box::new(|| series(flash)),
        summary: Box::new(|| Box::new(FlashSummary::of(flash))),
    }
}

fn line(flash: &FlashOutcome) -> String {
    let found = flash.write_amplification.map_or_else(|| NONE.to_owned(), |found| ratio(found.mean));
    let settings = &flash.settings;
    format!("write amplification {found} with {} spare, {}", percent(settings.spare()), settings.collect)
}

fn answer(flash: &FlashOutcome) -> String {
    let Some(found) = &flash.write_amplification else {
        return "too little was simulated to say how much the device writes".to_owned();
    };
    let speed = flash
        .iops_ratio
        .map(|ratio| format!(" · {} of the random writes of a device that moves nothing", percent(ratio)));
    format!(
        "the device writes {} pages for each page of the host{}",
        ratio(found.mean),
        speed.unwrap_or_default()
    )
}

fn section(flash: &FlashOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: facts::headline(flash),
        layout: Layout::Facts,
        facts: facts::facts(flash),
        notes: notes::notes(flash),
        results: Some(results(flash)),
        details: vec![course(flash)],
        ..Section::default()
    }
}

fn results(flash: &FlashOutcome) -> Table {
    let columns = vec![
        Column::words("write amplification"),
        Column::numbers("mean"),
        Column::numbers("95 % interval"),
        Column::numbers("beside it").droppable(1),
    ];
    let mut table = Table::new("", columns);
    let found = flash.write_amplification;
    let strong = |text: String| TableCell::from(text).severity(Severity::Strong);
    table.row(vec![
        strong("simulated".to_owned()),
        strong(found.map_or_else(|| NONE.to_owned(), |found| ratio(found.mean))),
        found.as_ref().map_or_else(|| NONE.to_owned(), interval).into(),
        "".into(),
    ]);
    for form in &flash.closed_forms {
        let beside =
            found.map(|found| format!("{:+.1} %", (form.write_amplification / found.mean - 1.0) * 100.0));
        let name = if form.is_same { form.name.clone() } else { format!("({})", form.name) };
        table.row(vec![
            name.into(),
            ratio(form.write_amplification).into(),
            "".into(),
            beside.unwrap_or_else(|| NONE.to_owned()).into(),
        ]);
    }
    if flash.closed_forms.iter().any(|form| !form.is_same) {
        table.note(
            "Formulas in parentheses are for something else than was simulated: a bound or a comparison.",
        );
    }
    table
}

/// Tenth by tenth through the first two fills, then fill by fill.
fn course(flash: &FlashOutcome) -> Table {
    const FINE: usize = 20;
    let columns = vec![Column::numbers("fills"), Column::numbers("write amplification")];
    let mut table = Table::new("After every page was written once in order", columns);
    let mut row = |tenths: usize, found: Option<f64>| {
        let fills = format!("{:.1}", tenths as f64 / 10.0);
        table.row(vec![fills.into(), found.map_or_else(|| NONE.to_owned(), ratio).into()]);
    };
    for (number, tenth) in flash.tenths.iter().take(FINE).enumerate() {
        row(number + 1, tenth.write_amplification());
    }
    for (number, fill) in flash.tenths.get(FINE..).unwrap_or_default().chunks_exact(10).enumerate() {
        let sum = |part: fn(&FlashTenth) -> u64| fill.iter().map(part).sum();
        let fill = FlashTenth {
            host_pages: sum(|t| t.host_pages),
            moved_pages: sum(|t| t.moved_pages),
            absorbed_pages: sum(|t| t.absorbed_pages),
            erased_blocks: 0,
        };
        row(FINE + (number + 1) * 10, fill.write_amplification());
    }
    table
}

fn charts(flash: &FlashOutcome) -> Vec<Chart> {
    let x = json!({"title": {"text": "fills of the device"}});
    let y = json!({"title": {"text": "write amplification"}, "rangemode": "tozero"});
    drawn([Chart {
        id: "cliff".into(),
        title: "Write amplification".into(),
        caption: "After every page was written once in order: the spare area lasts for a while, then each write moves others.",
        figure: figure(&traces(flash), &x, &y, "closest"),
    }])
}

fn traces(flash: &FlashOutcome) -> Vec<Value> {
    if flash.tenths.is_empty() {
        return Vec::new();
    }
    let fills = |tenths: usize| rounded(tenths as f64 / 10.0);
    let y = flash.tenths.iter().map(|tenth| tenth.write_amplification().map(rounded));
    let mut traces = vec![json!({
        "type": "scatter", "mode": "lines", "name": "simulated",
        "x": (1..=flash.tenths.len()).map(fills).collect::<Vec<_>>(), "y": y.collect::<Vec<_>>(),
        "line": {"color": COLOURS[0], "width": 2}, "hovertemplate": "%{x} fills: %{y:.2f}",
    })];
    let colours = COLOURS.iter().skip(1).cycle();
    for (form, colour) in flash.closed_forms.iter().zip(colours) {
        let level = rounded(form.write_amplification);
        traces.push(json!({
            "type": "scatter", "mode": "lines", "name": form.name,
            "x": [0.0, fills(flash.tenths.len())], "y": [level, level],
            "line": {"color": colour, "dash": "longdash", "width": 1}, "hovertemplate": "%{y:.2f}",
        }));
    }
    traces
}

const HEADER: [&str; 5] = ["fills", "host_pages", "moved_pages", "erased_blocks", "write_amplification"];

fn series(flash: &FlashOutcome) -> Series<'_> {
    let rows = flash.tenths.iter().enumerate().map(|(number, tenth)| {
        vec![
            ((number + 1) as f64 / 10.0).into(),
            tenth.host_pages.into(),
            tenth.moved_pages.into(),
            tenth.erased_blocks.into(),
            tenth.write_amplification().into(),
        ]
    });
    Series { header: &HEADER, rows: Box::new(rows) }
}

/// The figures for scripts; such a run has no spans.
#[derive(Serialize)]
struct FlashSummary {
    spans: [(); 0],
    write_amplification: Option<f64>,
    spare: f64,
    iops_ratio: Option<f64>,
    wear_spread: Option<f64>,
    written_bytes_max: Option<f64>,
    life_days: Option<f64>,
    host_pages_per_s: Option<f64>,
    memory_bytes_per_page: f64,
}

impl FlashSummary {
    fn of(flash: &FlashOutcome) -> Self {
        let host: u64 = flash.tenths.iter().map(|tenth| tenth.host_pages).sum();
        let user_pages = f64::from(flash.settings.user_pages);
        Self {
            spans: [],
            write_amplification: flash.write_amplification.map(|found| found.mean),
            spare: flash.settings.spare(),
            iops_ratio: flash.iops_ratio,
            wear_spread: flash.wear.spread(),
            written_bytes_max: flash.life.map(|life| life.written_bytes),
            life_days: flash.life.as_ref().and_then(FlashLife::days),
            host_pages_per_s: (flash.elapsed_ns > 0)
                .then(|| (host as f64 + user_pages) / (flash.elapsed_ns as f64 / 1e9)),
            memory_bytes_per_page: flash.memory_bytes as f64 / user_pages.max(1.0),
        }
    }
}
