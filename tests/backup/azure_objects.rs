//! Backups in Azure's blob storage, on the server of npm's azurite.

use std::fs;

use super::attacks::words_of;
use super::azurite::{Azure, KEY, sas};
use super::store_contract::{self, KillAt, TestStore as _};
use crate::copy::content;
use crate::support::{Ran, Workspace};

/// `--to az://…` was refused: a backup for Azure had to go to a disk first.
#[test]
fn a_backup_goes_to_azure_and_comes_back_from_it() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::a_backup_goes_there_and_comes_back(&here, &store);
}

/// The library completes a blob without a condition: a second backup of the same name would have replaced the first.
#[test]
fn nothing_in_azure_is_replaced() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::nothing_is_replaced(&here, &store);
}

#[test]
fn a_name_that_appears_at_the_last_moment_is_not_replaced() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    let at = ("PUT", "comp=blocklist");
    store_contract::a_name_that_appears_at_the_last_moment_is_not_replaced(&here, &store, at);
}

const PARTS: [KillAt; 9] = [
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
    let parts = store_contract::parts_now(&PARTS, &[5]);
    store_contract::a_kill_leaves_no_backup_and_nothing_that_prune_does_not_find(&here, &store, &parts, 5);
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
#[ignore = "runs at length: tests/long.md"]
fn damage_in_azure_is_found_and_a_lost_manifest_is_made_again() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::damage_is_found_and_a_lost_manifest_is_made_again(&here, &store);
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn hostile_names_in_azure_are_names() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::hostile_names_are_names(&here, &store);
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn an_azure_container_is_pruned_like_a_directory() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::it_is_pruned_like_a_directory(&here, &store);
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn a_part_that_fails_on_its_way_to_azure_is_sent_again_alone() {
    let here = Workspace::new();
    let Some(store) = Azure::start(&here) else { return };
    store_contract::a_part_that_fails_is_sent_again_alone(&here, &store, "comp=block&");
}
