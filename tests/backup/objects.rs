//! Backups in an object store, on the server of PyPI's moto.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use super::attacks::words_of;
use super::moto::{Store, element};
use super::store_proxy::Proxy;
use crate::copy::content;
use crate::copy_crash::draw;
use crate::running::Running;
use crate::support::{Ran, Workspace, until};

/// A tree with small and large files, 40 MB together, which do not shrink much.
fn source(here: &Workspace) {
    fs::create_dir_all(here.path("shop/base")).unwrap();
    fs::write(here.path("shop/large"), content(24 << 20)).unwrap();
    fs::write(here.path("shop/base/second"), content(14 << 20)).unwrap();
    for number in 0..40_usize {
        fs::write(here.path(&format!("shop/base/{number}")), content(number * 1000)).unwrap();
    }
}

const STRIPES: [&str; 4] = ["--to", "s3://backups/db1/shop.iob.1", "--to", "s3://backups/db1/shop.iob.2"];

/// A backup had to go to a disk first, and from there with another program to the bucket.
#[test]
fn a_backup_goes_to_a_bucket_and_comes_back_from_it() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    source(&here);
    let create = [&["backup", "create", "--compress", "none"], &STRIPES[..], &["shop"]].concat();
    let made = store.run(&here, &create).expect_status(0);
    assert!(made.stdout.contains("s3://backups/db1/shop.iob.1.manifest"), "{}", made.stdout);
    assert!(!made.stderr.contains("replaces objects"), "moto honours conditions: {}", made.stderr);
    assert_eq!(
        store.names(),
        ["db1/shop.iob.1", "db1/shop.iob.1.manifest", "db1/shop.iob.2"],
        "stripes and manifest, and nothing else"
    );
    assert_eq!(store.uploads(), 0);

    let listed = store.run(&here, &["backup", "list", "--json", "s3://backups/db1"]).expect_status(0);
    assert!(listed.stdout.contains("s3://backups/db1/shop.iob.2"), "{}", listed.stdout);
    assert!(listed.stdout.contains("\"whole\""), "{}", listed.stdout);

    for named in ["s3://backups/db1/shop.iob.1.manifest", "s3://backups/db1/shop.iob.2"] {
        store.run(&here, &["backup", "verify", named]).expect_status(0);
    }
    store.run(&here, &["backup", "verify", "--headers", "s3://backups/db1/shop.iob.1"]).expect_status(0);
    let restore = ["backup", "restore", "s3://backups/db1/shop.iob.1", "--to", "back"];
    store.run(&here, &restore).expect_status(0);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);

    // Neither the run nor any message has a secret.
    let runs = here.run(&["runs", "show", "1", "--json", "run.json"]);
    let said = format!("{}{}{}", made.stdout, made.stderr, words_of(&runs));
    assert!(!said.contains("verysecretkey"), "{said}");
    let store_file = fs::read(here.path("store.db")).unwrap();
    assert!(!store_file.windows(13).any(|part| part == b"verysecretkey"));
}

/// What is in a bucket was replaced by a second backup of the same name, and both were lost.
#[test]
fn nothing_in_a_bucket_is_replaced() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::create_dir(here.path("shop")).unwrap();
    fs::write(here.path("shop/a"), content(100_000)).unwrap();
    let create = ["backup", "create", "--no-store", "--to", "s3://backups/a.iob", "shop"];
    store.run(&here, &create).expect_status(0);
    let again = store.run(&here, &create).expect_status(2);
    assert!(again.stderr.contains("s3://backups/a.iob exists"), "{}", again.stderr);

    // Each of these names appears while the backup is on its way.
    for (number, name) in [(1, "late1.iob"), (2, "late2.iob.manifest")] {
        let stripe = format!("s3://backups/late{number}.iob");
        let mut late = store.command(&here, &["backup", "create", "--no-store", "--to", &stripe, "-"]);
        let mut late =
            late.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("the upload", || (store.uploads() == 1).then_some(()));
        assert_eq!(store.request("PUT", &format!("/backups/{name}"), b"somebody else's").0, 200);
        late.stdin.take().unwrap().write_all(b"a dump").unwrap();
        let ended = Ran::from(late.wait_with_output().unwrap()).expect_status(2);
        assert!(ended.stderr.contains("exists"), "{}", ended.stderr);
        assert_eq!(store.request("GET", &format!("/backups/{name}"), b"").1, b"somebody else's");
        assert_eq!(store.uploads(), 0, "what was not completed was given up");
    }
}

/// Two backups to one name at the same moment: one of them was lost in a store that knows no conditions.
#[test]
fn a_store_that_ignores_conditions_is_named_in_a_warning() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::write(here.path("a"), content(100_000)).unwrap();
    let proxy = Proxy::forgetful(store.port);
    let mut create = here.command(&["backup", "create", "--no-store", "--to", "s3://backups/a.iob", "a"]);
    Store::address(&mut create, proxy.port);
    let made = Ran::from(create.output().unwrap()).expect_status(0);
    let said = words_of(&made);
    assert!(said.contains("replaces objects although it was told not to"), "{said}");
    store.run(&here, &["backup", "verify", "--no-store", "s3://backups/a.iob"]).expect_status(0);
}

