//! Backups in Google's Cloud Storage, on a store of this test that answers as it does.

use std::fs;

use rcgen::{KeyPair, PKCS_RSA_SHA256, PublicKeyData as _, RsaKeySize};
use serde_json::json;

use super::attacks::words_of;
use super::google::{Google, Kind, READ_ONLY, TOKEN};
use super::store_contract::{self, KillAt, TestStore as _};
use crate::copy::content;
use crate::support::{Ran, Workspace};

/// `--to gs://…` was refused: a backup for Google's store had to go to a disk first.
#[test]
fn a_backup_goes_to_google_and_comes_back_from_it() {
    store_contract::a_backup_goes_there_and_comes_back(&Workspace::new(), &Google::start());
}

#[test]
fn nothing_in_google_is_replaced() {
    store_contract::nothing_is_replaced(&Workspace::new(), &Google::start());
}

/// What completes an upload takes no condition there, so the move that follows has it; and the copy where nothing is moved.
#[test]
fn a_name_that_appears_at_the_last_moment_is_not_replaced_in_google() {
    for (moves, at) in
        [(true, ("POST", "moveTo")), (true, ("POST", "uploadId=")), (false, ("PUT", "race%2Eiob "))]
    {
        let store = Google::of_kind(Kind { locks: false, moves });
        store_contract::a_name_that_appears_at_the_last_moment_is_not_replaced(&Workspace::new(), &store, at);
    }
}

const PARTS: [KillAt; 11] = [
    ("PUT", "partial", 1, false),
    ("POST", "uploads", 1, false),
    ("POST", "uploads", 2, false),
    ("PUT", "partNumber=1&", 1, false),
    ("PUT", "partNumber=2&", 2, false),
    ("POST", "?uploadId=", 1, false),
    ("POST", "?uploadId=", 2, false),
    ("POST", "moveTo", 1, false),
    ("POST", "moveTo", 2, false),
    ("PUT", "%2Emanifest", 1, true),
    ("PUT", "%2Emanifest", 2, true),
];

