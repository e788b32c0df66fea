//! Releases: signed where no centre reaches, and applied by a server as far as its own policy allows.

use std::fs;

use crate::fleet_centre::assert_refused;
use crate::support::{Ran, Workspace};

/// A machine with a key, whose directory has what goes into releases.
pub(crate) struct Signer {
    pub(crate) here: Workspace,
    pub(crate) public_key: String,
}

impl Signer {
    pub(crate) fn new() -> Self {
        let here = Workspace::new();
        let public_key =
            here.run(&["fleet", "release", "keygen", "key"]).expect_status(0).stdout.trim().to_owned();
        assert!(public_key.starts_with("ed25519:"), "{public_key}");
        Self { here, public_key }
    }

    /// A release of settings, as a file.
    pub(crate) fn release(&self, version: u32, objects: &[(&str, &str)]) -> String {
        let from = self.here.path(&format!("from-{version}"));
        let _ = fs::remove_dir_all(&from);
        for (name, text) in objects {
            let path = from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let to = self.here.path(&format!("{version}.release")).to_str().unwrap().to_owned();
        let _ = fs::remove_file(&to);
        let from = from.to_str().unwrap().to_owned();
        let line = [
            "fleet",
            "release",
            "make",
            &from,
            "--version",
            &version.to_string(),
            "--key",
            "key",
            "--to",
            &to,
        ];
        self.here.run(&line).expect_status(0);
        to
    }

    /// A permit to undo a release.
    pub(crate) fn permit(&self, release: &str) -> String {
        let to = format!("{release}.undo");
        self.here.run(&["fleet", "release", "undo", release, "--key", "key", "--to", &to]).expect_status(0);
        to
    }

    /// Has `server` take settings and alerts that this one signs.
    pub(crate) fn allow(&self, server: &Workspace, labels: &str) {
        let _ = fs::create_dir(server.path("etc"));
        let text = format!(
            "keys = [\"{}\"]\nstate = \"{}\"\n[labels]\n{labels}\n[[allow]]\nkind = \"settings\"\nnames = [\"*.toml\"]\ndirectory = \"{}\"\n",
            self.public_key,
            server.path("push").display(),
            server.path("etc").display()
        );
        server.secret("push.toml", &text);
    }
}

pub(crate) fn apply(server: &Workspace, file: &str, options: &[&str]) -> Ran {
    server.run(&[&["fleet", "release", "apply", file, "--policy", "push.toml"][..], options].concat())
}

#[test]
fn a_release_is_signed_shown_verified_applied_and_undone() {
    let (signer, server) = (Signer::new(), Workspace::new());
    signer.allow(&server, "role = \"standby\"");
    let first = signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    let second = signer.release(
        2,
        &[
            ("settings/a.toml", "a = 2\n"),
            ("settings/b.toml", "b = 2\n"),
            ("settings/c.toml", "c = 2\n"),
            ("release.toml", "[labels]\n\"settings/b.toml\" = { role = \"standby\" }\n\"settings/c.toml\" = { role = \"primary\" }\n"),
        ],
    );
    let show = ["fleet", "release", "show", &second, "--json"];
    let shown: serde_json::Value = serde_json::from_str(&server.run(&show).expect_status(0).stdout).unwrap();
    assert_eq!((&shown["version"], &shown["key"]), (&2.into(), &signer.public_key.as_str().into()));
    assert_eq!(shown["objects"][1]["labels"]["role"], "standby", "{shown}");
    let verify = |key: &str| server.run(&["fleet", "release", "verify", &second, "--public-key", key]);
    verify(&signer.public_key).expect_status(0);
    assert!(verify(&Signer::new().public_key).expect_status(1).stdout.contains("none of the keys"));
    apply(&server, &first, &[]).expect_status(0);
    let a = || fs::read_to_string(server.path("etc/a.toml")).unwrap();
    let ran = apply(&server, &second, &["--dry-run"]).expect_status(0);
    assert!(ran.stdout.starts_with("would apply release 2\n  replace  settings/a.toml"), "{}", ran.stdout);
    assert_eq!(a(), "a = 1\n");
    let ran = apply(&server, &second, &["--json"]).expect_status(0);
    let applied: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&applied["version"], &applied["changes"][1]["change"]),
        (&2.into(), &"add".into()),
        "{applied}"
    );
    let is_there = |name: &str| server.path(name).exists();
    assert!(a() == "a = 2\n" && is_there("etc/b.toml") && !is_there("etc/c.toml"));
    // An older release is none for going back: a permit is.
    assert_refused(apply(&server, &first, &[]), &["release 1 is not newer than 2"]);
    let ran = apply(&server, &signer.permit(&second), &[]).expect_status(0);
    assert!(
        ran.stdout.contains("undid release 2\n") && ran.stdout.contains("remove   settings/b.toml"),
        "{}",
        ran.stdout
    );
    assert!(a() == "a = 1\n" && !is_there("etc/b.toml"));
    assert_refused(apply(&server, &second, &[]), &["release 2 is not newer than 2"]);
}

#[test]
fn nothing_is_written_of_a_release_that_is_not_for_this_server() {
    let (signer, other, server) = (Signer::new(), Signer::new(), Workspace::new());
    signer.allow(&server, "");
    let good = signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    let foreign = other.release(1, &[("settings/a.toml", "a = 1\n")]);
    assert_refused(apply(&server, &foreign, &[]), &["none of the keys of the policy push.toml"]);
    let program = signer.release(1, &[("settings/a.toml", "a = 1\n"), ("alerts/a.toml", "")]);
    assert_refused(
        apply(&server, &program, &[]),
        &["does not allow alerts/a.toml", "only who owns this machine"],
    );
    signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    let bytes = fs::read(&good).unwrap();
    let with = |name: &str, changed: &[u8]| {
        let path = server.path(name);
        fs::write(&path, changed).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut altered = bytes.clone();
    *altered.last_mut().unwrap() = b'!';
    assert_refused(
        apply(&server, &with("altered", &altered), &[]),
        &["settings/a.toml is not the one that was signed"],
    );
    let text = String::from_utf8(bytes.clone()).unwrap();
    let renamed = text.replacen("\"name\":\"a.toml\"", "\"name\":\"../a.toml\"", 1);
    assert_refused(apply(&server, &with("renamed", renamed.as_bytes()), &[]), &["does not hold"]);
    for end in [0, 10, 100, bytes.len() - 1] {
        assert_eq!(apply(&server, &with("short", &bytes[..end]), &[]).status, Some(2), "{end}");
    }
    assert_eq!(fs::read_dir(server.path("etc")).unwrap().count(), 0, "nothing is written");
    // Who makes releases is told what none is.
    let from = signer.here.path("bad");
    fs::create_dir_all(from.join("settings")).unwrap();
    fs::write(from.join("settings/.hidden"), "").unwrap();
    let make = ["fleet", "release", "make", "bad", "--version", "3", "--key", "key", "--to", "bad.release"];
    assert!(signer.here.run(&make).expect_status(2).stderr.contains("settings/.hidden is invalid"));
    fs::create_dir_all(from.join("other")).unwrap();
    assert_refused(signer.here.run(&make), &["that of no kind of objects"]);
    let make = ["fleet", "release", "make", "from-1", "--version", "3", "--key", "key", "--to", &good];
    assert_eq!(signer.here.run(&make).status, Some(2), "what is there is not written over");
    assert_eq!(fs::read(&good).unwrap().len(), bytes.len());
    apply(&server, &good, &[]).expect_status(0);
}
