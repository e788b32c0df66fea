//! `iostall drive qualify`: a file from the command line, in every output, and what is refused.

use serde_json::Value;

use crate::support::Workspace;

/// Twelve mixes and sizes of 50 ms, five times.
const SHORT: [&str; 11] = [
    "drive",
    "qualify",
    "--size",
    "16M",
    "--cell",
    "50ms",
    "--queue-depth",
    "2",
    "--workers",
    "1",
    "data.dat",
];

fn run(here: &Workspace, words: &[&str], status: i32) -> Value {
    here.run(&[&SHORT[..], words, &["--json", "o.json"]].concat()).expect_status(status);
    here.json("o.json")
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

/// Vendors' figures are those of a drive that was never written; a short look must not be taken for better.
#[test]
fn a_quick_run_measures_every_mix_and_size_and_claims_nothing() {
    let here = Workspace::new();
    let outputs = ["--quick", "--csv", "o.csv", "--html", "o.html", "--markdown", "o.md", "--json", "o.json"];
    let ran = here.run(&[&SHORT[..], &outputs].concat()).expect_status(0);
    let run = here.json("o.json");
    let qualify = &run["qualify"];
    assert_eq!(qualify["rounds"].as_array().unwrap().len(), 5);
    assert!(
        qualify["rounds"]
            .as_array()
            .unwrap()
            .iter()
            .all(|round| round["points"].as_array().unwrap().len() == 12)
    );
    assert_eq!(qualify["active_bytes"], 16 << 20);
    // Made, and written once in order.
    assert_eq!(qualify["preconditioning"]["made_bytes"], 16 << 20);
    assert_eq!(qualify["preconditioning"]["written_bytes"], 16 << 20);
    assert!(qualify["steady"].is_null() && run["summary"]["state"] == "not-steady");
    assert!(texts(&run["summary"]["claims"]).is_empty(), "{}", run["summary"]["claims"]);
    let deviations = texts(&run["summary"]["deviations"]).join("\n");
    for word in ["Not purged", "1 × before", "50.0 ms, where a minute", "12 mixes", "A file on"] {
        assert!(deviations.contains(word), "{word}:\n{deviations}");
    }
    for word in ["active range 16 MiB", "× the active range", "5 rounds in"] {
        assert!(ran.stderr.contains(word), "{word}:\n{}", ran.stderr);
    }
    for word in
        ["a quick run is too short", "NOT STEADY", "measured slope excursion", "65/35", "a PTS test", "no: "]
    {
        assert!(ran.stdout.contains(word), "{word}:\n{}", ran.stdout);
    }
    let csv = std::fs::read_to_string(here.path("o.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 5 * 12);
    let page = std::fs::read_to_string(here.path("o.html")).unwrap();
    assert!(page.contains("Convergence of the writes") && page.contains("Measurement window, 0/100 4 KiB"));
    assert!(std::fs::read_to_string(here.path("o.md")).unwrap().contains("allowed slope excursion"));
    let listed = here.run(&["runs"]).expect_status(0);
    assert!(listed.stdout.contains("qualify"), "{}", listed.stdout);
}

#[test]
fn a_steady_state_can_be_required_and_a_quick_run_never_meets_it() {
    let here = Workspace::new();
    let ran = here.run(&[&SHORT[..], &["--quick", "--rounds", "1", "--require", "steady"]].concat());
    let ran = ran.expect_status(1);
    let is_known = ran.stdout.contains("a quick run never says so");
    assert!(is_known || ran.stdout.contains("cannot be judged"), "{}", ran.stdout);
    let listed = here.run(&["runs", "show", "last", "--require", "steady"]).expect_status(1);
    assert!(listed.stdout.contains("steady"), "{}", listed.stdout);
}

/// Three rounds, each of which writes more than the file: too few for a window, and no figure is shown as steady.
#[test]
fn a_run_with_too_few_rounds_is_not_steady() {
    let here = Workspace::new();
    let run = run(&here, &["--standard", "--rounds", "3"], 0);
    assert!(
        run["qualify"]["steady"].is_null() && run["qualify"]["stopped"] == "rounds",
        "{}",
        run["qualify"]["stopped"]
    );
    assert_eq!(texts(&run["summary"]["claims"]).len(), 1, "{}", run["summary"]["claims"]);
    assert_eq!(run["qualify"]["preconditioning"]["written_bytes"], 32 << 20);
    let limited = self::run(&here, &["--standard", "--write-limit", "1M"], 0);
    assert_eq!(limited["qualify"]["stopped"], "write-limit");
    assert_eq!(limited["qualify"]["rounds"].as_array().unwrap().len(), 1);
    assert_eq!(limited["qualify"]["preconditioning"]["made_bytes"], 0, "it was there");
}

#[test]
fn a_file_that_iostall_did_not_make_is_not_written() {
    let here = Workspace::new();
    std::fs::write(here.path("data.dat"), vec![7; 16 << 20]).unwrap();
    let ran = here.run(&[&SHORT[..], &["--quick"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("--overwrite"), "{}", ran.stderr);
    assert!(std::fs::read(here.path("data.dat")).unwrap().iter().all(|byte| *byte == 7));
    here.run(&[&SHORT[..], &["--quick", "--cell", "0s"]].concat()).expect_status(2);
}

/// A machine that dies in the night: what was stored as each round ended is continued, and the gap is named.
#[test]
fn a_run_that_is_killed_continues_after_the_rounds_that_were_over() {
    let here = Workspace::new();
    let words = [&SHORT[..], &["--quick", "--rounds", "4"]].concat();
    let mut started = here.start(&words);
    started.wait_for("round 2 of 4");
    started.signal("KILL");
    started.ended();
    here.run(&[&words[..], &["--resume", "--json", "o.json"]].concat()).expect_status(0);
    let run = here.json("o.json");
    let rounds = run["qualify"]["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 4);
    // The second one may have been in the making when the process died.
    let gaps: Vec<usize> = (0..4).filter(|index| !rounds[*index]["idle_ns"].is_null()).collect();
    assert!(gaps == [1] || gaps == [2], "{gaps:?}");
    assert!(run["qualify"]["resumed"].is_string());
    let deviations = texts(&run["summary"]["deviations"]).join("\n");
    assert!(deviations.contains("Interrupted before round"), "{deviations}");
    let listed = here.run(&["runs"]).expect_status(0).stdout;
    assert!(listed.contains("interrupted") || listed.lines().count() > 2, "{listed}");
    let again = here.run(&[&words[..], &["--resume"]].concat()).expect_status(2);
    assert!(again.stderr.contains("is complete"), "{}", again.stderr);
    // A file that was removed is not made anew for the rounds of the old one.
    std::fs::remove_file(here.path("data.dat")).unwrap();
    let gone = here.run(&[&words[..], &["--resume"]].concat()).expect_status(2);
    assert!(gone.stderr.contains("is not there") && !here.path("data.dat").exists(), "{}", gone.stderr);
}

#[test]
fn an_interrupted_run_is_stored_once_and_under_one_number() {
    let here = Workspace::new();
    let mut started = here.start(&[&SHORT[..], &["--standard"]].concat());
    started.wait_for("round 1 of 25");
    started.signal("INT");
    started.ended().expect_status(130);
    let listed = here.run(&["runs", "export", "last"]).expect_status(0).stdout;
    let run: Value = serde_json::from_str(&listed).unwrap();
    assert!(run["interrupted"] == true && run["qualify"]["stopped"] == "interrupted");
    here.run(&["runs", "show", "2"]).expect_status(2);
}

/// Random writes of 4 KiB alone, by what they wrote; on a file made by iostall holes purge it, and its mark stays.
#[test]
fn a_saturation_is_shown_by_active_ranges_and_a_file_of_ours_can_be_purged() {
    let here = Workspace::new();
    let words =
        ["--test", "saturation", "--quick", "--rounds", "40", "--purge", "discard", "--html", "o.html"];
    let run = run(&here, &words, 0);
    let qualify = &run["qualify"];
    assert_eq!(qualify["preconditioning"]["purged"], "punched");
    assert_eq!(qualify["preconditioning"]["written_bytes"], 0);
    assert_eq!(qualify["plan"]["write_limit"], 64 << 20, "four times the active range");
    let deviations = texts(&run["summary"]["deviations"]).join("\n");
    assert!(deviations.contains("holes in the file") && deviations.contains("a tenth of the active range"));
    let page = std::fs::read_to_string(here.path("o.html")).unwrap();
    assert!(page.contains("Random writes over what was written"));
    // Still ours: written again without a word.
    self::run(&here, &["--test", "saturation", "--quick", "--rounds", "1"], 0);
}

#[test]
fn a_file_of_the_users_is_not_purged_and_a_rating_says_what_the_test_costs() {
    let here = Workspace::new();
    std::fs::write(here.path("data.dat"), vec![7; 16 << 20]).unwrap();
    let words = ["--quick", "--rounds", "1", "--overwrite", "data.dat"];
    let ran = here.run(&[&SHORT[..], &words, &["--purge", "discard"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("cannot be purged"), "{}", ran.stderr);
    assert!(std::fs::read(here.path("data.dat")).unwrap().iter().all(|byte| *byte == 7));
    std::fs::write(here.path("drives.toml"), "[[drive]]\nmodel = \"*\"\ntbw = \"100TB\"\nyears = 5\n")
        .unwrap();
    let ran = here.run(&[&SHORT[..], &words, &["--drives", "drives.toml"]].concat()).expect_status(0);
    assert!(ran.stderr.contains("that the drive is rated for"), "{}", ran.stderr);
    std::fs::write(
        here.path("drives.toml"),
        "[[drive]]\nmodel = \"No such drive\"\ntbw = \"1TB\"\nyears = 5\n",
    )
    .unwrap();
    let ran = here.run(&[&SHORT[..], &words, &["--drives", "drives.toml"]].concat()).expect_status(0);
    assert!(ran.stderr.contains("has no rating of"), "{}", ran.stderr);
}

/// A file was made, and then it turned out that only drives can be erased.
#[test]
fn only_a_drive_is_formatted_or_sanitized_and_nothing_is_made_before_that_is_said() {
    let here = Workspace::new();
    std::fs::write(here.path("users.dat"), vec![7; 1 << 20]).unwrap();
    for how in ["format", "sanitize"] {
        for file in ["new.dat", "users.dat"] {
            let words =
                ["drive", "qualify", "--quick", "--purge", how, "--overwrite", file, "--size", "1M", file];
            let refused = here.run(&words).expect_status(2);
            assert!(refused.stderr.contains("it is no NVMe drive"), "{}", refused.stderr);
            assert!(refused.stderr.contains("--purge discard"), "{}", refused.stderr);
        }
    }
    assert!(!here.path("new.dat").exists());
    assert!(std::fs::read(here.path("users.dat")).unwrap().iter().all(|byte| *byte == 7));
}
