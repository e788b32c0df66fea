//! kill -9 in every part of an upload.

use std::process::Command;

use super::attacks::words_of;
use super::moto::Store;
use super::store_proxy::{Proxy, StopAt};
use crate::copy::content;
use crate::copy_crash::draw;
use crate::running::Running;
use crate::support::{PATIENCE, Ran, Workspace};

/// Method, part of the address, which of them, and whether a whole backup may be there when the store has carried it out.
pub(super) const PARTS: [(&str, &str, usize, bool); 10] = [
    ("PUT", ".partial", 1, false),
    ("POST", "uploads", 1, false),
    ("POST", "uploads", 2, false),
    ("PUT", "partNumber=1&", 1, false),
    ("PUT", "partNumber=2&", 2, false),
    ("PUT", "partNumber=3&", 1, false),
    ("POST", "?uploadId=", 1, false),
    ("POST", "?uploadId=", 2, false),
    ("PUT", ".manifest", 1, true),
    ("PUT", ".manifest", 2, true),
];

/// A backup onto two stripes in a directory of the bucket.
fn create(directory: &str) -> Vec<String> {
    let words = ["backup", "create", "--no-store", "--compress", "none", "shop"].map(str::to_owned);
    let stripes = ["a.iob", "b.iob"].map(|name| ["--to".to_owned(), format!("{directory}/{name}")]);
    words.into_iter().chain(stripes.into_iter().flatten()).collect()
}

/// 44 MB that do not shrink: parts of 8 MiB for two stripes.
pub(super) fn source(here: &Workspace) {
    std::fs::create_dir_all(here.path("shop")).unwrap();
    for name in ["one", "two"] {
        std::fs::write(here.path(&format!("shop/{name}")), content(22_000_000)).unwrap();
    }
}

/// Kills a backup at that request. `through` adds the store's address and keys, at this port, to a command.
pub(super) fn kill_at(
    here: &Workspace,
    directory: &str,
    server: u16,
    stop: StopAt,
    through: &dyn Fn(&mut Command, u16),
) {
    let proxy = Proxy::before(server, Some(stop));
    let words = create(directory);
    let mut command = here.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    through(&mut command, proxy.port);
    let running = Running::new(&mut command);
    assert!(proxy.has_stopped(PATIENCE), "{stop:?}: {:#?}", proxy.requests());
    running.signal("KILL");
    assert_ne!(running.ended().status, Some(0), "{stop:?}");
}

fn run(here: &Workspace, server: u16, through: &dyn Fn(&mut Command, u16), words: &[&str]) -> Ran {
    let mut command = here.command(words);
    through(&mut command, server);
    command.output().unwrap().into()
}

/// Nothing that was killed looks like a backup, and after what the error says the same line makes one.
pub(super) fn nothing_looks_whole_and_the_same_line_works(
    here: &Workspace,
    directory: &str,
    server: u16,
    stop: StopAt,
    may_be_whole: bool,
    through: &dyn Fn(&mut Command, u16),
) {
    let run = |words: &[&str]| run(here, server, through, words);
    let [one, two] = ["a.iob", "b.iob"].map(|name| format!("{directory}/{name}"));
    let words = create(directory);
    let verified = run(&["backup", "verify", "--no-store", &one]);
    let is_whole = verified.status == Some(0);
    assert!(
        !is_whole || (may_be_whole && (stop.is_done || stop.number > 1)),
        "{stop:?}: {}",
        words_of(&verified)
    );
    let listed = run(&["backup", "list", "--json", directory]).expect_status(0);
    assert_eq!(listed.stdout.contains("\"whole\""), is_whole, "{stop:?}: {}", listed.stdout);
    if is_whole {
        return;
    }
    let again = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    if again.status == Some(0) {
        run(&["backup", "verify", "--no-store", &one]).expect_status(0);
        return;
    }
    // Stripes that are complete keep their names; their manifest is all that is missing, or they are to be removed.
    assert!(
        again.stderr.contains("exists") && again.stderr.contains("backup rebuild"),
        "{stop:?}: {}",
        words_of(&again)
    );
    let rebuilt = run(&["backup", "rebuild", &one, &two]);
    if rebuilt.status == Some(0) {
        run(&["backup", "verify", "--no-store", &one]).expect_status(0);
    }
}

/// A backup whose machine went down left parts that nobody saw, and the bill showed them.
#[test]
fn a_kill_in_any_part_of_an_upload_leaves_no_backup_and_nothing_that_prune_does_not_find() {
    let here = Workspace::new();
    source(&here);
    let Some(store) = Store::start(&here) else { return };
    let through = |command: &mut Command, port: u16| Store::address(command, port);
    let mut seed = 21;
    for (case, (method, part, number, may_be_whole)) in PARTS.into_iter().enumerate() {
        let is_done = draw(&mut seed, 2) == 1;
        let stop = StopAt { method, part, number, is_done };
        let directory = format!("s3://backups/k{case}");
        kill_at(&here, &directory, store.port, stop, &through);
        let left = store.uploads();
        let listed = store.run(&here, &["backup", "list", &directory]).expect_status(0);
        assert!(left == 0 || listed.stdout.contains("with "), "{stop:?}, {left}: {}", words_of(&listed));
        // It may still be on its way.
        let prune = ["backup", "prune", "--keep-last", "1", "--abandoned-after"];
        let early = store.run(&here, &[&prune[..], &["1d", &directory]].concat()).expect_status(0);
        assert_eq!(store.uploads(), left, "{stop:?}: {}", words_of(&early));
        let pruned = store.run(&here, &[&prune[..], &["0", &directory]].concat()).expect_status(0);
        assert_eq!(store.uploads(), 0, "{stop:?}: {}", words_of(&pruned));
        assert!(!store.names().iter().any(|name| name.contains(".partial")), "{stop:?}: {:?}", store.names());
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

/// Somebody else's upload into the same directory was given up by `prune`.
#[test]
fn uploads_of_others_are_neither_listed_nor_removed() {
    let here = Workspace::new();
    source(&here);
    let Some(store) = Store::start(&here) else { return };
    assert_eq!(store.request("POST", "/backups/k/dump?uploads", b"").0, 200);
    let through = |command: &mut Command, port: u16| Store::address(command, port);
    let stop = StopAt { method: "PUT", part: "partNumber=1&", number: 2, is_done: true };
    kill_at(&here, "s3://backups/k", store.port, stop, &through);
    assert_eq!(store.uploads(), 3);
    let prune = ["backup", "prune", "--keep-last", "1", "--abandoned-after", "0", "s3://backups/k"];
    let shown = store.run(&here, &[&prune[..], &["--dry-run"]].concat()).expect_status(0);
    assert!(shown.stdout.contains("its upload was killed"), "{}", shown.stdout);
    assert_eq!(store.uploads(), 3);
    store.run(&here, &prune).expect_status(0);
    assert_eq!(store.uploads(), 1, "that of somebody else");
    let again = store.run(&here, &prune).expect_status(0);
    assert!(!again.stdout.contains("its upload was killed"), "{}", again.stdout);
}
