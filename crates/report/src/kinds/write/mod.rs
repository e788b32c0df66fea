//! The report of a paced write.

mod charts;
pub mod growing;
mod methods;
mod notes;
mod series;

use iostall_measure::as_typed;
use iostall_model::{PacedOutcome, Run};

use super::give_way;
use super::moved::NoSpans;
use crate::format::bytes;
use crate::report::Report;
use crate::section::{Layout, Section};

pub(super) fn report<'a>(run: &'a Run, paced: &'a PacedOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: headline(paced),
        line: Box::new(|| headline(paced)),
        answer: Box::new(|| notes::answer(paced)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| {
            [Some(section(paced)), give_way::section(paced.gave_way.as_ref())].into_iter().flatten().collect()
        }),
        when_empty: "",
        charts: Box::new(|| {
            let gave_way = paced.gave_way.as_ref().map(give_way::charts);
            [Some(charts::charts(paced)), gave_way].into_iter().flatten().collect()
        }),
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
        as_typed(paced.interval_bytes as f64),
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
