//! A build of drives, with its arithmetic, and how the layers under a target fit solid-state drives.

use std::io::{self, Write};

use iostall_model::build_plan::{BuildPlan, Figure, PlannedArray};
use iostall_model::stack_check::{StackAnswer, StackLayer, StackReport};
use iostall_session::build::PlanReport;
use iostall_session::output::Form;
use serde_json::json;

use crate::format::{bytes, count, shown};
use crate::forms::write_page;
use crate::html::write_sections_html;
use crate::markdown::write_sections_markdown;
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};

pub fn title(report: &PlanReport) -> String {
    match (&report.plan, &report.stack) {
        (Some(plan), _) => format!("drive plan: {} drives", count(plan.drives)),
        (None, Some(stack)) => format!("drive plan: {}", shown(&stack.target)),
        (None, None) => "drive plan".to_owned(),
    }
}

pub fn sections(report: &PlanReport) -> Vec<Section> {
    let mut all = Vec::new();
    if let Some(plan) = &report.plan {
        all.push(build(plan));
        all.extend(plan.arrays.iter().map(array));
    }
    all.extend(report.stack.as_ref().map(stack));
    all
}

pub fn write_plan(report: &PlanReport, form: Form, out: &mut dyn Write) -> io::Result<()> {
    let (title, sections) = (title(report), sections(report));
    match form {
        Form::Markdown => write_page(out, |text| write_sections_markdown(&title, &sections, text)),
        Form::Html => {
            let charts: Vec<_> = sections.iter().map(|_| Vec::new()).collect();
            write_page(out, |text| write_sections_html("drive plan", &title, &sections, &charts, text))
        }
        _ => {
            let document = json!({
                "schema": "iostall-drive-plan",
                "schema_version": 1,
                "plan": report.plan,
                "stack": report.stack,
            });
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)
        }
    }
}

fn build(plan: &BuildPlan) -> Section {
    let columns = vec![
        Column::words("volume"),
        Column::numbers("drives"),
        Column::words("RAID"),
        Column::numbers("usable"),
        Column::numbers("IOPS"),
        Column::numbers("busy"),
    ];
    let mut table = Table::new("", columns);
    for one in &plan.arrays {
        let of = |name: &str, unit: &str| {
            let found = one.figures.iter().find(|figure| figure.name == name);
            found.map_or_else(|| "-".to_owned(), |figure| format!("{}{unit}", figure.shown()))
        };
        table.row(vec![
            one.role.name().into(),
            count(one.drives).into(),
            one.level.number().to_string().into(),
            of("usable size", " GB").into(),
            of("random requests", "").into(),
            of("busy", " %").into(),
        ]);
    }
    let of_all = |name: &str, drives: u64, severity| {
        let cells =
            [name.to_owned(), count(drives), String::new(), String::new(), String::new(), String::new()];
        cells.map(|text| TableCell::from(text).severity(severity)).to_vec()
    };
    table.row(of_all("hot spare", plan.hot_spares, Severity::Plain));
    table.row(of_all("all", plan.drives, Severity::Strong));
    let drive = &plan.drive;
    let notes = vec![Note::plain(
        "The random requests are what the drives do without a cache and at full use: one that is busy half of the time answers sooner. \
         A cache that survives a loss of power hides the penalty of writes, and does not remove it.",
    )];
    Section {
        results: Some(table),
        tables: vec![figures("All drives", &plan.figures)],
        notes,
        layout: Layout::Figures,
        facts: vec![Fact::new(
            "drive",
            format!(
                "{} GB, {} IOPS, {} MB/s, {:e} unreadable sectors a bit, {} h between failures",
                decimal(drive.size.bytes() as f64 / 1e9),
                decimal(drive.iops),
                decimal(drive.bytes_per_s / 1e6),
                drive.errors_per_bit,
                decimal(drive.mtbf_h)
            ),
        )],
        ..Section::titled("Build")
    }
}

fn decimal(value: f64) -> String {
    crate::format::number(value)
}

fn array(one: &PlannedArray) -> Section {
    let title = format!("{}: {} drives, {}", one.role, count(one.drives), one.level);
    Section { results: Some(figures("", &one.figures)), layout: Layout::Figures, ..Section::titled(title) }
}

fn figures(caption: &str, all: &[Figure]) -> Table {
    let columns =
        vec![Column::words("figure"), Column::numbers("value"), Column::words(""), Column::words("formula")];
    let mut table = Table::new(caption, columns);
    for figure in all {
        table.row(vec![
            figure.name.into(),
            figure.shown().into(),
            figure.unit.into(),
            shown(&figure.formula).into(),
        ]);
    }
    table
}

fn stack(stack: &StackReport) -> Section {
    let columns =
        vec![Column::words("check"), Column::words("answer"), Column::words("found, and what to do")];
    let mut table = Table::new("", columns);
    for check in &stack.checks {
        let (answer, severity) = match check.answer {
            StackAnswer::Good => ("good", Severity::Good),
            StackAnswer::Unknown => ("unknown", Severity::Plain),
            StackAnswer::Caution => ("caution", Severity::Caution),
            StackAnswer::Bad => ("BAD", Severity::Bad),
        };
        let advice = if check.advice.is_empty() { String::new() } else { format!(": {}", check.advice) };
        table.row(vec![
            check.name.as_str().into(),
            TableCell::from(answer).severity(severity),
            shown(&format!("{}{advice}", check.found)).into(),
        ]);
    }
    let mut facts: Vec<Fact> = stack
        .file_system
        .iter()
        .map(|found| {
            let value = format!("{} on {}, {}", found.kind, found.mount_point.display(), found.options);
            Fact::new("file system", shown(&value))
        })
        .collect();
    facts.extend(stack.layers.iter().map(|layer| Fact::new(shown(&layer.device), words_of(layer))));
    Section { results: Some(table), facts, ..Section::titled(format!("Under {}", shown(&stack.target))) }
}

fn words_of(layer: &StackLayer) -> String {
    let layout = &layer.layout;
    let mut words: Vec<String> = layer.model.as_deref().map(shown).into_iter().collect();
    let mut add =
        |name: &str, size: Option<u64>| {
            words.extend(size.map(|size| {
                if size == 0 { format!("{name} none") } else { format!("{name} {}", bytes(size)) }
            }));
        };
    add("TRIM", layout.discard_bytes_max);
    add("in units of", layout.discard_unit_bytes.filter(|_| layout.discard_bytes_max != Some(0)));
    add("stripe", layout.optimal_io_bytes);
    add("chunk", layout.chunk_bytes);
    add("erased at once", layout.erase_bytes);
    words.extend(layout.start_bytes.map(|start| format!("from byte {}", count(start))));
    words.join(", ")
}
