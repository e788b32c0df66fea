//! Backups in Azure's blob storage, on the server of npm's azurite.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::attacks::words_of;
use super::azurite::{Azure, KEY, sas};
use super::store_proxy::{Proxy, StopAt};
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
    "az://backups/db1/a.iob",
    "--to",
    "az://backups/db1/b.iob",
    "shop",
];

/// `--to az://…` was refused: a backup for Azure had to go to a disk first.
#[test]
fn a_backup_goes_to_azure_and_comes_back_from_it() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    source(&here);
    let made = store.run(&here, &CREATE).expect_status(0);
    assert!(made.stdout.contains("az://backups/db1/a.iob.manifest"), "{}", made.stdout);
    assert!(!made.stderr.contains("replaces objects"), "azurite honours conditions: {}", made.stderr);
    assert_eq!(store.names(), ["db1/a.iob", "db1/a.iob.manifest", "db1/b.iob"]);
    assert!(store.begun().is_empty());
    let listed = store.run(&here, &["backup", "list", "--json", "az://backups/db1"]).expect_status(0);
    assert!(listed.stdout.contains("\"whole\""), "{}", listed.stdout);
    store.run(&here, &["backup", "verify", "az://backups/db1/a.iob"]).expect_status(0);
    store.run(&here, &["backup", "verify", "--headers", "az://backups/db1/b.iob"]).expect_status(0);
    let restore = ["backup", "restore", "az://backups/db1/a.iob.manifest", "--to", "back"];
    store.run(&here, &restore).expect_status(0);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);
    fs::create_dir(here.path("scratch")).unwrap();
    store.run(&here, &["backup", "drill", "--scratch", "scratch", "az://backups/db1/a.iob"]).expect_status(0);

    // Neither the run nor any message has the key.
    let runs = here.run(&["runs", "show", "1", "--json", "run.json"]);
    let said = format!("{}{}", words_of(&made), words_of(&runs));
    assert!(!said.contains(KEY), "{said}");
    let store_file = fs::read(here.path("store.db")).unwrap();
    assert!(!store_file.windows(KEY.len()).any(|part| part == KEY.as_bytes()));
}

/// The library completes a blob without a condition: a second backup of the same name would have replaced the first.
#[test]
fn nothing_in_azure_is_replaced() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), content(100_000)).unwrap();
    let create = ["backup", "create", "--no-store", "--to", "az://backups/a.iob", "a"];
    store.run(&here, &create).expect_status(0);
    let before = store.get("a.iob.manifest");
    let again = store.run(&here, &create).expect_status(2);
    assert!(again.stderr.contains("az://backups/a.iob exists"), "{}", again.stderr);
    assert_eq!(store.get("a.iob.manifest"), before);

    // Each of these names appears while the backup is on its way: a stripe's, and that of a second manifest.
    for (number, name) in [(1, "late1.iob"), (2, "late2.iob.manifest")] {
        let stripe = format!("az://backups/late{number}.iob");
        let mut late = store.command(&here, &["backup", "create", "--no-store", "--to", &stripe, "-"]);
        let mut late =
            late.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_note = |found: &String| found.starts_with(&format!(".late{number}.iob."));
        until("the note", || store.names().iter().any(is_note).then_some(()));
        store.put(name, b"somebody else's");
        late.stdin.take().unwrap().write_all(b"a dump").unwrap();
        let ended = Ran::from(late.wait_with_output().unwrap()).expect_status(2);
        assert!(ended.stderr.contains("exists"), "{}", ended.stderr);
        assert_eq!(store.get(name), b"somebody else's");
    }
}

/// The look before a blob is completed finds all but a race, so a race is made: the name appears between the two.
#[test]
fn a_name_that_appears_at_the_last_moment_is_not_replaced() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), content(100_000)).unwrap();
    let stop = StopAt { method: "PUT", part: "comp=blocklist", number: 1, is_done: false };
    let proxy = Proxy::pausing(store.port, stop);
    let mut create = here.command(&["backup", "create", "--no-store", "--to", "az://backups/race.iob", "a"]);
    Azure::address(&mut create, proxy.port);
    let create = create.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(proxy.has_stopped(crate::support::PATIENCE));
    store.put("race.iob", b"somebody else's");
    proxy.resume();
    let ended = Ran::from(create.wait_with_output().unwrap()).expect_status(2);
    assert!(ended.stderr.contains("exists"), "{}", ended.stderr);
    assert_eq!(store.get("race.iob"), b"somebody else's");
}

