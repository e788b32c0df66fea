//! What holds for backups in every kind of store. Each kind has its own server and its own faults elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::attacks::words_of;
use super::failing_proxy::{FAULTS, FailingProxy};
use super::store_proxy::{Proxy, StopAt};
use super::upload_kills::{kill_at, nothing_looks_whole_and_the_same_line_works, source};
use crate::copy::content;
use crate::copy_crash::draw;
use crate::running::Running;
use crate::support::{PATIENCE, Ran, Workspace, at_length, until};

/// A store of one kind that a test has started, with a bucket for backups.
pub(super) trait TestStore {
    /// The address of the bucket, without a slash at the end.
    fn root(&self) -> &'static str;
    fn port(&self) -> u16;
    /// Has a command use the store at this port, with the right keys.
    fn address(&self, command: &mut Command, port: u16);
    /// What is to be in no message.
    fn secret(&self) -> &'static str;
    /// What is in the bucket.
    fn names(&self) -> Vec<String>;
    /// How many uploads were begun and neither completed nor given up.
    fn uploads(&self) -> usize;
    /// Whether those go by themselves, and nobody can give them up.
    fn forgets_uploads(&self) -> bool {
        false
    }
    fn get(&self, name: &str) -> Vec<u8>;
    /// Makes or replaces an object.
    fn put(&self, name: &str, bytes: &[u8]);
    fn delete(&self, name: &str);

    fn command(&self, here: &Workspace, words: &[&str]) -> Command {
        let mut command = here.command(words);
        self.address(&mut command, self.port());
        command
    }

    fn run(&self, here: &Workspace, words: &[&str]) -> Ran {
        self.command(here, words).output().unwrap().into()
    }
}

/// A tree with small and large files, 40 MB together, which do not shrink much.
fn tree(here: &Workspace) {
    fs::create_dir_all(here.path("shop/base")).unwrap();
    fs::write(here.path("shop/large"), content(24 << 20)).unwrap();
    fs::write(here.path("shop/base/second"), content(14 << 20)).unwrap();
    for number in 0..40_usize {
        fs::write(here.path(&format!("shop/base/{number}")), content(number * 1000)).unwrap();
    }
}

pub(super) fn a_backup_goes_there_and_comes_back(here: &Workspace, store: &impl TestStore) {
    tree(here);
    let [one, two] = [1, 2].map(|number| format!("{}/db1/shop.iob.{number}", store.root()));
    let create = ["backup", "create", "--compress", "none", "--to", &one, "--to", &two, "shop"];
    let made = store.run(here, &create).expect_status(0);
    let manifest = format!("{one}.manifest");
    assert!(made.stdout.contains(&manifest), "{}", made.stdout);
    assert!(!made.stderr.contains("replaces objects"), "it honours conditions: {}", made.stderr);
    let names = store.names();
    assert_eq!(
        names,
        ["db1/shop.iob.1", "db1/shop.iob.1.manifest", "db1/shop.iob.2"],
        "stripes and manifest, and nothing else"
    );
    assert_eq!(store.uploads(), 0);

    let directory = format!("{}/db1", store.root());
    let listed = store.run(here, &["backup", "list", "--json", &directory]).expect_status(0);
    assert!(listed.stdout.contains(&two) && listed.stdout.contains("\"complete\""), "{}", listed.stdout);
    for named in [&manifest, &two] {
        store.run(here, &["backup", "verify", named]).expect_status(0);
    }
    store.run(here, &["backup", "verify", "--headers", &one]).expect_status(0);
    store.run(here, &["backup", "restore", &one, "--to", "back"]).expect_status(0);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);
    fs::create_dir(here.path("scratch")).unwrap();
    store.run(here, &["backup", "drill", "--scratch", "scratch", &one]).expect_status(0);

    // Neither the run nor any message has a secret.
    let runs = here.run(&["runs", "show", "1", "--json", "run.json"]);
    let said = format!("{}{}", words_of(&made), words_of(&runs));
    assert!(!said.contains(store.secret()), "{said}");
    let store_file = fs::read(here.path("store.db")).unwrap();
    let secret = store.secret().as_bytes();
    assert!(!store_file.windows(secret.len()).any(|part| part == secret));
}

