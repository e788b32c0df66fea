//! `--require`, and the verdicts in every output: exit status, text, JSON, Markdown and JUnit.
//!
//! The null engine does no I/O, and the limits are far from what any machine reaches, so that nothing here depends on speed.

use std::collections::BTreeMap;
use std::fs;

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

use crate::support::{Ran, Workspace, until};

/// What a pipeline reads of a JUnit document.
#[derive(Debug, Default)]
struct Junit {
    suites: BTreeMap<String, String>,
    properties: BTreeMap<String, String>,
    /// Names of the cases, and the message of a failure or error.
    cases: Vec<(String, Option<String>)>,
}

impl Junit {
    fn read(here: &Workspace, name: &str) -> Self {
        let text = fs::read_to_string(here.path(name)).expect("the document is there");
        let mut reader = Reader::from_str(&text);
        reader.config_mut().check_end_names = true;
        let mut junit = Self::default();
        loop {
            match reader.read_event().expect("the document is XML") {
                Event::Start(tag) | Event::Empty(tag) => {
                    let mut attributes = BTreeMap::new();
                    for attribute in tag.attributes() {
                        let attribute = attribute.expect("an attribute");
                        let value = quick_xml::escape::unescape(&attribute.value).expect("an escaped value");
                        attributes.insert(attribute.key.0.to_owned(), value.into_owned());
                    }
                    junit.add(tag.name().0, attributes);
                }
                Event::Eof => return junit,
                _ => {}
            }
        }
    }

    fn add(&mut self, tag: &str, mut attributes: BTreeMap<String, String>) {
        match tag {
            "testsuites" => self.suites = attributes,
            "property" => {
                let (name, value) = (attributes.remove("name").unwrap(), attributes.remove("value").unwrap());
                self.properties.insert(name, value);
            }
            "testcase" => self.cases.push((attributes.remove("name").unwrap(), None)),
            "failure" | "error" => {
                let case = self.cases.last_mut().expect("it belongs to a case");
                case.1 = attributes.remove("message");
            }
            _ => {}
        }
    }

    fn message(&self, case: &str) -> Option<&str> {
        let found = self.cases.iter().find(|(name, _)| name == case);
        found.unwrap_or_else(|| panic!("no case {case} in {self:?}")).1.as_deref()
    }
}

/// A load on nothing that completed something, with more options.
fn load(here: &Workspace, more: &[&str], status: i32) -> Ran {
    let base =
        ["load", "--engine", "null", "--preset", "random-read", "--warmup", "0", "--duration", "300ms"];
    until("a load that did something", || {
        let ran = here.run(&[&base[..], &["--json", "run.json"], more].concat());
        let run = here.json("run.json");
        let ops = run["summary"]["spans"][0]["roles"][0]["ops"].as_array().expect("operations").len();
        (ops > 0).then(|| ran.expect_status(status))
    })
}

fn verdicts(document: &Value) -> &Vec<Value> {
    document["verdicts"].as_array().unwrap_or_else(|| panic!("no verdicts in {document}"))
}

/// The story: a pipeline ran a load and had to read p99 out of the JSON with a script of its own to know whether the storage
/// is what was paid for.
#[test]
fn a_load_that_misses_what_is_required_ends_with_1_and_says_which_figure_missed() {
    let here = Workspace::new();
    let met = load(&here, &["--require", "max<1000h,iops>0.001"], 0);
    assert!(met.stdout.contains("All 2 requirements are met"), "{}", met.stdout);
    let missed = load(&here, &["--require", "data.iops>1e15, failed<=0"], 1);
    assert!(missed.stdout.contains("1 of 2 requirements missed"), "{}", missed.stdout);
    assert!(missed.stdout.contains("data.iops>1e15 is missed: "), "{}", missed.stdout);
    let run = here.json("run.json");
    let found = &verdicts(&run)[0];
    assert_eq!((&found["requirement"], &found["met"]), (&Value::from("data.iops>1e15"), &Value::from(false)));
    assert_eq!(found["unit"], "per_s");
    assert!(found["figure"].as_f64().is_some_and(|iops| iops > 0.0), "{found}");
    assert_eq!(verdicts(&run)[1]["met"], true);
}

