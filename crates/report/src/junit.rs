//! Verdicts as JUnit's XML, which every pipeline reads: a test case for each requirement, one for the run
//! itself, and all figures as properties.

use std::io::{self, Write};

use iostall_diskspd::xml::XmlWriter;
use iostall_model::{Run, Verdict};
use iostall_session::output::JUNIT_ROOT;
use iostall_session::requirements::{failures, figures};
use jiff::Timestamp;

use crate::format::shown;
use crate::verdicts::{found, sentence};
use crate::warnings;

struct Case {
    name: String,
    outcome: CaseOutcome,
}

enum CaseOutcome {
    Passed(String),
    /// The answer is no.
    Failed(String),
    /// There is no answer.
    Error(String),
}

pub(crate) struct Suite<'a> {
    /// What made it: `load`, `compare`.
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) started: Option<Timestamp>,
    pub(crate) hostname: Option<&'a str>,
    pub(crate) seconds: f64,
    pub(crate) properties: Vec<(String, String)>,
}

pub fn write_junit(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut properties = vec![
        ("run".to_owned(), run.id.to_string()),
        ("iostall".to_owned(), run.tool_version.clone()),
        ("command_line".to_owned(), crate::facts::command_line(run)),
    ];
    let warning = |warning| ("warning".to_owned(), warnings::in_a_line(warning));
    properties.extend(run.warnings.iter().map(warning));
    properties.extend(figures(run).into_iter().map(|(name, figure)| (name, figure.to_string())));
    let length = run.ended_utc.duration_since(run.started_utc);
    let suite = Suite {
        kind: run.body.kind(),
        name: &run.name,
        started: Some(run.started_utc),
        hostname: Some(&run.host.hostname),
        seconds: length.as_secs_f64(),
        properties,
    };
    let mut cases = vec![run_itself(run)];
    cases.extend(run.verdicts.iter().map(required));
    write(&suite, &cases, out)
}

pub(crate) fn write_verdicts(suite: &Suite<'_>, verdicts: &[Verdict], out: &mut dyn Write) -> io::Result<()> {
    let cases: Vec<Case> = verdicts.iter().map(required).collect();
    write(suite, &cases, out)
}

/// A run with failed requests must not look green because nothing was required of it.
fn run_itself(run: &Run) -> Case {
    let failures = failures(run);
    let outcome = if run.interrupted {
        CaseOutcome::Error("the run was interrupted: the figures are those of the part that ran".to_owned())
    } else if failures.is_empty() {
        CaseOutcome::Passed(String::new())
    } else {
        CaseOutcome::Failed(failures.join("; "))
    };
    Case { name: "completes without failures".to_owned(), outcome }
}

fn required(verdict: &Verdict) -> Case {
    let outcome = if verdict.met {
        CaseOutcome::Passed(found(verdict))
    } else {
        CaseOutcome::Failed(sentence(verdict))
    };
    Case { name: verdict.requirement.clone(), outcome }
}

fn write(suite: &Suite<'_>, cases: &[Case], out: &mut dyn Write) -> io::Result<()> {
    let of_kind = |is: fn(&CaseOutcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = of_kind(|outcome| matches!(outcome, CaseOutcome::Failed(_)));
    let errors = of_kind(|outcome| matches!(outcome, CaseOutcome::Error(_)));
    let (title, name) = (format!("iostall {}", suite.kind), shown(suite.name));
    let seconds = format!("{:.3}", suite.seconds);
    let mut xml = XmlWriter::new();
    xml.open(
        "testsuites",
        &[
            ("name", &title),
            ("tests", &cases.len()),
            ("failures", &failures),
            ("errors", &errors),
            ("time", &seconds),
        ],
    );
    // The schema wants these two even where they are not known.
    let started = suite.started.unwrap_or(Timestamp::UNIX_EPOCH);
    xml.open(
        "testsuite",
        &[
            ("name", &name),
            ("tests", &cases.len()),
            ("failures", &failures),
            ("errors", &errors),
            ("skipped", &0),
            ("timestamp", &started.strftime("%Y-%m-%dT%H:%M:%S")),
            ("hostname", &suite.hostname.map_or_else(|| "localhost".to_owned(), shown)),
            ("time", &seconds),
        ],
    );
    xml.open("properties", &[]);
    for (name, value) in &suite.properties {
        xml.empty("property", &[("name", &shown(name)), ("value", &shown(value))]);
    }
    xml.close();
    let class = format!("iostall.{}.{name}", suite.kind);
    for case in cases {
        write_case(case, &class, &mut xml);
    }
    xml.close();
    xml.close();
    let document = xml.finish();
    debug_assert!(document.starts_with(JUNIT_ROOT), "a former one is known by its beginning");
    writeln!(out, "{document}")
}

fn write_case(case: &Case, class: &str, xml: &mut XmlWriter) {
    let name = shown(&case.name);
    // The time of the run is that of the suite; a verdict takes none.
    xml.open("testcase", &[("classname", &class), ("name", &name), ("time", &"0")]);
    match &case.outcome {
        CaseOutcome::Passed(found) if found.is_empty() => {}
        CaseOutcome::Passed(found) => xml.leaf("system-out", found),
        CaseOutcome::Failed(why) => {
            xml.leaf_with("failure", &[("message", why), ("type", &"requirement")], why);
        }
        CaseOutcome::Error(why) => xml.leaf_with("error", &[("message", why), ("type", &"interrupted")], why),
    }
    xml.close();
}

#[cfg(test)]
mod tests {
    use iostall_session::requirements::verdicts;

    use super::*;
    use crate::fixture;

    fn document(run: &Run) -> String {
        let mut out = Vec::new();
        write_junit(run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn required_of(mut run: Run, texts: &[&str]) -> Run {
        let requirements: Vec<_> = texts.iter().map(|text| text.parse().unwrap()).collect();
        run.verdicts = verdicts(&run, &requirements);
        run
    }

    #[test]
    fn a_requirement_is_a_test_case_and_a_figure_a_property() {
        let mut run = required_of(fixture::run(), &["data.iops>3", "log.p99<1us"]);
        run.warnings.clear();
        let text = document(&run);
        assert!(
            text.starts_with("<testsuites name=\"iostall load\" tests=\"3\" failures=\"1\" errors=\"0\"")
        );
        assert!(text.contains("name=\"data.iops&gt;3\""), "{text}");
        assert!(text.contains("<failure message=\"log.p99&lt;1us is missed: "), "{text}");
        assert!(text.contains("<property name=\"data.iops\" value=\"3000\"/>"), "{text}");
        assert!(text.contains("<property name=\"data.read.latency_ns_p99\""), "{text}");
    }

    /// A run with failed writes was green in the pipeline, because nothing was required of it.
    #[test]
    fn a_run_that_failed_or_was_interrupted_is_not_green() {
        let failed = document(&fixture::run());
        assert!(failed.contains("failures=\"1\"") && failed.contains("3 writes failed"), "{failed}");
        let interrupted = document(&fixture::interrupted());
        assert!(interrupted.contains("errors=\"1\"") && interrupted.contains("<error message="));
        for run in [fixture::sweep(), fixture::matrix(), fixture::write()] {
            let text = document(&run);
            assert!(text.contains("tests=\"1\""), "{text}");
        }
    }

    #[test]
    fn no_name_breaks_out_of_its_attribute() {
        let text = document(&fixture::hostile());
        assert!(!text.contains("<script") && !text.contains('\u{1b}') && !text.contains("<b>"), "{text}");
    }
}