/// The machine went down while a backup was uploaded.
#[test]
fn an_upload_that_is_killed_leaves_nothing_that_looks_like_a_backup() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    source(&here);
    let mut state = 7;
    for kill in 0..6 {
        let name = format!("s3://backups/k{kill}.iob");
        let create = ["backup", "create", "--no-store", "--compress", "none", "--to", &name, "shop"];
        let mut running = Running::new(&mut store.command(&here, &create));
        // At any moment after the upload has begun; at the last ones there are names.
        until("the upload, or its end", || (store.uploads() > 0 || running.has_ended()).then_some(()));
        for _ in 0..draw(&mut state, 12) {
            store.uploads();
        }
        if !running.has_ended() {
            running.signal("KILL");
        }
        let was_done = running.ended().status == Some(0);
        let manifest = format!("k{kill}.iob.manifest");
        // What was on its way when the program was killed may still arrive.
        let mut said = String::new();
        let agree = (0..100).any(|_| {
            let is_whole = store.names().contains(&manifest);
            let verify = store.run(&here, &["backup", "verify", "--no-store", &name]);
            let listed = store.run(&here, &["backup", "list", "--json", "s3://backups"]).expect_status(0);
            said = format!("{:?} {}{}", store.names(), words_of(&verify), listed.stdout);
            let is_good = verify.status == Some(0);
            is_good == is_whole && listed.stdout.contains(&manifest) == is_whole && (is_whole || !was_done)
        });
        assert!(agree, "kill {kill}: {said}");
    }
}

/// A store that cannot be reached, or that takes no such key, said nothing that helped.
#[test]
fn a_store_that_refuses_is_quoted_and_nothing_goes_unencrypted_by_itself() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::write(here.path("a"), b"content").unwrap();
    let create = ["backup", "create", "--no-store", "--to", "s3://backups/a.iob", "a"];

    let plain = Ran::from(store.command(&here, &create).env_remove("AWS_ALLOW_HTTP").output().unwrap());
    assert!(plain.expect_status(2).stderr.contains("AWS_ALLOW_HTTP=true"));

    let elsewhere = ["backup", "create", "--no-store", "--to", "s3://nowhere/a.iob", "a"];
    let no_bucket = store.run(&here, &elsewhere).expect_status(2);
    assert!(no_bucket.stderr.contains("NoSuchBucket"), "{}", no_bucket.stderr);

    let missing = store.run(&here, &["backup", "verify", "--no-store", "s3://backups/none.iob"]);
    let missing = missing.expect_status(2);
    assert!(missing.stderr.contains("there is no such object"), "{}", missing.stderr);
    assert!(missing.stderr.contains("iostall backup list s3://backups"), "{}", missing.stderr);

    // From here on moto checks signatures, and has one account.
    store.administer("Action=CreateUser&UserName=dba");
    let keys = store.administer("Action=CreateAccessKey&UserName=dba");
    let (key, secret) = (element(&keys, "AccessKeyId"), element(&keys, "SecretAccessKey"));
    let policy = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%22s3%3A%2A%22%2C%22Resource%22%3A%22%2A%22%7D%5D%7D";
    store.administer(&format!("Action=PutUserPolicy&UserName=dba&PolicyName=all&PolicyDocument={policy}"));
    assert_eq!(store.request("POST", "/moto-api/reset-auth", b"0").0, 200);
    for of_nobody in ["AKIDOFTESTS", &key] {
        let mut wrong = store.command(&here, &create);
        let refused = Ran::from(wrong.env("AWS_ACCESS_KEY_ID", of_nobody).output().unwrap()).expect_status(2);
        assert!(refused.stderr.contains("the store answered 403"), "{}", refused.stderr);
        assert!(refused.stderr.contains("AWS_SECRET_ACCESS_KEY"), "{}", refused.stderr);
        assert!(!refused.stderr.contains("verysecretkey"), "{}", refused.stderr);
    }
    let keys = [("AWS_ACCESS_KEY_ID", &key), ("AWS_SECRET_ACCESS_KEY", &secret)];
    Ran::from(store.command(&here, &create).envs(keys).output().unwrap()).expect_status(0);
}

/// Half of a backup is none, wherever it lies.
#[test]
fn damage_in_a_bucket_is_found() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::create_dir(here.path("shop")).unwrap();
    fs::write(here.path("shop/a"), content(300_000)).unwrap();
    let create = ["backup", "create", "--no-store", "--to", "s3://backups/d.iob", "shop"];
    store.run(&here, &create).expect_status(0);
    let (_, mut bytes) = store.request("GET", "/backups/d.iob", b"");
    bytes[5000] ^= 1;
    assert_eq!(store.request("PUT", "/backups/d.iob", &bytes).0, 200);
    let verify = ["backup", "verify", "--no-store", "s3://backups/d.iob"];
    let changed = store.run(&here, &verify).expect_status(1);
    assert!(changed.stdout.contains("s3://backups/d.iob"), "{}", changed.stdout);
    assert_eq!(store.request("DELETE", "/backups/d.iob.manifest", b"").0, 204);
    let lost = store.run(&here, &verify).expect_status(1);
    assert!(lost.stdout.contains("rebuild"), "{}", words_of(&lost));
    bytes[5000] ^= 1;
    assert_eq!(store.request("PUT", "/backups/d.iob", &bytes).0, 200);
    store.run(&here, &["backup", "rebuild", "s3://backups/d.iob"]).expect_status(0);
    store.run(&here, &verify).expect_status(0);
}

/// Old backups filled the bucket, because only directories were pruned.
#[test]
fn a_bucket_is_pruned_like_a_directory() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::write(here.path("a"), content(10_000)).unwrap();
    for name in ["one", "two", "three"] {
        let target = format!("s3://backups/p/{name}.iob");
        store.run(&here, &["backup", "create", "--no-store", "--to", &target, "a"]).expect_status(0);
    }
    store.run(&here, &["backup", "prune", "--keep-last", "1", "s3://backups/p"]).expect_status(0);
    assert_eq!(store.names(), ["p/three.iob", "p/three.iob.manifest"]);
    store.run(&here, &["backup", "verify", "--no-store", "s3://backups/p/three.iob"]).expect_status(0);
}
