//! Encrypted backups: where passphrases come from, and what can be said without one.

use std::fs;
use std::process::Command;

use super::attacks::words_of;
use super::create::{shelves, tree};
use crate::support::{Ran, Workspace, binary, skip};

const RIGHT: &str = "correct horse battery staple";

/// Runs a line of a shell in which `"$0"` is the program.
fn shell(here: &Workspace, line: &str) -> Ran {
    here.shell(line).arg(binary()).output().unwrap().into()
}

#[test]
fn a_passphrase_comes_from_a_file_or_a_descriptor_and_a_wrong_one_is_refused() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    here.secret("right", &format!("{RIGHT}\n"));
    here.secret("wrong", "Tr0ub4dor&3\n");
    shell(&here, "\"$0\" backup create --to b1/s.iob --passphrase-fd 3 shop 3<right").expect_status(0);
    for verb in ["verify b1/s.iob", "restore b1/s.iob --to r"] {
        let ran = shell(&here, &format!("\"$0\" backup {verb} --passphrase-fd 3 3<wrong")).expect_status(2);
        assert!(ran.stderr.contains("the passphrase does not open this set"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: ") && !here.path("r").exists(), "{}", ran.stderr);
        let ran = shell(&here, &format!("\"$0\" backup {verb} --passphrase-fd 7")).expect_status(2);
        assert!(ran.stderr.contains("passphrase"), "{}", ran.stderr);
    }
    shell(&here, "\"$0\" backup verify b1/s.iob --passphrase-fd=3 3<right").expect_status(0);
    // The story: with another mistake beside it, the number of the descriptor was taken for a password, hidden, and called no number.
    let ran = here.run(&["backup", "verify", "b1/s.iob", "--passphrase-fd=3", "--nope"]).expect_status(2);
    assert!(ran.stderr.contains("--nope") && !ran.stderr.contains('…'), "{}", ran.stderr);
    here.run(&["backup", "restore", "b1/s.iob", "--to", "r", "--passphrase-file", "right"]).expect_status(0);
    here.run(&["verify", "shop", "r"]).expect_status(0);
    // On a command line every user of the machine could read it.
    here.run(&["backup", "create", "--to", "b2/s.iob", "--passphrase", RIGHT, "shop"]).expect_status(2);
    assert_eq!(fs::read_dir(here.path("b2")).unwrap().count(), 0);
}

/// Answers at a pseudo-terminal: each prompt of the program gets the next line.
const ANSWER: &str = "import os, pty, sys\n\
    answers = sys.argv[1].split('|')\n\
    child, terminal = pty.fork()\n\
    if child == 0:\n\
    \x20   os.execv(sys.argv[2], sys.argv[2:])\n\
    said = b''\n\
    while True:\n\
    \x20   try:\n\
    \x20       part = os.read(terminal, 4096)\n\
    \x20   except OSError:\n\
    \x20       break\n\
    \x20   if not part:\n\
    \x20       break\n\
    \x20   said += part\n\
    \x20   if answers and said.rstrip(b' ').endswith((b'backup:', b'again:')):\n\
    \x20       os.write(terminal, answers.pop(0).encode() + b'\\n')\n\
    \x20       said += b'\\n'\n\
    sys.stdout.buffer.write(said)\n\
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n";

fn at_terminal(here: &Workspace, answers: &str, line: &[&str]) -> Option<Ran> {
    let mut python = Command::new("python3");
    python.args(["-c", ANSWER, answers]).arg(binary()).args(line).current_dir(here.path(""));
    python
        .env("IOSTALL_STORE", here.path("store.db"))
        .env("LC_ALL", "C.UTF-8")
        .env("IOSTALL_TEST_WORK", "10");
    Some(python.output().ok()?.into())
}

#[test]
fn a_passphrase_is_typed_twice_for_a_new_backup_and_is_not_shown() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    let create = ["backup", "create", "--to", "b1/s.iob", "--passphrase", "shop"];
    let Some(ran) = at_terminal(&here, "first|second", &create) else {
        return skip("a passphrase at a terminal", "python3 is not installed");
    };
    let ran = ran.expect_status(2);
    assert!(ran.stdout.contains("the two are not the same"), "{}", ran.stdout);
    assert_eq!(fs::read_dir(here.path("b1")).unwrap().count(), 0);
    let twice = format!("{RIGHT}|{RIGHT}");
    let ran = at_terminal(&here, &twice, &create).unwrap().expect_status(0);
    assert!(!ran.stdout.contains(RIGHT), "{}", ran.stdout);
    let restore = ["backup", "restore", "b1/s.iob", "--to", "r", "--passphrase"];
    let ran = at_terminal(&here, "wrong", &restore).unwrap().expect_status(2);
    assert!(ran.stdout.contains("does not open this set"), "{}", ran.stdout);
    at_terminal(&here, RIGHT, &restore).unwrap().expect_status(0);
    here.run(&["verify", "shop", "r"]).expect_status(0);
}

/// The story: the server that keeps the backups has no key, so its nightly check checked nothing.
#[test]
fn without_the_key_verify_says_what_it_proves_and_what_it_does_not() {
    let here = Workspace::new();
    shelves(&here);
    tree(&here.path("shop"));
    here.secret("right", &format!("{RIGHT}\n"));
    let create =
        ["backup", "create", "--to", "b1/s.iob", "--to", "b2/s.iob", "--passphrase-file", "right", "shop"];
    here.run(&create).expect_status(0);
    let verify = ["backup", "verify", "b1/s.iob", "b2/s.iob"];
    let ran = here.run(&verify).expect_status(2);
    assert!(ran.stderr.contains("--without-key"), "{}", ran.stderr);
    let without = [&verify[..], &["--without-key"]].concat();
    let said = words_of(&here.run(&without).expect_status(0));
    assert!(
        said.contains("WHAT IS IN IT WAS NOT CHECKED") && said.contains("Not proved: that the key"),
        "{said}"
    );
    // It is no proof that prune could rely on.
    let listed =
        here.run(&["backup", "list", "--json", "--passphrase-file", "right", "b1", "b2"]).expect_status(0);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["proof"], "unproven");

    let bytes_of = |name: &str| fs::metadata(here.path(name)).unwrap().len();
    // So few frames may all be in one stripe.
    let (number, name) =
        if bytes_of("b1/s.iob") > bytes_of("b2/s.iob") { (1, "b1/s.iob") } else { (2, "b2/s.iob") };
    let whole = fs::read(here.path(name)).unwrap();
    let mut flipped = whole.clone();
    let middle = whole.len() / 2;
    flipped[middle] ^= 1;
    fs::write(here.path(name), &flipped).unwrap();
    let said = words_of(&here.run(&without).expect_status(1));
    assert!(said.contains(&format!("DAMAGED stripe {number}, {name}, frame ")), "{said}");
    fs::write(here.path(name), &whole).unwrap();
    fs::remove_file(here.path("b2/s.iob")).unwrap();
    let said = words_of(&here.run(&["backup", "verify", "b1/s.iob", "--without-key"]).expect_status(1));
    assert!(said.contains("the stripe is missing"), "{said}");
}