#[test]
fn a_kill_in_any_part_of_an_upload_to_google_leaves_nothing_that_looks_like_a_backup() {
    store_contract::a_kill_leaves_no_backup_and_nothing_that_prune_does_not_find(
        &Workspace::new(),
        &Google::start(),
        &store_contract::parts_now(&PARTS, &[7]),
        11,
    );
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn damage_in_google_is_found_and_a_lost_manifest_is_made_again() {
    store_contract::damage_is_found_and_a_lost_manifest_is_made_again(&Workspace::new(), &Google::start());
}

#[test]
fn hostile_names_in_google_are_names() {
    store_contract::hostile_names_are_names(&Workspace::new(), &Google::start());
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_google_bucket_is_pruned_like_a_directory() {
    store_contract::it_is_pruned_like_a_directory(&Workspace::new(), &Google::start());
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_search_in_google_that_is_stopped_leaves_nothing() {
    store_contract::a_search_that_is_stopped_leaves_nothing(&Workspace::new(), &Google::start());
}

#[test]
fn a_google_that_refuses_is_quoted_and_nothing_goes_unencrypted_by_itself() {
    let (here, store) = (Workspace::new(), Google::start());
    fs::write(here.path("a"), b"content").unwrap();
    let create = ["backup", "create", "--no-store", "--to", "gs://backups/w/a.iob", "a"];
    let with = |words: &[&str], variable: &str, value: &str| {
        let ran =
            Ran::from(store.command(&here, words).env(variable, value).output().unwrap()).expect_status(2);
        assert!(store.names().is_empty() && store.uploads() == 0, "{variable}");
        assert!(!words_of(&ran).contains(TOKEN), "{}", words_of(&ran));
        ran.stderr
    };
    let plain = with(&create, "GOOGLE_ALLOW_HTTP", "");
    assert!(plain.contains("GOOGLE_ALLOW_HTTP=true") && plain.contains("is not encrypted"), "{plain}");
    let no_address = with(&create, "GOOGLE_BASE_URL", "https://me:averysecretword@h/");
    assert!(
        !no_address.contains("averysecretword") && no_address.contains("GOOGLE_BASE_URL"),
        "{no_address}"
    );

    let wrong = with(&create, "GOOGLE_BEARER_TOKEN", "another");
    assert!(wrong.contains("the store answered 401") && wrong.contains("GOOGLE_SERVICE_ACCOUNT"), "{wrong}");
    let read_only = with(&create, "GOOGLE_BEARER_TOKEN", READ_ONLY);
    assert!(read_only.contains("403") && read_only.contains("AccessDenied"), "{read_only}");
    assert!(!read_only.contains(READ_ONLY), "{read_only}");

    let elsewhere = store.run(&here, &["backup", "create", "--no-store", "--to", "gs://nowhere/a.iob", "a"]);
    let elsewhere = elsewhere.expect_status(2).stderr;
    assert!(elsewhere.contains("NoSuchBucket") && elsewhere.contains("GOOGLE_BASE_URL"), "{elsewhere}");
    let missing =
        store.run(&here, &["backup", "verify", "--no-store", "gs://backups/none.iob"]).expect_status(2);
    assert!(missing.stderr.contains("there is no such object"), "{}", missing.stderr);

    // Files with keys: missing, no key at all, and one whose words are not to be shown.
    here.secret("broken.json", "{\"private_key\": \"averysecretword\"");
    for (variable, file) in [
        ("GOOGLE_SERVICE_ACCOUNT", "none.json"),
        ("GOOGLE_SERVICE_ACCOUNT", "broken.json"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "broken.json"),
    ] {
        let mut command = store.command(&here, &create);
        let command = command.env_remove("GOOGLE_BEARER_TOKEN").env(variable, file);
        let said = Ran::from(command.output().unwrap()).expect_status(2).stderr;
        assert!(said.contains("GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS"), "{file}: {said}");
        assert!(!said.contains("averysecretword"), "{file}: {said}");
    }
    store.run(&here, &create).expect_status(0);
}

/// The key of a service account signs tokens, and neither it nor they are shown. Where the file names a store, backups do not go there.
#[test]
fn the_key_of_a_service_account_opens_the_bucket_and_no_other_key_does() {
    let (here, store) = (Workspace::new(), Google::start());
    fs::write(here.path("a"), content(100_000)).unwrap();
    let [right, wrong] =
        [0, 1].map(|_| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap());
    store.trust(right.der_bytes());
    let write = |name: &str, key: &KeyPair| {
        let account = json!({
            "client_email": "backups@project.iam.example", "private_key_id": "1", "private_key": key.serialize_pem(),
            "gcs_base_url": "http://127.0.0.1:1", "type": "service_account",
        });
        here.secret(name, &account.to_string());
    };
    write("right.json", &right);
    write("wrong.json", &wrong);
    let run = |variable: &str, file: &str, words: &[&str]| {
        let mut command = store.command(&here, words);
        command.env_remove("GOOGLE_BEARER_TOKEN").env(variable, file);
        let ran = Ran::from(command.output().unwrap());
        assert!(
            !words_of(&ran).contains("PRIVATE KEY") && !words_of(&ran).contains("eyJ"),
            "{}",
            words_of(&ran)
        );
        ran
    };
    let create = ["backup", "create", "--no-store", "--to", "gs://backups/a.iob", "a"];
    let refused = run("GOOGLE_SERVICE_ACCOUNT", "wrong.json", &create).expect_status(2);
    assert!(refused.stderr.contains("the store answered 401"), "{}", refused.stderr);
    run("GOOGLE_SERVICE_ACCOUNT", "right.json", &create).expect_status(0);
    let verify = ["backup", "verify", "--no-store", "gs://backups/a.iob"];
    run("GOOGLE_APPLICATION_CREDENTIALS", "right.json", &verify).expect_status(0);
}

/// A store of one's own that speaks as Google's does may know only half of it.
#[test]
fn a_store_that_moves_nothing_copies_and_leaves_no_other_name() {
    let store = Google::of_kind(Kind { locks: false, moves: false });
    store_contract::a_backup_goes_there_and_comes_back(&Workspace::new(), &store);
}

/// Who had the keys of the server could delete its backups.
#[test]
fn a_backup_is_locked_in_google_survives_prune_and_goes_when_the_lock_is_over() {
    let (here, store) = (Workspace::new(), Google::of_kind(Kind { locks: true, moves: true }));
    fs::write(here.path("a"), content(10_000_000)).unwrap();
    let create = ["backup", "create", "--compress", "none", "--lock", "30d", "--to"];
    for name in ["one", "two", "three"] {
        let target = format!("gs://backups/p/{name}.iob");
        store.run(&here, &[&create[..], &[&target, "a"]].concat()).expect_status(0);
    }
    let names = store.names();
    assert_eq!(names.len(), 6, "{names:?}");
    let locked = store.locked();
    assert_eq!(locked.len(), 6, "stripes and manifests: {locked:?}");
    assert!(locked.iter().all(|(_, mode)| mode == "GOVERNANCE"), "{locked:?}");
    let listed = store.run(&here, &["backup", "list", "--json", "gs://backups/p"]).expect_status(0);
    assert_eq!(listed.stdout.matches("\"governance\"").count(), 3, "{}", listed.stdout);
    let prune = ["backup", "prune", "--keep-last", "1", "gs://backups/p"];
    let pruned = store.run(&here, &prune).expect_status(0);
    assert_eq!(pruned.stdout.matches("locked until").count(), 2, "{}", pruned.stdout);
    assert_eq!(store.names(), names);
    store.end_locks("one");
    assert!(store.run(&here, &prune).expect_status(0).stdout.contains("1 backup deleted"));
    assert_eq!(store.names().len(), 4);

    let plain = Google::start();
    let refused = plain.run(&here, &[&create[..], &["gs://backups/a.iob", "a"]].concat()).expect_status(2);
    assert!(
        refused.stderr.contains("gs://backups/a.iob") && refused.stderr.contains("hint:"),
        "{}",
        refused.stderr
    );
    assert!(plain.names().is_empty() && plain.uploads() == 0);
}

#[test]
fn what_ends_an_upload_to_google_may_be_cut_before_and_after() {
    for mark in ["?uploadId=", "moveTo"] {
        store_contract::what_ends_an_upload_may_be_cut(&Workspace::new(), &Google::start(), mark);
    }
}

#[test]
fn a_part_that_fails_on_its_way_to_google_is_sent_again_alone() {
    store_contract::a_part_that_fails_is_sent_again_alone(&Workspace::new(), &Google::start(), "partNumber=");
}
