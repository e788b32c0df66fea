//! The sentence that a report begins and ends with, and the ranks of warnings.

use serde_json::Value;

use crate::support::{Workspace, until, warnings};

/// The story: after two screens of tables a DBA asked what they meant, and which run it was.
#[test]
fn a_report_begins_and_ends_with_its_answer_and_the_run() {
    let here = Workspace::new();
    let load =
        ["load", "--engine", "null", "--preset", "random-read", "--warmup", "0", "--duration", "300ms"];
    let ran = here.run(&[&load[..], &["--json", "o.json"]].concat()).expect_status(0);
    let run = here.json("o.json");
    let answer = run["answer"].as_str().expect("an answer");
    assert!(answer.contains(" caution"), "the run is short: {answer}");
    let joined = in_a_line(&ran.stdout);
    assert!(joined.ends_with(&format!("{answer} · run #1")), "{}", ran.stdout);
    let head: Vec<&str> = ran.stdout.lines().take(12).collect();
    assert!(in_a_line(&head.join("\n")).contains(answer), "{}", ran.stdout);
    let shown = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(in_a_line(&shown).ends_with(&format!("{answer} · run #1")), "{shown}");
    let unstored = here.run(&[&load[..], &["--no-store"]].concat()).expect_status(0).stdout;
    let last = in_a_line(&unstored);
    assert!(!unstored.contains("run #") && last.trim_end_matches('s').ends_with(" caution"), "{unstored}");
    let markdown = here.run(&["runs", "show", "last", "--markdown", "-"]).expect_status(0).stdout;
    assert!(markdown.trim_end().ends_with("**"), "{markdown}");
}

fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The limits of disks and flash stood in the comments of the presets, where no report could use them.
#[test]
fn a_preset_says_what_disks_and_flash_do_and_its_report_compares_with_it() {
    let here = Workspace::new();
    let log = here.run(&["profile", "show", "log-write"]).expect_status(0).stdout;
    assert!(log.contains("p99-flash = \"1ms\"") && log.contains("source = \""), "{log}");
    let load = ["load", "--size", "16MiB", "--warmup", "0", "--json", "o.json", "t.dat", "--preset"];
    until("a load that did something", || {
        here.run(&[&load[..], &["random-read", "--duration", "1s"]].concat()).expect_status(0);
        let run = here.json("o.json");
        let answer = run["answer"].as_str().expect("an answer");
        let is_storage = !is_invalid(&run);
        (answer.contains("hard disk") || !is_storage && answer.contains("IOPS")).then_some(())
    });
    // At another depth the thresholds do not hold.
    here.run(&[&load[..], &["random-read", "--duration", "1s", "--queue-depth", "1"]].concat())
        .expect_status(0);
    assert!(!here.json("o.json")["answer"].as_str().unwrap().contains("hard disk"));
}

/// Whether the file system cannot measure a device at all, as one in memory.
fn is_invalid(run: &Value) -> bool {
    let invalid = ["memory-file-system", "direct-refused", "target-sparse", "target-unwritten"];
    warnings(run).iter().any(|code| invalid.contains(&code.as_str()))
}

/// Eight warnings looked alike, and the one that made the numbers worthless was among the last.
#[test]
fn what_invalidates_the_numbers_is_first_and_in_the_answer() {
    let here = Workspace::new();
    let load = ["load", "--size", "16MiB", "--warmup", "0", "--duration", "300ms", "--caching", "buffered"];
    let ran = here.run(&[&load[..], &["--json", "o.json", "t.dat"]].concat()).expect_status(0);
    let answer = here.json("o.json")["answer"].as_str().unwrap().to_owned();
    assert!(answer.contains("invalidate"), "{answer}");
    let first = ran.stdout.lines().find(|line| line.trim_start().starts_with('!')).expect("a warning");
    assert!(first.trim_start().starts_with("!! "), "{first}");
    assert!(ran.stdout.contains("  ! short-run"), "{}", ran.stdout);
}