/// Method, part of the address, which of them, and whether a whole backup may be there when the store has carried it out.
const PARTS: [(&str, &str, usize, bool); 9] = [
    ("PUT", ".partial", 1, false),
    ("PUT", "comp=block&", 1, false),
    ("PUT", "comp=block&", 2, false),
    ("PUT", "a.iob?comp=block&", 3, false),
    ("PUT", "b.iob?comp=block&", 1, false),
    ("PUT", "comp=blocklist", 1, false),
    ("PUT", "comp=blocklist", 2, false),
    ("PUT", ".manifest", 1, true),
    ("PUT", ".manifest", 2, true),
];

#[test]
fn a_kill_in_any_part_of_an_upload_to_azure_leaves_nothing_that_looks_like_a_backup() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    source(&here);
    let through = |command: &mut Command, port: u16| Azure::address(command, port);
    let mut seed = 5;
    for (case, (method, part, number, may_be_whole)) in PARTS.into_iter().enumerate() {
        let stop = StopAt { method, part, number, is_done: draw(&mut seed, 2) == 1 };
        let directory = format!("az://backups/k{case}");
        kill_at(&here, &directory, store.port, stop, &through);
        store.run(&here, &["backup", "list", &directory]).expect_status(0);
        // Azure forgets what was begun by itself; the note of it goes with prune.
        let prune = ["backup", "prune", "--keep-last", "1", "--abandoned-after", "0", &directory];
        store.run(&here, &prune).expect_status(0);
        let names = store.names();
        assert!(!names.iter().any(|name| name.contains(".partial")), "{stop:?}: {names:?}");
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
fn an_azure_that_refuses_is_quoted_and_nothing_goes_unencrypted_by_itself() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), b"content").unwrap();
    let create = ["backup", "create", "--no-store", "--to", "az://backups/w/a.iob", "a"];
    let without = |variable: &str| {
        let output = store.command(&here, &create).env_remove(variable).output().unwrap();
        Ran::from(output).expect_status(2).stderr
    };
    assert!(without("AZURE_ALLOW_HTTP").contains("AZURE_ALLOW_HTTP=true"));
    assert!(without("AZURE_STORAGE_ACCOUNT_NAME").contains("set AZURE_STORAGE_ACCOUNT_NAME"));

    let elsewhere = ["backup", "create", "--no-store", "--to", "az://nowhere/a.iob", "a"];
    let no_container = store.run(&here, &elsewhere).expect_status(2);
    assert!(no_container.stderr.contains("ContainerNotFound"), "{}", no_container.stderr);
    assert!(no_container.stderr.contains("name of the container"), "{}", no_container.stderr);
    let missing = store.run(&here, &["backup", "verify", "--no-store", "az://backups/none.iob"]);
    let missing = missing.expect_status(2);
    assert!(missing.stderr.contains("there is no such object"), "{}", missing.stderr);

    for (variable, value) in
        [("AZURE_STORAGE_ACCOUNT_KEY", "YW5vdGhlcg=="), ("AZURE_STORAGE_ACCOUNT_NAME", "another")]
    {
        let refused = Ran::from(store.command(&here, &create).env(variable, value).output().unwrap());
        let words = words_of(&refused.expect_status(2));
        assert!(words.contains("the store answered 4"), "{variable}: {words}");
        assert!(words.contains("AZURE_STORAGE_ACCOUNT_KEY"), "{variable}: {words}");
        assert!(!words.contains(KEY) && !words.contains("YW5vdGhlcg"), "{variable}: {words}");
        assert!(store.names().is_empty() && store.begun().is_empty(), "{variable}");
    }
    // What is no key at all is not repeated either.
    let key = Ran::from(
        store.command(&here, &create).env("AZURE_STORAGE_ACCOUNT_KEY", "no key!").output().unwrap(),
    );
    assert!(!key.expect_status(2).stderr.contains("no key!"));
    let locked = ["backup", "create", "--no-store", "--lock", "30d", "--to", "az://backups/a.iob", "a"];
    let locked = store.run(&here, &locked).expect_status(2);
    assert!(
        locked.stderr.contains("az://backups/a.iob") && locked.stderr.contains("hint:"),
        "{}",
        locked.stderr
    );
    assert!(store.names().is_empty());
    store.run(&here, &create).expect_status(0);
}