/// A second backup of the same name replaced the first in a bucket, and both were lost.
pub(super) fn nothing_is_replaced(here: &Workspace, store: &impl TestStore) {
    fs::write(here.path("a"), content(100_000)).unwrap();
    let target = format!("{}/a.iob", store.root());
    let create = ["backup", "create", "--no-store", "--to", &target, "a"];
    store.run(here, &create).expect_status(0);
    let before = store.get("a.iob.manifest");
    let again = store.run(here, &create).expect_status(2);
    assert!(again.stderr.contains(&format!("{target} exists")), "{}", again.stderr);
    assert_eq!(store.get("a.iob.manifest"), before);

    // Each of these names appears while the backup is on its way: a stripe's, and that of a second manifest.
    for (number, name) in [(1, "late1.iob"), (2, "late2.iob.manifest")] {
        let stripe = format!("{}/late{number}.iob", store.root());
        let mut late = store.command(here, &["backup", "create", "--no-store", "--to", &stripe, "-"]);
        let mut late =
            late.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_note = |found: &String| found.starts_with(&format!(".late{number}.iob."));
        until("the note", || store.names().iter().any(is_note).then_some(()));
        store.put(name, b"somebody else's");
        late.stdin.take().unwrap().write_all(b"a dump").unwrap();
        let ended = Ran::from(late.wait_with_output().unwrap()).expect_status(2);
        assert!(ended.stderr.contains("exists"), "{}", ended.stderr);
        assert_eq!(store.get(name), b"somebody else's");
        assert!(store.uploads() == 0 || store.forgets_uploads(), "what was not completed was given up");
        assert!(!store.names().iter().any(is_note), "{:?}", store.names());
    }
}

/// The look before an object gets its name finds all but a race, so a race is made: at this request the name appears.
pub(super) fn a_name_that_appears_at_the_last_moment_is_not_replaced(
    here: &Workspace,
    store: &impl TestStore,
    (method, part): (&'static str, &'static str),
) {
    fs::write(here.path("a"), content(100_000)).unwrap();
    let proxy = Proxy::pausing(store.port(), StopAt { method, part, number: 1, is_done: false });
    let target = format!("{}/race.iob", store.root());
    let mut create = here.command(&["backup", "create", "--no-store", "--to", &target, "a"]);
    store.address(&mut create, proxy.port);
    let create = create.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(proxy.has_stopped(PATIENCE), "{:#?}", proxy.requests());
    store.put("race.iob", b"somebody else's");
    proxy.resume();
    let ended = Ran::from(create.wait_with_output().unwrap()).expect_status(2);
    assert!(ended.stderr.contains("exists"), "{}", ended.stderr);
    assert_eq!(store.get("race.iob"), b"somebody else's");
    assert_eq!(store.names(), ["race.iob"]);
}

/// Method, part of the address, which of them, and whether a whole backup may be there when the store has carried it out.
pub(super) type KillAt = (&'static str, &'static str, usize, bool);

/// All of them at length, and in the gate those at `few`.
pub(super) fn parts_now(all: &[KillAt], few: &[usize]) -> Vec<KillAt> {
    if at_length() { all.to_vec() } else { few.iter().map(|at| all[*at]).collect() }
}