/// A typing error in a name was found when the load had run for an hour, and `no-regression` never could be met.
#[test]
fn what_a_load_cannot_measure_is_refused_before_it_begins() {
    let here = Workspace::new();
    for (require, words) in [
        ("lgo.p99<1ms", "no role of this load"),
        ("no-regression", "does not measure it"),
        ("headroom>2", "does not measure it"),
        ("p99<1", "no unit"),
        ("iops", "no <"),
    ] {
        let ran = here.run(&["load", "--size", "1MiB", "t.dat", "--require", require]).expect_status(2);
        assert!(ran.stderr.contains(words), "{require}: {}", ran.stderr);
        assert!(!here.path("t.dat").exists(), "{require}: nothing was made");
    }
}

#[test]
fn a_stored_run_keeps_its_verdicts_and_can_be_required_again() {
    let here = Workspace::new();
    load(&here, &["--require", "iops>1e15"], 1);
    let shown = here.run(&["runs", "show", "last"]).expect_status(0);
    assert!(shown.stdout.contains("iops>1e15 is missed"), "{}", shown.stdout);
    let again = here.run(&["runs", "show", "last", "--require", "iops<1e15"]).expect_status(0);
    assert!(again.stdout.contains("The requirement is met"), "{}", again.stdout);
    here.run(&["runs", "show", "last", "--require", "iops>1e15", "--json", "-"]).expect_status(1);
}

