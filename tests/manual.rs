//! `iostall completions` and `iostall man`.

use std::fs;
use std::process::Command;

use crate::support::Workspace;

#[test]
fn every_shell_gets_rules_that_know_the_options() {
    let here = Workspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let rules = here.run(&["completions", shell]).expect_status(0).stdout;
        assert!(rules.contains("queue-depth") && rules.contains("profile"), "{shell}");
    }
    let unknown = here.run(&["completions", "tcsh"]).expect_status(2);
    assert!(unknown.stderr.contains("bash"), "{}", unknown.stderr);
}

#[test]
fn bash_reads_its_rules_and_completes_an_option_with_them() {
    let here = Workspace::new();
    let rules = here.run(&["completions", "bash"]).expect_status(0).stdout;
    fs::write(here.path("rules.bash"), rules).unwrap();
    let script = "source rules.bash
        COMP_WORDS=(iostall load --queue-d) COMP_CWORD=2
        _iostall iostall --queue-d load
        echo \"${COMPREPLY[@]}\"";
    let output =
        Command::new("bash").args(["-c", script]).current_dir(here.path(".")).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "--queue-depth");
}

#[test]
fn the_manual_is_printed_or_written_a_page_for_each_command() {
    let here = Workspace::new();
    let page = here.run(&["man"]).expect_status(0).stdout;
    assert!(page.contains(".TH iostall 1") && page.contains(".SH \"EXIT STATUS\""), "{page}");
    here.run(&["man", "share/man1"]).expect_status(0);
    let mut pages: Vec<String> = fs::read_dir(here.path("share/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for wanted in
        ["iostall.1", "iostall-load.1", "iostall-profile.1", "iostall-runs.1", "iostall-runs-show.1"]
    {
        assert!(pages.iter().any(|page| page == wanted), "{pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("reference")), "{pages:?}");
    let load = fs::read_to_string(here.path("share/man1/iostall-load.1")).unwrap();
    assert!(load.contains("SEE ALSO") && load.contains("\\fBiostall\\-sweep\\fR(1)"), "{load}");
    assert!(load.contains("queue\\-depth") && load.contains("\n.SH EXAMPLES\n"), "{load}");
}

#[test]
fn manual_pages_that_cannot_be_written_are_refused_with_the_place() {
    let here = Workspace::new();
    fs::write(here.path("taken"), "").unwrap();
    let refused = here.run(&["man", "taken"]).expect_status(2);
    assert!(refused.stderr.contains("taken") && refused.stderr.contains("hint:"), "{}", refused.stderr);
}