/// A machine that went down in the middle of a backup left what looked like one, or what nobody saw and the bill showed.
pub(super) fn a_kill_leaves_no_backup_and_nothing_that_prune_does_not_find(
    here: &Workspace,
    store: &impl TestStore,
    parts: &[KillAt],
    mut seed: u64,
) {
    source(here);
    let through = |command: &mut Command, port: u16| store.address(command, port);
    for (case, (method, part, number, may_be_whole)) in parts.iter().copied().enumerate() {
        let stop = StopAt { method, part, number, is_done: draw(&mut seed, 2) == 1 };
        let directory = format!("{}/k{case}", store.root());
        kill_at(here, &directory, store.port(), stop, &through);
        let left = if store.forgets_uploads() { 0 } else { store.uploads() };
        let listed = store.run(here, &["backup", "list", &directory]).expect_status(0);
        assert!(left == 0 || listed.stdout.contains("with "), "{stop:?}, {left}: {}", words_of(&listed));
        // It may still be on its way.
        let prune = ["backup", "prune", "--keep-last", "1", "--abandoned-after"];
        let early = store.run(here, &[&prune[..], &["1d", &directory]].concat()).expect_status(0);
        assert!(left == 0 || store.uploads() == left, "{stop:?}: {}", words_of(&early));
        let pruned = store.run(here, &[&prune[..], &["0", &directory]].concat()).expect_status(0);
        assert!(store.uploads() == 0 || store.forgets_uploads(), "{stop:?}: {}", words_of(&pruned));
        assert!(!store.names().iter().any(|name| name.contains(".partial")), "{stop:?}: {:?}", store.names());
        nothing_looks_whole_and_the_same_line_works(
            here,
            &directory,
            store.port(),
            stop,
            may_be_whole,
            &through,
        );
    }
}

/// Half of a backup is none, wherever it lies.
pub(super) fn damage_is_found_and_a_lost_manifest_is_made_again(here: &Workspace, store: &impl TestStore) {
    fs::write(here.path("a"), content(300_000)).unwrap();
    let target = format!("{}/d.iob", store.root());
    store.run(here, &["backup", "create", "--no-store", "--to", &target, "a"]).expect_status(0);
    let mut bytes = store.get("d.iob");
    bytes[5000] ^= 1;
    store.put("d.iob", &bytes);
    let verify = ["backup", "verify", "--no-store", &target];
    assert!(store.run(here, &verify).expect_status(1).stdout.contains(&target));
    store.delete("d.iob.manifest");
    let lost = store.run(here, &verify).expect_status(1);
    assert!(lost.stdout.contains("rebuild"), "{}", words_of(&lost));
    bytes[5000] ^= 1;
    store.put("d.iob", &bytes);
    store.run(here, &["backup", "rebuild", &target]).expect_status(0);
    store.run(here, &verify).expect_status(0);
}

/// Names that mean something in an address, or in another character set.
pub(super) fn hostile_names_are_names(here: &Workspace, store: &impl TestStore) {
    fs::write(here.path("a"), content(10_000)).unwrap();
    let directory = format!("{}/h", store.root());
    for name in ["with space.iob", "a+b=c&d.iob", "ä-ß-日.iob", "x'y\".iob", "100%25.iob", "q?r#s.iob"] {
        let target = format!("{directory}/{name}");
        let create = ["backup", "create", "--no-store", "--to", &target, "a"];
        store.run(here, &create).expect_status(0);
        store.run(here, &["backup", "verify", "--no-store", &target]).expect_status(0);
        assert!(store.run(here, &create).expect_status(2).stderr.contains("exists"), "{name}");
        let listed = store.run(here, &["backup", "list", "--json", &directory]).expect_status(0);
        assert_eq!(listed.stdout.matches("\"complete\"").count(), 1, "{name}: {}", listed.stdout);
        store.run(here, &["backup", "prune", "--keep-last", "1", &directory]).expect_status(0);
        // Each is the only one of its round.
        let names = store.names();
        assert_eq!(names, [format!("h/{name}"), format!("h/{name}.manifest")], "{name}");
        for kept in &names {
            store.delete(kept);
        }
    }
    let scheme = store.root().split("://").next().unwrap();
    for wrong in ["", "/a.iob", "backups/h//a.iob", "backups/../a.iob"] {
        let wrong = format!("{scheme}://{wrong}");
        store.run(here, &["backup", "create", "--no-store", "--to", &wrong, "a"]).expect_status(2);
    }
}

