//! The sentence that a report begins and ends with: what the result means, what was missed, and how far the numbers hold.

use iostall_model::{RunNumber, Verdict};
use iostall_session::requirements::failures;

use crate::format::shown;
use crate::report::Report;
use crate::table::Severity;
use crate::warnings;

const MISSED_MAX: usize = 3;

/// The sentence; with the run's number in the store where it has one.
pub fn answer(report: &Report<'_>, number: Option<RunNumber>) -> String {
    let run = report.run;
    let interrupted = run.interrupted.then(|| "interrupted".to_owned());
    let parts = [
        interrupted,
        Some((report.answer)()),
        missed(&run.verdicts),
        warnings::in_brief(&run.warnings),
        number.map(|number| format!("run {number}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The same in a word or two, with its colour: what outweighs everything else is said first.
pub(crate) fn conclusion(report: &Report<'_>) -> (&'static str, Severity) {
    let run = report.run;
    let judged = (report.judgement)();
    match () {
        () if !failures(run).is_empty() => ("failed", Severity::Bad),
        () if run.verdicts.iter().any(|verdict| !verdict.met) => ("requirement missed", Severity::Bad),
        () if !run.is_valid() => ("not valid", Severity::Bad),
        () if run.interrupted => ("interrupted", Severity::Caution),
        () if !run.verdicts.is_empty() => ("as required", Severity::Good),
        () => judged.map_or(("measured", Severity::Strong), |judged| (judged.word(), judged.severity())),
    }
}

fn missed(verdicts: &[Verdict]) -> Option<String> {
    let missed: Vec<String> =
        verdicts.iter().filter(|verdict| !verdict.met).map(|verdict| shown(&verdict.requirement)).collect();
    match missed.len() {
        0 if verdicts.is_empty() => None,
        0 => Some("all that was required is met".to_owned()),
        1..=MISSED_MAX => Some(format!("missed: {}", missed.join(", "))),
        more => Some(format!("missed: {} and {} more", missed[..MISSED_MAX].join(", "), more - MISSED_MAX)),
    }
}

/// The result of a run on one line, marked if it was interrupted or has warnings.
pub fn run_line(report: &Report<'_>) -> String {
    let interrupted = if report.run.interrupted { " [interrupted]" } else { "" };
    let warnings = match report.run.warnings.len() {
        0 => String::new(),
        1 => " [1 warning]".to_owned(),
        many => format!(" [{many} warnings]"),
    };
    format!("{}{interrupted}{warnings}", (report.line)())
}

#[cfg(test)]
mod tests {
    use iostall_model::{Run, Warning, WarningCode};
    use iostall_session::requirements::verdicts;

    use super::*;
    use crate::fixture;

    /// After two screens of tables nothing said what they meant.
    #[test]
    fn a_report_has_one_sentence_with_the_result_what_was_missed_and_how_far_it_holds() {
        let mut run = fixture::run();
        let required: Vec<_> = ["data.iops>1e9", "log.iops>1"].map(|text| text.parse().unwrap()).into();
        run.verdicts = verdicts(&run, &required);
        let sentence = answer(&Report::of(&run), Some(RunNumber(3)));
        assert!(sentence.starts_with("data: 3,000 IOPS"), "{sentence}");
        let end = " · missed: data.iops>1e9 · 1 warning invalidates the numbers · 1 caution · run #3";
        assert!(sentence.ends_with(end), "{sentence}");
        run.warnings = vec![Warning::new(WarningCode::FewSamples, "few")];
        run.verdicts.retain(|verdict| verdict.met);
        let sentence = answer(&Report::of(&run), None);
        assert!(sentence.ends_with(" · all that was required is met"), "a note is no doubt: {sentence}");
    }

    #[test]
    fn what_outweighs_the_rest_is_the_conclusion() {
        let of = |run: &iostall_model::Run| conclusion(&Report::of(run)).0;
        let mut run = fixture::run();
        assert_eq!(of(&run), "failed", "three writes failed");
        run.warnings.clear();
        assert_eq!(of(&run), "measured", "its roles have no thresholds");
        run.verdicts = verdicts(&run, &["data.iops>1".parse().unwrap()]);
        assert_eq!(of(&run), "as required");
        run.interrupted = true;
        assert_eq!(of(&run), "interrupted");
        run.verdicts = verdicts(&run, &["data.iops>1e9".parse().unwrap()]);
        assert_eq!(of(&run), "requirement missed");
        assert_eq!(of(&fixture::judged()), "slow");
    }

    #[test]
    fn every_kind_of_run_has_an_answer() {
        for (_, run) in fixture::of_every_kind() {
            let sentence = answer(&Report::of(&run), None);
            assert!(sentence.len() > 10 && !sentence.contains("NaN"), "{sentence}");
        }
    }

    fn line(run: &Run) -> String {
        run_line(&Report::of(run))
    }

    #[test]
    fn a_line_names_each_role_and_every_mark() {
        assert_eq!(
            line(&fixture::run()),
            "data: 3,000 IOPS · 23.4 MiB/s · p99 2.07 ms; log: write 2,000 IOPS · 7.81 MiB/s · p99 299 µs [2 warnings]"
        );
        assert!(line(&fixture::interrupted()).ends_with("[interrupted] [3 warnings]"));
        assert_eq!(line(&fixture::empty()), "data: no I/O; log: no I/O [interrupted] [1 warning]");
        assert!(line(&fixture::two_spans()).starts_with("span 2 of 2: data: 1,500 IOPS"));
    }

    /// A copy of two gigabytes was shown as "nothing measured" on its line.
    #[test]
    fn what_was_moved_is_on_the_line_of_what_moved_it() {
        assert!(line(&fixture::copy()).starts_with("1.86 GiB in 3 files copied in 4.00 s, 477 MiB/s"));
        assert!(line(&fixture::sweep()).starts_with("8 settings, "));
    }
}
