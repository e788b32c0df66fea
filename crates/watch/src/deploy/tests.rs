//! An agent, its policy, and who kills it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::release::{MakeRelease, ReleaseError, SigningKey, make_permit, make_release};

const VALID: Duration = Duration::from_secs(3600);

/// A server, and the key of who signs for it.
struct Server {
    place: PathBuf,
    key: SigningKey,
}

impl Server {
    fn new(place: &Path) -> Self {
        let server = Self { place: place.to_owned(), key: SigningKey::of_seed(&[7; 32]).unwrap() };
        fs::create_dir_all(server.target("")).unwrap();
        server.allow(&[("settings", "\"*\""), ("alerts", "\"alerts.toml\"")]);
        server
    }

    fn target(&self, name: &str) -> PathBuf {
        self.place.join("etc").join(name)
    }

    fn policy(&self) -> PathBuf {
        self.place.join("push.toml")
    }

    fn allow(&self, kinds: &[(&str, &str)]) {
        let mut text = format!(
            "keys = [\"{}\"]\nstate = {:?}\nlowest-version = 2\n",
            self.key.public(),
            self.place.join("state")
        );
        text.push_str("labels = { role = \"standby\" }\n");
        for (kind, names) in kinds {
            text.push_str(&format!(
                "[[allow]]\nkind = \"{kind}\"\nnames = [{names}]\ndirectory = {:?}\n",
                self.target("")
            ));
        }
        fs::write(self.policy(), text).unwrap();
        fs::set_permissions(self.policy(), fs::Permissions::from_mode(0o644)).unwrap();
    }

    fn agent(&self) -> PushAgent {
        PushAgent::open(Policy::read(&self.policy()).unwrap()).unwrap().0
    }

    /// A release of settings.
    fn release(&self, version: u64, files: &[(&str, &str)]) -> Vec<u8> {
        let from = tempfile::tempdir().unwrap();
        fs::create_dir(from.path().join("settings")).unwrap();
        for (name, text) in files {
            fs::write(from.path().join("settings").join(name), text).unwrap();
        }
        make_release(&MakeRelease { from: from.path(), version, note: None, valid: VALID }, &self.key)
            .unwrap()
    }

    fn apply(&self, bytes: &[u8]) -> Result<Applied, ReleaseError> {
        self.agent().apply(bytes, &mut |_| {})
    }

    /// Every file where objects go, with its content.
    fn content(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.target("")).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
            })
            .collect()
    }
}