/// Old backups filled the bucket, because only directories were pruned.
pub(super) fn it_is_pruned_like_a_directory(here: &Workspace, store: &impl TestStore) {
    fs::write(here.path("a"), content(10_000)).unwrap();
    let directory = format!("{}/p", store.root());
    for name in ["one", "two", "three"] {
        let target = format!("{directory}/{name}.iob");
        store.run(here, &["backup", "create", "--no-store", "--to", &target, "a"]).expect_status(0);
    }
    store.run(here, &["backup", "prune", "--keep-last", "1", &directory]).expect_status(0);
    assert_eq!(store.names(), ["p/three.iob", "p/three.iob.manifest"]);
    let kept = format!("{directory}/three.iob");
    store.run(here, &["backup", "verify", "--no-store", &kept]).expect_status(0);
}

/// Parts of trials would be paid for, and nobody would see them.
pub(super) fn a_search_that_is_stopped_leaves_nothing(here: &Workspace, store: &impl TestStore) {
    fs::write(here.path("data"), content(40_000_000)).unwrap();
    let proxy = Proxy::slow(store.port(), 20 << 20);
    let target = format!("{}/t/a.iob", store.root());
    let line = ["backup", "tune", "--budget", "1h", "--compress", "none", "--to", &target, "data"];
    let mut command = here.command(&line);
    store.address(&mut command, proxy.port);
    let running = Running::new(&mut command);
    until("a trial that is uploaded", || (store.uploads() > 0).then_some(()));
    running.signal("INT");
    running.ended().expect_status(130);
    assert_eq!((store.names(), store.uploads()), (Vec::new(), 0));
}

/// A store that was busy for a second, or a cable that was pulled, cost a night's backup.
pub(super) fn a_part_that_fails_is_sent_again_alone(
    here: &Workspace,
    store: &impl TestStore,
    part: &'static str,
) {
    source(here);
    let proxy = FailingProxy::before(store.port(), part);
    let target = format!("{}/a.iob", store.root());
    let create = ["backup", "create", "--no-store", "--compress", "none", "--to", &target, "shop"];
    let mut command = here.command(&create);
    store.address(&mut command, proxy.port);
    Ran::from(command.output().unwrap()).expect_status(0);
    store.run(here, &["backup", "verify", "--no-store", &target]).expect_status(0);
    let requests = proxy.requests();
    let parts: Vec<&String> = requests.iter().filter(|line| line.contains(part)).collect();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for line in parts {
        *counts.entry(line).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts.pop(), Some(FAULTS.len() + 1), "{requests:#?}");
    assert!(counts.len() >= 5 && counts.iter().all(|count| *count == 1), "{requests:#?}");
    let begun = requests.iter().filter(|line| line.starts_with("POST ") && line.contains("?uploads")).count();
    assert!(begun <= 1, "{requests:#?}");
    assert_eq!(store.names(), ["a.iob", "a.iob.manifest"]);
}

/// The store had carried it out, and the answer was lost: the next try found no such upload, or its own object in the way.
pub(super) fn what_ends_an_upload_may_be_cut(here: &Workspace, store: &impl TestStore, mark: &'static str) {
    fs::write(here.path("a"), content(100_000)).unwrap();
    let proxy = FailingProxy::before(store.port(), mark);
    let target = format!("{}/a.iob", store.root());
    let mut create = here.command(&["backup", "create", "--no-store", "--to", &target, "a"]);
    store.address(&mut create, proxy.port);
    Ran::from(create.output().unwrap()).expect_status(0);
    let tries = proxy.requests().iter().filter(|line| line.contains(mark)).count();
    assert_eq!(tries, FAULTS.len() + 1, "{:#?}", proxy.requests());
    assert_eq!(store.names(), ["a.iob", "a.iob.manifest"], "{mark}");
    store.run(here, &["backup", "verify", "--no-store", &target]).expect_status(0);
}

/// As a name stands in an address.
pub(super) fn encoded(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}
