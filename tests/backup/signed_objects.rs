//! Backups in an object store that checks signatures: the server of the crate s3s-fs.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::attacks::words_of;
use super::bucket_kills::PARTS;
use super::s3s::{S3s, SECRET};
use super::store_proxy::StopAt;
use super::upload_kills::{kill_at, nothing_looks_whole_and_the_same_line_works, source};
use crate::copy::content;
use crate::copy_crash::draw;
use crate::support::{Ran, Workspace, until};

const CREATE: [&str; 9] = [
    "backup",
    "create",
    "--compress",
    "none",
    "--to",
    "s3://backups/db1/a.iob",
    "--to",
    "s3://backups/db1/b.iob",
    "shop",
];

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_backup_goes_to_a_store_that_checks_signatures_and_comes_back() {
    let here = Workspace::new();
    let Some(store) = S3s::start(&here) else { return };
    source(&here);
    let made = store.run(&here, &CREATE).expect_status(0);
    assert!(!made.stderr.contains("replace"), "s3s-fs honours conditions: {}", made.stderr);
    assert_eq!(store.names("db1"), ["a.iob", "a.iob.manifest", "b.iob"]);
    assert_eq!(store.parts(), 0);
    let listed = store.run(&here, &["backup", "list", "--json", "s3://backups/db1"]).expect_status(0);
    assert!(listed.stdout.contains("\"complete\""), "{}", listed.stdout);
    store.run(&here, &["backup", "verify", "s3://backups/db1/a.iob"]).expect_status(0);
    store.run(&here, &["backup", "verify", "--headers", "s3://backups/db1/b.iob"]).expect_status(0);
    store
        .run(&here, &["backup", "restore", "s3://backups/db1/a.iob.manifest", "--to", "back"])
        .expect_status(0);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);
    // Its directories are those of a disk, and answer with 500 where others know no such object; so the set is named.
    fs::create_dir(here.path("scratch")).unwrap();
    store.run(&here, &["backup", "drill", "--scratch", "scratch", "s3://backups/db1/a.iob"]).expect_status(0);
    let said = format!("{}{}{}", made.stdout, made.stderr, listed.stdout);
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn nothing_in_a_store_that_checks_signatures_is_replaced() {
    let here = Workspace::new();
    let Some(store) = S3s::start(&here) else { return };
    fs::write(here.path("a"), content(100_000)).unwrap();
    let create = ["backup", "create", "--no-store", "--to", "s3://backups/a.iob", "a"];
    store.run(&here, &create).expect_status(0);
    let before = fs::read(store.file("a.iob.manifest")).unwrap();
    let again = store.run(&here, &create).expect_status(2);
    assert!(again.stderr.contains("s3://backups/a.iob exists"), "{}", again.stderr);
    assert_eq!(fs::read(store.file("a.iob.manifest")).unwrap(), before);

    // Each of these names appears while the backup is on its way: a stripe's, and that of a second manifest.
    for (number, name) in [(1, "late1.iob"), (2, "late2.iob.manifest")] {
        let stripe = format!("s3://backups/late{number}.iob");
        let mut late = store.command(&here, &["backup", "create", "--no-store", "--to", &stripe, "-"]);
        let mut late =
            late.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_note = |found: &String| found.starts_with(&format!(".late{number}.iob."));
        until("the upload", || store.names("").iter().any(is_note).then_some(()));
        fs::write(store.file(name), b"somebody else's").unwrap();
        late.stdin.take().unwrap().write_all(b"a dump").unwrap();
        let ended = Ran::from(late.wait_with_output().unwrap()).expect_status(2);
        assert!(ended.stderr.contains("exists"), "{}", ended.stderr);
        assert_eq!(fs::read(store.file(name)).unwrap(), b"somebody else's");
        assert_eq!(store.parts(), 0, "what was not completed was given up");
    }
}

