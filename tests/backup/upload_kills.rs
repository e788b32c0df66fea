//! kill -9 in a part of an upload, and what is left.

use std::process::Command;

use super::attacks::words_of;
use super::store_proxy::{Proxy, StopAt};
use crate::copy::content;
use crate::running::Running;
use crate::support::{PATIENCE, Ran, Workspace};

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
    assert_eq!(listed.stdout.contains("\"complete\""), is_whole, "{stop:?}: {}", listed.stdout);
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
