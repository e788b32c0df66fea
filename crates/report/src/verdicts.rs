//! Verdicts in words: each requirement with what was measured.

use iostall_model::{FigureUnit, Verdict};

use crate::format::{duration, number, shown, throughput};
use crate::section::{Layout, Note, Section};
use crate::table::Severity;

/// `log.p99<1ms is missed: 3.30 ms`.
pub fn sentence(verdict: &Verdict) -> String {
    let word = if verdict.met { "met" } else { "missed" };
    let found = found(verdict);
    let found = if found.is_empty() { String::new() } else { format!(": {found}") };
    format!("{} is {word}{found}", shown(&verdict.requirement))
}

/// What was measured, where, and what else there is to say about it.
pub(crate) fn found(verdict: &Verdict) -> String {
    let figure = verdict.figure.zip(verdict.unit).map(|(figure, unit)| in_unit(figure, unit));
    // A requirement that names its subject does not need it a second time.
    let subject = verdict.subject.as_ref().filter(|_| figure.is_some());
    let subject = subject.filter(|subject| !verdict.requirement.starts_with(subject.as_str()));
    let figure = match (figure, subject) {
        (Some(figure), Some(subject)) => Some(format!("{figure} ({})", shown(subject))),
        (figure, _) => figure,
    };
    let reason = verdict.reason.as_deref().map(shown);
    figure.into_iter().chain(reason).collect::<Vec<_>>().join("; ")
}

fn in_unit(figure: f64, unit: FigureUnit) -> String {
    match unit {
        FigureUnit::Nanoseconds => duration(figure),
        FigureUnit::BytesPerSecond => throughput(figure),
        FigureUnit::PerSecond => format!("{} a second", number(figure)),
        FigureUnit::Count => number(figure),
    }
}

pub(crate) fn section(verdicts: &[Verdict]) -> Option<Section> {
    if verdicts.is_empty() {
        return None;
    }
    let missed = verdicts.iter().filter(|verdict| !verdict.met).count();
    let title = match (verdicts.len(), missed) {
        (1, 0) => "The requirement is met".to_owned(),
        (1, _) => "The requirement is missed".to_owned(),
        (all, 0) => format!("All {all} requirements are met"),
        (all, missed) => format!("{missed} of {all} requirements missed"),
    };
    let note = |verdict: &Verdict| Note {
        severity: if verdict.met { Severity::Good } else { Severity::Bad },
        text: sentence(verdict),
    };
    let notes = verdicts.iter().map(note).collect();
    Some(Section { notes, layout: Layout::Notes, ..Section::titled(title) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(requirement: &str, met: bool, figure: Option<f64>, unit: FigureUnit) -> Verdict {
        let requirement = requirement.to_owned();
        Verdict { requirement, met, subject: None, figure, unit: Some(unit), reason: None }
    }

    #[test]
    fn a_sentence_has_the_requirement_as_typed_and_the_figure_in_its_unit() {
        let log = verdict("log.p99<1ms", false, Some(3.3e6), FigureUnit::Nanoseconds);
        assert_eq!(sentence(&log), "log.p99<1ms is missed: 3.30 ms");
        let same = Verdict { subject: Some("log".into()), ..log.clone() };
        assert_eq!(sentence(&same), "log.p99<1ms is missed: 3.30 ms");
        let span = Verdict { subject: Some("span 2 log".into()), ..log };
        assert_eq!(sentence(&span), "log.p99<1ms is missed: 3.30 ms (span 2 log)");
        let copied = verdict("throughput>1MB/s", true, Some(524_288_000.0), FigureUnit::BytesPerSecond);
        assert_eq!(sentence(&copied), "throughput>1MB/s is met: 500 MiB/s");
        let none = verdict("x.iops>1", false, None, FigureUnit::PerSecond);
        let none = Verdict { reason: Some("it was not measured".into()), ..none };
        assert_eq!(sentence(&none), "x.iops>1 is missed: it was not measured");
    }

    #[test]
    fn the_section_counts_what_was_missed() {
        let (good, bad) = (
            verdict("iops>1", true, Some(2.0), FigureUnit::PerSecond),
            verdict("iops>9", false, Some(2.0), FigureUnit::PerSecond),
        );
        let title = |verdicts: &[Verdict]| section(verdicts).map(|section| section.title);
        assert_eq!(title(&[]), None);
        assert_eq!(title(std::slice::from_ref(&good)).as_deref(), Some("The requirement is met"));
        assert_eq!(title(&[good, bad]).as_deref(), Some("1 of 2 requirements missed"));
    }
}