fn content(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_release_replaces_what_earlier_ones_put_there_and_a_permit_puts_everything_back() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path());
    let first = server.release(2, &[("a.toml", "a = 1"), ("b.toml", "b = 1")]);
    let second = server.release(3, &[("b.toml", "b = 2"), ("c.toml", "c = 2")]);
    server.apply(&first).unwrap();
    fs::set_permissions(server.target("b.toml"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = server.content();
    assert_eq!(before, content(&[("a.toml", "a = 1"), ("b.toml", "b = 1")]));
    let applied = server.apply(&second).unwrap();
    let kinds: Vec<ChangeKind> = applied.changes.iter().map(|change| change.change).collect();
    assert_eq!(kinds, [ChangeKind::Replace, ChangeKind::Add]);
    assert_eq!(server.content(), content(&[("a.toml", "a = 1"), ("b.toml", "b = 2"), ("c.toml", "c = 2")]));
    assert_eq!(fs::metadata(server.target("b.toml")).unwrap().permissions().mode() & 0o777, 0o640);
    // The same once more repairs what somebody changed.
    fs::write(server.target("c.toml"), "c = 9").unwrap();
    assert_eq!(server.agent().objects().iter().filter(|now| now.name == "c.toml").count(), 1);
    server.apply(&second).unwrap();
    assert_eq!(server.content()["c.toml"], "c = 2");
    let of_first = make_permit(&first, VALID, &server.key).unwrap();
    assert!(matches!(server.apply(&of_first), Err(ReleaseError::NothingToUndo { version: 2 })));
    let of_second = make_permit(&second, VALID, &server.key).unwrap();
    // What somebody changed by hand is not lost.
    fs::write(server.target("b.toml"), "mine = 1").unwrap();
    assert!(matches!(server.apply(&of_second), Err(ReleaseError::Place { .. })));
    fs::write(server.target("b.toml"), "b = 2").unwrap();
    assert!(server.apply(&of_second).unwrap().is_undo);
    assert_eq!(server.content(), before);
    assert_eq!(server.agent().version(), Some(2));
    // Nobody brings it back: versions only rise.
    assert!(matches!(server.apply(&second), Err(ReleaseError::NotNewer { version: 3, highest: 3 })));
    assert_eq!(server.content(), before);
    assert_eq!(
        fs::read_dir(place.path().join("state/earlier")).unwrap().count(),
        0,
        "nothing is kept for nothing"
    );
}

#[test]
fn what_the_policy_does_not_allow_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path());
    let objects = &[("a.toml", "a = 1")];
    fs::write(server.target("a.toml"), "mine = 1").unwrap();
    let before = server.content();
    let refused = |bytes: &[u8], words: &str| {
        let error = server.apply(bytes).unwrap_err();
        assert!(error.is_refusal() && error.to_string().contains(words), "{words}: {error}");
        assert_eq!(server.content(), before, "{words}");
    };
    let release = server.release(2, objects);
    refused(&release, "no release has put it there");
    refused(&server.release(1, objects), "older than 2");
    refused(&server.release(2, &[("b.toml", "b =")]), "settings/b.toml is invalid");
    let expired = {
        let from = tempfile::tempdir().unwrap();
        fs::create_dir(from.path().join("settings")).unwrap();
        fs::write(from.path().join("settings/b.toml"), "").unwrap();
        let request =
            MakeRelease { from: from.path(), version: 2, note: None, valid: Duration::from_nanos(1) };
        make_release(&request, &server.key).unwrap()
    };
    refused(&expired, "expired");
    let other = Server { place: server.place.clone(), key: SigningKey::of_seed(&[8; 32]).unwrap() };
    refused(&other.release(2, objects), "none of the keys of the policy");
    for at in [0, 20, release.len() - 1] {
        let mut altered = release.clone();
        altered[at] ^= 1;
        assert!(server.apply(&altered).unwrap_err().is_refusal(), "byte {at}");
    }
    for end in [0, 10, release.len() - 1] {
        assert!(server.apply(&release[..end]).unwrap_err().is_refusal(), "byte {end}");
    }
    server.allow(&[("alerts", "\"*\"")]);
    refused(&release, "no rule allows this kind");
    server.allow(&[("settings", "\"b*\"")]);
    refused(&release, "no rule allows this name");
    server.allow(&[("settings", "\"a.toml\"")]);
    std::os::unix::fs::symlink("/etc/hostname", server.target("l.toml")).unwrap();
    server.allow(&[("settings", "\"l.toml\"")]);
    let error = server.apply(&server.release(2, &[("l.toml", "")])).unwrap_err();
    assert!(error.to_string().contains("a directory, a link or a device"), "{error}");
    fs::remove_file(server.target("l.toml")).unwrap();
    server.allow(&[("settings", "\"a.toml\"")]);
    server.apply(&release).unwrap();
    assert_eq!(server.content()["a.toml"], "a = 1", "the policy names the very file");
    server.allow(&[]);
    let permit = make_permit(&release, VALID, &server.key).unwrap();
    assert!(
        server.apply(&permit).unwrap_err().is_refusal(),
        "what is not allowed any more is not undone either"
    );
}

#[test]
fn a_policy_that_others_can_change_is_none_and_a_state_has_one_agent() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path());
    let agent = server.agent();
    let second = PushAgent::open(Policy::read(&server.policy()).unwrap());
    assert!(matches!(second, Err(ReleaseError::Locked { .. })));
    drop(agent);
    fs::set_permissions(server.policy(), fs::Permissions::from_mode(0o664)).unwrap();
    assert!(matches!(Policy::read(&server.policy()), Err(ReleaseError::Policy { .. })));
    fs::set_permissions(server.policy(), fs::Permissions::from_mode(0o644)).unwrap();
    let text = fs::read_to_string(server.policy()).unwrap();
    for (from, to) in [
        ("keys = [\"ed", "keys = [\"xx"),
        ("directory = \"/", "directory = \"x/"),
        ("kind = \"s", "kind = \"x"),
        ("lowest", "low"),
    ] {
        fs::write(server.policy(), text.replacen(from, to, 1)).unwrap();
        assert!(matches!(Policy::read(&server.policy()), Err(ReleaseError::Policy { .. })), "{to}");
    }
}

