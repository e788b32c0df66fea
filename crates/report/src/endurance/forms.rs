//! The endurance of drives in each of its forms.

use std::io::{self, Write};

use iostall_model::drive::{Endurance, WearInterval};
use iostall_session::output::Form;
use iostall_watch::EnduranceReport;
use serde_json::{Value, json};

use super::page::{sections, title};
use crate::chart::{COLOURS, Chart, drawn, figure, rate_axis, rounded};
use crate::forms::write_page;
use crate::html::write_sections_html;
use crate::markdown::write_sections_markdown;

const HEADS: [&str; 14] = [
    "serial",
    "model",
    "from",
    "to",
    "days",
    "host_bytes",
    "nand_bytes",
    "write_amplification",
    "used_percent",
    "broken",
    "host_bytes_per_day",
    "drive_host_bytes",
    "drive_used_percent",
    "drive_days_left",
];

/// Writes the report: CSV has a line for each two readings of each drive, and one for a drive with a single reading.
pub fn write_endurance(report: &EnduranceReport, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Csv => write_csv(report, out),
        Form::Markdown => {
            write_page(out, |text| write_sections_markdown(&title(report), &sections(report), text))
        }
        Form::Html => {
            let drawn: Vec<_> = report.drives.iter().map(charts).collect();
            write_page(out, |text| {
                write_sections_html("drive endurance", &title(report), &sections(report), &drawn, text)
            })
        }
        Form::Json | Form::Junit | Form::Log | Form::Manifest { .. } => {
            let mut document = json!({"schema": "iostall-drive-endurance", "schema_version": 1});
            for (key, value) in json!(report).as_object().into_iter().flatten() {
                document[key] = value.clone();
            }
            serde_json::to_writer_pretty(&mut *out, &document)?;
            writeln!(out)
        }
    }
}

fn write_csv(report: &EnduranceReport, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(HEADS)?;
    for one in &report.drives {
        lines(one).try_for_each(|line| writer.write_record(line))?;
    }
    writer.flush()
}

fn lines(one: &Endurance) -> impl Iterator<Item = [String; HEADS.len()]> {
    fn written<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let left = one.answer.as_ref().and_then(|answer| Some(answer.days?.likely));
    let drive = [
        written(one.wear.host_bytes()),
        written(one.wear.used_percent()),
        written(left.map(|days| format!("{days:.1}"))),
    ];
    let whole = one.intervals.is_empty().then_some(None);
    one.intervals.iter().map(Some).chain(whole).map(move |interval| {
        let [host, used, left] = drive.clone();
        let per_day = interval.and_then(|one| Some(one.host_bytes? as f64 / one.days()));
        [
            one.drive.serial.clone(),
            one.drive.model.clone(),
            written(interval.map(|one| one.from_utc)),
            written(interval.map(|one| one.to_utc).or(one.last_utc)),
            written(interval.map(|one| format!("{:.4}", one.days()))),
            written(interval.and_then(|one| one.host_bytes)),
            written(interval.and_then(|one| one.nand_bytes)),
            written(interval.and_then(|one| one.write_amplification).map(|ratio| format!("{ratio:.4}"))),
            written(interval.and_then(|one| one.used_percent)),
            written(interval.and_then(|one| one.broken.clone())),
            written(per_day.map(|rate| format!("{rate:.0}"))),
            host,
            used,
            left,
        ]
    })
}

pub(super) fn charts(one: &Endurance) -> Vec<Chart> {
    let written = [
        trace("by hosts", COLOURS[0], &one.intervals, |one| one.host_bytes),
        trace("to the flash", COLOURS[1], &one.intervals, |one| one.nand_bytes),
    ];
    let traces: Vec<Value> = written.into_iter().flatten().collect();
    drawn([Chart {
        id: "written".into(),
        title: "Written a day".into(),
        caption: "The mean between each two readings.",
        figure: figure(&traces, &json!({"type": "date"}), &rate_axis("bytes/day"), "x unified"),
    }])
}

/// A step from each reading to the next; nothing across a break.
fn trace(
    name: &str,
    colour: &str,
    intervals: &[WearInterval],
    bytes_of: fn(&WearInterval) -> Option<u64>,
) -> Option<Value> {
    if intervals.iter().all(|one| bytes_of(one).is_none()) {
        return None;
    }
    let per_day = |one: &WearInterval| bytes_of(one).map(|bytes| rounded(bytes as f64 / one.days()));
    Some(json!({
        "type": "scatter", "mode": "lines", "name": name, "line": {"color": colour, "shape": "vh"},
        "x": intervals.iter().map(|one| one.to_utc.to_string()).collect::<Vec<_>>(),
        "y": intervals.iter().map(per_day).collect::<Vec<_>>(),
        "hovertemplate": "%{y:.3s}B a day",
    }))
}
