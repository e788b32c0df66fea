//! The report on a fleet in each of its forms.

use std::io::{self, Write};

use iostall_session::output::Form;
use iostall_watch::FleetReport;
use serde_json::json;

use super::page::{sections, title};
use crate::forms::write_page;
use crate::html::write_sections_html;
use crate::markdown::write_sections_markdown;

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
