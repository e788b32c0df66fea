//! A release that carries iostall itself: the real program, a broken one, and one that is another version than it should be.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use iostall_watch::deploy::platform;

use crate::fleet_centre::assert_refused;
use crate::fleet_release::{Signer, apply};
use crate::support::{Workspace, copy_binary_to};

/// A release of a program and a setting, as a file.
fn release(signer: &Signer, version: u32, program: &[u8], program_version: &str) -> String {
    let from = signer.here.path(&format!("programs-{version}"));
    for (name, content) in [
        (format!("program/{}", platform()), program),
        ("settings/a.toml".to_owned(), format!("a = {version}\n").as_bytes()),
        (
            "release.toml".to_owned(),
            format!("[versions]\n\"program/{}\" = \"{program_version}\"\n", platform()).as_bytes(),
        ),
    ] {
        let path = from.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let to = signer.here.path(&format!("{version}.release")).to_str().unwrap().to_owned();
    let (from, version) = (from.to_str().unwrap().to_owned(), version.to_string());
    let line = ["fleet", "release", "make", &from, "--version", &version, "--key", "key", "--to", &to];
    signer.here.run(&line).expect_status(0);
    to
}

/// The first line that a program says of its version.
fn version_of(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned()
}

#[test]
fn a_release_replaces_the_program_and_one_that_does_not_start_leaves_the_old_one_running() {
    let (signer, server) = (Signer::new(), Workspace::new());
    signer.allow(&server, "");
    fs::create_dir(server.path("bin")).unwrap();
    let installed = server.path("bin/iostall");
    // A little different, and without what only a debugger reads.
    copy_binary_to(&installed);
    assert!(Command::new("strip").arg(&installed).status().unwrap().success());
    let old = fs::read(&installed).unwrap();
    let mut new = old.clone();
    new.extend_from_slice(b"the next one");
    let policy = fs::read_to_string(server.path("push.toml")).unwrap();
    let rule = format!("[[allow]]\nkind = \"program\"\nnames = [\"*\"]\nfile = '{}'\n", installed.display());
    server.secret("push.toml", &format!("{policy}{rule}"));
    let said = version_of(&installed);
    let version = said.strip_prefix("iostall ").unwrap();
    let is_old = |words: &str| {
        assert!(fs::read(&installed).unwrap() == old, "{words}");
        assert_eq!(fs::read_dir(server.path("bin")).unwrap().count(), 1, "{words}");
        assert!(!server.path("etc/a.toml").exists(), "{words}");
        assert_eq!(version_of(&installed), said, "{words}");
    };
    let broken: [(&[u8], &str, &str); 5] = [
        (b"no program at all", version, "it does not start with --version"),
        (b"#!/bin/sh\nexit 3\n", version, "it ended with exit status: 3"),
        (b"#!/bin/sh\necho iostall 0.0.0\n", version, "it calls itself \"iostall 0.0.0\""),
        (&new[..new.len() / 2], version, "--version"),
        (&new, "99.0.0", "and the release says iostall 99.0.0"),
    ];
    for (number, (program, version, words)) in (1..).zip(broken) {
        let release = release(&signer, number, program, version);
        let ran = apply(&server, &release, &[]).expect_status(2);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        is_old(words);
    }
    let good = release(&signer, 9, &new, version);
    let ran = apply(&server, &good, &[]).expect_status(0);
    assert!(ran.stdout.contains(&format!("replace  program/{}", platform())), "{}", ran.stdout);
    assert!(fs::read(&installed).unwrap() == new);
    assert_eq!(version_of(&installed), said);
    assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o111, 0o111);
    apply(&server, &signer.permit(&good), &[]).expect_status(0);
    is_old("undone");
    assert_refused(apply(&server, &good, &[]), &["is not newer than 9"]);
    // Without a version it is not signed, and nothing else has one.
    for versions in [String::new(), "[versions]\n\"settings/a.toml\" = \"1\"\n".to_owned()] {
        fs::write(signer.here.path("programs-9/release.toml"), versions).unwrap();
        let make =
            ["fleet", "release", "make", "programs-9", "--version", "10", "--key", "key", "--to", "bad"];
        let ran = signer.here.run(&make).expect_status(2);
        assert!(ran.stderr.contains("programs, and nothing else, have a version"), "{}", ran.stderr);
    }
}
