//! `iostall completions` and `iostall man`.

use std::fs;
use std::process::Command;

use crate::support::{Ran, Workspace, binary};

/// The line that a shell with our rules asks the program about, and the answer.
fn asked(here: &Workspace, shell: &str, words: &[&str]) -> String {
    let mut command = here.command(&["--", "iostall"]);
    command.args(words).env("IOSTALL_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    Ran::from(command.env("_CLAP_IFS", "\n").output().expect("the binary runs")).expect_status(0).stdout
}

/// What bash offers where TAB is pressed at the end of the last of `words`.
fn offered(here: &Workspace, words: &[&str]) -> Vec<String> {
    let rules = here.run(&["completions", "bash"]).expect_status(0).stdout;
    fs::write(here.path("rules.bash"), rules).unwrap();
    // The shell is asked for the function, so that its name is not known here.
    let script = r#"source rules.bash
        rule=$(complete -p iostall) rule=${rule##* -F }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        ${rule%% *} iostall "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let beside = binary().parent().expect("a directory").to_owned();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").expect("a path"));
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script, "bash", "iostall"]).args(words);
    bash.current_dir(here.path(".")).env("PATH", path).env("IOSTALL_STORE", here.path("store.db"));
    let ran = Ran::from(bash.output().expect("bash runs")).expect_status(0);
    assert_eq!(ran.stderr, "");
    ran.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_shell_gets_rules_that_ask_the_program() {
    let here = Workspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let rules = here.run(&["completions", shell]).expect_status(0).stdout;
        assert!(rules.contains("IOSTALL_COMPLETE") && rules.contains("iostall"), "{shell}: {rules}");
        let answer = asked(&here, shell, &["load", "--queue-d"]);
        assert!(answer.starts_with("--queue-depth"), "{shell}: {answer}");
    }
    let unknown = here.run(&["completions", "tcsh"]).expect_status(2);
    assert!(unknown.stderr.contains("bash"), "{}", unknown.stderr);
}

#[test]
fn bash_completes_verbs_options_values_and_files() {
    let here = Workspace::new();
    fs::write(here.path("data.dat"), "").unwrap();
    assert_eq!(offered(&here, &["load", "--queue-d"]), ["--queue-depth"]);
    assert_eq!(offered(&here, &["swe"]), ["sweep"]);
    assert_eq!(offered(&here, &["load", "--preset", "olt"]), ["oltp"]);
    assert_eq!(offered(&here, &["profile", "show", "olt"]), ["oltp"]);
    assert_eq!(offered(&here, &["compare", "--fresh", "3", "--preset", "olt"]), ["oltp"]);
    assert_eq!(offered(&here, &["report", "vol"]), ["volumes"]);
    assert_eq!(offered(&here, &["load", "dat"]), ["data.dat"]);
    assert_eq!(offered(&here, &["compare", "--fresh", "3", "dat"]), ["data.dat"]);
}

/// The story: to compare last night's run with this morning's, a DBA typed `iostall compare`, pressed TAB and was offered nothing;
/// the numbers were in `iostall runs`, on another terminal.
#[test]
fn runs_are_offered_newest_first_with_what_they_measured() {
    let here = Workspace::new();
    for name in ["nightly", "morning"] {
        let load =
            ["load", "--engine", "null", "--preset", "random-read", "--warmup", "0", "--duration", "50ms"];
        here.run(&[&load[..], &["--name", name]].concat()).expect_status(0);
    }
    let references = ["last", "last~1", "2", "1"];
    for verb in ["show", "export", "delete"] {
        assert_eq!(&offered(&here, &["runs", verb, ""])[..4], references, "{verb}");
    }
    assert_eq!(offered(&here, &["runs", "show", "la"]), ["last", "last~1"]);
    assert_eq!(&offered(&here, &["compare", ""])[..4], references);
    assert_eq!(offered(&here, &["compare", "1,la"]), ["1,last", "1,last~1"]);
    assert_eq!(offered(&here, &["runs", "--name", ""])[..2], ["morning", "nightly"]);
    for shell in ["zsh", "fish"] {
        let answer = asked(&here, shell, &["runs", "show", "1"]);
        assert!(answer.starts_with('1') && answer.contains("nightly, "), "{shell}: {answer}");
    }
    // The store that the line names is the one that is looked into.
    let other = here.path("other.db");
    assert_eq!(offered(&here, &["--store", other.to_str().unwrap(), "runs", "show", "l"]), [""; 0]);
}

/// A key press makes no store, and says nothing about one that cannot be read.
#[test]
fn where_there_is_no_store_nothing_is_offered_said_or_made() {
    let here = Workspace::new();
    assert_eq!(offered(&here, &["runs", "show", "l"]), [""; 0]);
    assert!(!here.path("store.db").exists());
    fs::write(here.path("store.db"), "no database").unwrap();
    assert_eq!(offered(&here, &["runs", "show", "l"]), [""; 0]);
    assert_eq!(offered(&here, &["report", "files", "--source", "l"]), [""; 0]);
    assert_eq!(fs::read_to_string(here.path("store.db")).unwrap(), "no database");
}

/// What a run or a source is called comes from elsewhere; on a key press it must not reach the terminal as it is.
#[test]
fn a_run_with_a_hostile_name_is_offered_without_its_escapes() {
    let here = Workspace::new();
    let load = ["load", "--engine", "null", "--preset", "random-read", "--warmup", "0", "--duration", "50ms"];
    here.run(&[&load[..], &["--name", "a\u{1b}[2J\nb"]].concat()).expect_status(0);
    for shell in ["bash", "zsh", "fish"] {
        let answers =
            [asked(&here, shell, &["runs", "show", "1"]), asked(&here, shell, &["runs", "--name", ""])];
        assert!(!answers.concat().contains('\u{1b}'), "{shell}: {answers:?}");
        assert_eq!(answers[0].lines().count(), 1, "{shell}: {answers:?}");
    }
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