/// A signature stands in the address of each request, from where it must not come into messages.
#[test]
fn a_shared_access_signature_is_enough_and_is_never_shown() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), content(100_000)).unwrap();
    let run = |rights: &str, words: &[&str]| {
        let token = sas(rights);
        let mut command = store.command(&here, words);
        command.env_remove("AZURE_STORAGE_ACCOUNT_KEY").env("AZURE_STORAGE_SAS_TOKEN", &token);
        let ran = Ran::from(command.output().unwrap());
        let signature = token.rsplit_once("sig=").unwrap().1.to_owned();
        let words = words_of(&ran);
        assert!(!words.contains(&signature[..20]), "{words}");
        ran
    };
    let create = ["backup", "create", "--no-store", "--to", "az://backups/a.iob", "a"];
    let read_only = run("rl", &create).expect_status(2);
    assert!(read_only.stderr.contains("AuthorizationPermissionMismatch"), "{}", read_only.stderr);
    assert!(read_only.stderr.contains("AZURE_STORAGE_SAS_TOKEN"), "{}", read_only.stderr);
    run("rwdlac", &create).expect_status(0);
    assert!(run("rwdlac", &create).expect_status(2).stderr.contains("exists"));
    run("rl", &["backup", "verify", "--no-store", "az://backups/a.iob"]).expect_status(0);
    assert_eq!(store.names(), ["a.iob", "a.iob.manifest"]);
}

#[test]
fn damage_in_azure_is_found_and_a_lost_manifest_is_made_again() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), content(300_000)).unwrap();
    store.run(&here, &["backup", "create", "--no-store", "--to", "az://backups/d.iob", "a"]).expect_status(0);
    let mut bytes = store.get("d.iob");
    bytes[5000] ^= 1;
    store.put("d.iob", &bytes);
    let verify = ["backup", "verify", "--no-store", "az://backups/d.iob"];
    assert!(store.run(&here, &verify).expect_status(1).stdout.contains("az://backups/d.iob"));
    store.delete("d.iob.manifest");
    bytes[5000] ^= 1;
    store.put("d.iob", &bytes);
    store.run(&here, &["backup", "rebuild", "az://backups/d.iob"]).expect_status(0);
    store.run(&here, &verify).expect_status(0);
}

/// Names that mean something in an address, or in another character set.
#[test]
fn hostile_names_in_azure_are_names() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), content(10_000)).unwrap();
    for name in ["with space.iob", "a+b=c&d.iob", "ä-ß-日.iob", "x'y\".iob", "100%25.iob", "q?r#s.iob"] {
        let target = format!("az://backups/h/{name}");
        let create = ["backup", "create", "--no-store", "--to", &target, "a"];
        store.run(&here, &create).expect_status(0);
        store.run(&here, &["backup", "verify", "--no-store", &target]).expect_status(0);
        assert!(store.run(&here, &create).expect_status(2).stderr.contains("exists"), "{name}");
        let listed = store.run(&here, &["backup", "list", "--json", "az://backups/h"]).expect_status(0);
        assert_eq!(listed.stdout.matches("\"whole\"").count(), 1, "{name}: {}", listed.stdout);
        store.run(&here, &["backup", "prune", "--keep-last", "1", "az://backups/h"]).expect_status(0);
        for left in [target.clone(), format!("{target}.manifest")] {
            let gone = left.strip_prefix("az://backups/").unwrap();
            assert!(store.names().contains(&gone.replace('&', "&amp;")), "{gone}: {:?}", store.names());
        }
        // Each is the only one of its round.
        for kept in store.names() {
            let path = format!("/backups/{}", encoded(&kept.replace("&amp;", "&")));
            assert_eq!(store.request("DELETE", &path, &[], &[], b"").0, 202, "{kept}");
        }
    }
    for wrong in ["az://", "az:///a.iob", "az://backups/h//a.iob", "az://backups/../a.iob"] {
        let create = ["backup", "create", "--no-store", "--to", wrong, "a"];
        store.run(&here, &create).expect_status(2);
    }
}

/// As it stands in an address.
fn encoded(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}

#[test]
fn an_azure_container_is_pruned_like_a_directory() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    fs::write(here.path("a"), content(10_000)).unwrap();
    for name in ["one", "two", "three"] {
        let target = format!("az://backups/p/{name}.iob");
        store.run(&here, &["backup", "create", "--no-store", "--to", &target, "a"]).expect_status(0);
    }
    store.run(&here, &["backup", "prune", "--keep-last", "1", "az://backups/p"]).expect_status(0);
    assert_eq!(store.names(), ["p/three.iob", "p/three.iob.manifest"]);
    store.run(&here, &["backup", "verify", "--no-store", "az://backups/p/three.iob"]).expect_status(0);
}