/// The directory belonged to the user of an application. He put a program in the place of the staged one, had a file of root's given to
/// him, and a directory under the staged name stopped all later releases.
#[test]
fn nothing_is_written_where_another_account_can_change_names() {
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let server = Server::new(place.path());
    let release = server.release(2, &[("a.toml", "a = 1")]);
    let staged = server.target(".a.toml.iostall-new");
    fs::create_dir(&staged).unwrap();
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for open in [server.target(""), server.place.clone()] {
        set_mode(&open, 0o777);
        if open == server.place {
            assert!(matches!(Policy::read(&server.policy()), Err(ReleaseError::Policy { .. })));
        } else {
            let error = server.apply(&release).unwrap_err();
            assert!(error.is_refusal() && error.hint().is_some(), "{error}");
            assert!(matches!(error, ReleaseError::OpenPlace { .. }), "{error}");
        }
        set_mode(&open, 0o755);
    }
    fs::remove_dir(&staged).unwrap();
    server.apply(&release).unwrap();
    assert_eq!(server.content(), content(&[("a.toml", "a = 1")]));
}

const KILL_AFTER: &str = "IOSTALL_TEST_KILL_AFTER";
const PLACE: &str = "IOSTALL_TEST_PLACE";

/// The process that is killed, below. By itself it does nothing.
#[test]
fn apply_and_be_killed() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let server = Server::new(Path::new(&place));
    let last: u32 = std::env::var(KILL_AFTER).unwrap().parse().unwrap();
    let mut step = 0;
    let bytes = fs::read(server.place.join("bytes")).unwrap();
    let done = server.agent().apply(&bytes, &mut |_| {
        if step == last {
            let id = std::process::id().to_string();
            Command::new("kill").args(["-KILL", &id]).status().unwrap();
        }
        step += 1;
    });
    done.unwrap();
}

/// Whether a process that applies `bytes` and is killed after so many steps was killed.
fn is_killed(server: &Server, bytes: &[u8], after: u32) -> bool {
    fs::write(server.place.join("bytes"), bytes).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "deploy::tests::apply_and_be_killed", "--nocapture"]);
    let output = command.env(PLACE, &server.place).env(KILL_AFTER, after.to_string()).output().unwrap();
    match output.status.code() {
        Some(0) => false,
        None => true,
        Some(_) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Kills one that applies `bytes` after each step in turn; what is there then, and after the next one began, is `before` or `after`.
fn kill_between_steps(prepare: &[&[u8]], bytes: &[u8], after: &BTreeMap<String, String>) -> u32 {
    for steps in 0.. {
        let place = tempfile::tempdir().unwrap();
        let server = Server::new(place.path());
        for earlier in prepare {
            server.apply(earlier).unwrap();
        }
        let before = server.content();
        let was_killed = is_killed(&server, bytes, steps);
        for (name, text) in server.content() {
            let is_whole = before.get(&name) == Some(&text) || after.get(&name) == Some(&text);
            assert!(is_whole || name.starts_with('.'), "after step {steps}: {name} is {text:?}");
        }
        drop(server.agent());
        let now: BTreeMap<_, _> =
            server.content().into_iter().filter(|(name, _)| !name.starts_with('.')).collect();
        assert!(now == before || now == *after, "after step {steps}: {now:?}");
        // Whatever it was, the same once more is all there is to do.
        if now == before {
            server.apply(bytes).unwrap();
        }
        assert_eq!(server.content(), *after, "after step {steps}");
        if !was_killed {
            return steps;
        }
    }
    unreachable!("it ends")
}

#[test]
fn an_agent_that_is_killed_between_any_two_steps_leaves_the_old_or_the_new_objects_whole() {
    let place = tempfile::tempdir().unwrap();
    let signer = Server::new(place.path());
    let first = signer.release(2, &[("a.toml", "a = 1"), ("b.toml", "b = 1")]);
    let second = signer.release(3, &[("a.toml", "a = 2"), ("b.toml", "b = 2"), ("c.toml", "c = 2")]);
    let (old, new) = (
        content(&[("a.toml", "a = 1"), ("b.toml", "b = 1")]),
        content(&[("a.toml", "a = 2"), ("b.toml", "b = 2"), ("c.toml", "c = 2")]),
    );
    // Two kept, three staged, recorded, three replaced, verified, completed.
    assert_eq!(kill_between_steps(&[&first], &second, &new), 11);
    let permit = make_permit(&second, VALID, &signer.key).unwrap();
    assert!(kill_between_steps(&[&first, &second], &permit, &old) >= 9);
}