/// The exit status was 1 and nothing said why, because the document had taken standard output.
#[test]
fn what_missed_is_said_where_no_report_is_shown() {
    let here = Workspace::new();
    load(&here, &[], 0);
    let ran =
        here.run(&["runs", "show", "last", "-q", "--require", "iops>1e15", "--json", "-"]).expect_status(1);
    assert!(ran.stderr.contains("iops>1e15 is missed"), "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).expect("only the document");
    assert_eq!(verdicts(&document)[0]["met"], false);
}

#[test]
fn every_measuring_command_takes_requirements() {
    let here = Workspace::new();
    fs::write(here.path("a.dat"), vec![7; 3 << 20]).unwrap();
    let copy = ["copy", "a.dat", "b.dat", "--overwrite", "--json", "o.json", "--require"];
    here.run(&[&copy[..], &["failed<=0,throughput>1MiB/s"]].concat()).expect_status(0);
    here.run(&[&copy[..], &["throughput>1000TiB"]].concat()).expect_status(1);
    assert!(here.path("b.dat").exists(), "the copy is whole, it was only too slow");
    assert_eq!(verdicts(&here.json("o.json"))[0]["unit"], "bytes_per_s");
    let write =
        ["write", "w.dat", "--size", "8MiB", "--methods", "buffered", "--json", "o.json", "--require"];
    here.run(&[&write[..], &["buffered.max<1000h"]].concat()).expect_status(0);
    here.run(&[&write[..], &["buffered.throughput>1000TiB"]].concat()).expect_status(1);
    let quick = ["--engine", "null", "--warmup", "0", "--interval", "100ms", "--repeats-max", "1"];
    let sweep =
        ["sweep", "--in-flight-max", "2", "--workers-max", "1", "--json", "o.json", "--require", "iops>1e15"];
    here.run(&[&sweep[..], &quick[..]].concat()).expect_status(1);
    let matrix = [
        "matrix",
        "--sizes",
        "8K,64K",
        "--depths",
        "1,2",
        "--access",
        "random",
        "--read-only",
        "--json",
        "o.json",
    ];
    let missed = [&matrix[..], &quick[..], &["--require", "read-64K-q2.iops>1e15,failed<=0"]].concat();
    here.run(&missed).expect_status(1);
    let document = here.json("o.json");
    assert_eq!(verdicts(&document)[0]["subject"], "random-read-64K-q2-t1");
    assert_eq!(verdicts(&document)[1]["met"], true);
}

/// A comparison in a pipeline ended with 0 whatever it found.
#[test]
fn no_regression_is_missed_where_there_are_too_few_samples_to_say_so() {
    let here = Workspace::new();
    load(&here, &[], 0);
    load(&here, &[], 0);
    here.run(&["compare", "1", "2"]).expect_status(0);
    let outputs =
        ["--json", "c.json", "--junit", "c.xml", "--markdown", "c.md", "--csv", "c.csv", "--html", "c.html"];
    let required = ["compare", "1", "2", "--require", "no-regression"];
    let ran = here.run(&[&required[..], &outputs].concat()).expect_status(1);
    assert!(ran.stdout.contains("no-regression is missed"), "{}", ran.stdout);
    assert_eq!(verdicts(&here.json("c.json"))[0]["met"], false);
    let junit = Junit::read(&here, "c.xml");
    assert!(junit.message("no-regression").is_some_and(|why| why.contains("too few samples")), "{junit:?}");
    let text = |name: &str| fs::read_to_string(here.path(name)).unwrap();
    assert!(text("c.md").starts_with("# iostall compare: Comparison of &#35;1, &#35;2\n"));
    assert!(text("c.csv").starts_with("first,second,subject,metric,"));
    assert!(text("c.html").contains("#2 against #1"));
    // A former result of the same form makes room for the next.
    here.run(&[&["compare", "1", "2"][..], &outputs].concat()).expect_status(0);
    let refused = here.run(&["compare", "1", "2", "--require", "iops>3"]).expect_status(2);
    assert!(refused.stderr.contains("a comparison has no-regression"), "{}", refused.stderr);
}

/// The story: a ticket system and a pipeline each wanted a form of their own, and there was none.
#[test]
fn a_pipeline_reads_the_verdicts_and_figures_as_junit_and_a_ticket_as_markdown() {
    let here = Workspace::new();
    let outputs = ["--junit", "t.xml", "--markdown", "t.md"];
    load(
        &here,
        &[&["--name", "a<b>&\"c\"", "--require", "iops>1e15,data.max<1000h"][..], &outputs].concat(),
        1,
    );
    let junit = Junit::read(&here, "t.xml");
    assert_eq!((junit.suites["tests"].as_str(), junit.suites["failures"].as_str()), ("3", "1"));
    assert!(
        junit.message("iops>1e15").is_some_and(|why| why.starts_with("iops>1e15 is missed: ")),
        "{junit:?}"
    );
    assert_eq!(junit.message("data.max<1000h"), None);
    assert_eq!(junit.message("completes without failures"), None);
    let run = here.json("run.json");
    let iops = &run["summary"]["spans"][0]["roles"][0]["ops"][0]["iops"];
    let property: f64 = junit.properties["data.iops"].parse().expect("a number");
    assert!((property - iops.as_f64().unwrap()).abs() < 1e-6, "{property} {iops}");
    assert_eq!(junit.properties["run"], run["id"].as_str().unwrap());
    let markdown = fs::read_to_string(here.path("t.md")).unwrap();
    assert!(markdown.contains("## 1 of 2 requirements missed"), "{markdown}");
    load(&here, &outputs, 0);
    assert_eq!(Junit::read(&here, "t.xml").suites["failures"], "0");
}

/// `--junit` is an output like the others: it replaces its own former results and nothing else.
#[test]
fn a_junit_document_replaces_only_its_like() {
    let here = Workspace::new();
    fs::write(here.path("other.xml"), "<testsuites name=\"pytest\"></testsuites>").unwrap();
    let command =
        ["load", "--engine", "null", "--duration", "100ms", "--warmup", "0", "--preset", "random-read"];
    let refused = here.run(&[&command[..], &["--junit", "other.xml"]].concat()).expect_status(2);
    assert!(refused.stderr.contains("is not a JUnit document written by iostall"), "{}", refused.stderr);
    assert!(fs::read_to_string(here.path("other.xml")).unwrap().contains("pytest"));
}