/// A library whose clock is an hour late.
const LATE: &str = "#include <time.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
    int clock_gettime(clockid_t id, struct timespec *t) {\n\
    int done = syscall(SYS_clock_gettime, id, t); if (id == CLOCK_REALTIME) t->tv_sec -= 3600; return done; }\n";

/// moto takes any key, so that nobody knew what a wrong one would do.
#[test]
#[ignore = "runs at length: tests/long.md"]
fn wrong_keys_and_a_wrong_clock_are_refused_with_what_to_check() {
    let here = Workspace::new();
    let Some(store) = S3s::start(&here) else { return };
    fs::write(here.path("a"), b"content").unwrap();
    fs::write(here.path("late.c"), LATE).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "late.so", "late.c"])
        .current_dir(here.path("."))
        .status();
    assert!(built.unwrap().success());
    let late = here.path("late.so").to_string_lossy().into_owned();
    let create = ["backup", "create", "--no-store", "--to", "s3://backups/w/a.iob", "a"];
    for (variable, value, said, hint) in [
        ("AWS_SECRET_ACCESS_KEY", "another", "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID", "another", "the store answered 4", "AWS_ACCESS_KEY_ID"),
        ("LD_PRELOAD", &late, "RequestTimeTooSkewed", "set the clock"),
    ] {
        let refused = Ran::from(store.command(&here, &create).env(variable, value).output().unwrap());
        let words = words_of(&refused.expect_status(2));
        // The first request is one whose answer has no body, and so no code.
        assert!(words.contains("the store answered 4"), "{variable}: {words}");
        let keys_and_clock = ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "clock"];
        assert!(keys_and_clock.iter().all(|part| words.contains(part)), "{variable}: {words}");
        assert!(!words.contains(SECRET), "{variable}: {words}");
        assert_eq!((store.names("w"), store.parts()), (Vec::new(), 0), "{variable}");
        // What is there cannot be listed with it either.
        let listing = ["backup", "list", "s3://backups"];
        let refused = Ran::from(store.command(&here, &listing).env(variable, value).output().unwrap());
        let words = words_of(&refused.expect_status(2));
        assert!(words.contains(said) && words.contains(hint), "{variable}: {words}");
        assert!(!words.contains(SECRET), "{variable}: {words}");
    }
    store.run(&here, &create).expect_status(0);
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_kill_in_any_part_of_a_signed_upload_leaves_nothing_that_looks_like_a_backup() {
    let here = Workspace::new();
    let Some(store) = S3s::start(&here) else { return };
    source(&here);
    let through = |command: &mut Command, port: u16| S3s::address(command, port);
    let mut seed = 33;
    for (case, (method, part, number, may_be_whole)) in PARTS.into_iter().enumerate() {
        let stop = StopAt { method, part, number, is_done: draw(&mut seed, 2) == 1 };
        let directory = format!("s3://backups/k{case}");
        kill_at(&here, &directory, store.port, stop, &through);
        store.run(&here, &["backup", "list", &directory]).expect_status(0);
        nothing_looks_whole_and_the_same_line_works(
            &here,
            &directory,
            store.port,
            stop,
            may_be_whole,
            &through,
        );
    }
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_store_that_checks_signatures_is_pruned() {
    let here = Workspace::new();
    let Some(store) = S3s::start(&here) else { return };
    fs::write(here.path("a"), content(10_000)).unwrap();
    for name in ["one", "two", "three"] {
        let target = format!("s3://backups/p/{name}.iob");
        store.run(&here, &["backup", "create", "--no-store", "--to", &target, "a"]).expect_status(0);
    }
    store.run(&here, &["backup", "prune", "--keep-last", "1", "s3://backups/p"]).expect_status(0);
    assert_eq!(store.names("p"), ["three.iob", "three.iob.manifest"]);
    store.run(&here, &["backup", "verify", "--no-store", "s3://backups/p/three.iob"]).expect_status(0);
}
