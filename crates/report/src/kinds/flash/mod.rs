//! The report of a simulated flash device.

mod charts;
mod facts;
mod notes;
mod rows;
mod words;

use iostall_model::kinds::FlashTenth;
use iostall_model::{FlashOutcome, Run};

use self::words::{interval, ratio};
use crate::format::{NONE, percent};
use crate::report::Report;
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
        charts: Box::new(|| vec![charts::charts(flash)]),
        series: Box::new(|| rows::series(flash)),
        summary: Box::new(|| Box::new(rows::FlashSummary::of(flash))),
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
