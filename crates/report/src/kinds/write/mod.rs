//! The report of a paced write.

mod charts;
pub mod growing;
mod methods;
mod notes;
mod series;

use iostall_model::{PacedOutcome, Run};

use super::moved::NoSpans;
use crate::format::bytes;
use crate::report::Report;
use crate::section::{Layout, Section};

/// The report of a paced write.
pub(super) fn report<'a>(run: &'a Run, paced: &'a PacedOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(paced),
        line: Box::new(|| headline(paced)),
        answer: Box::new(|| notes::answer(paced)),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(paced)]),
        when_empty: "",
        charts: Box::new(|| vec![charts::charts(paced)]),
        series: Box::new(|| series::series(paced)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

fn headline(paced: &PacedOutcome) -> String {
    format!(
        "{} written {}, sampled every {}",
        bytes(paced.methods.iter().map(|method| method.bytes).sum()),
        if paced.methods.len() == 1 {
            "by one method".to_owned()
        } else {
            format!("in {} parts", paced.methods.len())
        },
        bytes(paced.interval_bytes),
    )
}

fn section(paced: &PacedOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: headline(paced),
        layout: Layout::Facts,
        notes: notes::notes(paced),
        tables: vec![methods::table(paced)],
        ..Section::default()
    }
}
