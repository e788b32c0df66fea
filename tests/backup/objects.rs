//! Backups in an object store, on the server of PyPI's moto.

use std::fs;

use super::attacks::words_of;
use super::moto::{Store, element};
use super::store_contract;
use super::store_proxy::Proxy;
use super::upload_kills::source;
use crate::copy::content;
use crate::copy_crash::draw;
use crate::running::Running;
use crate::support::{Ran, Workspace, until};

/// A backup had to go to a disk first, and from there with another program to the bucket.
#[test]
fn a_backup_goes_to_a_bucket_and_comes_back_from_it() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::a_backup_goes_there_and_comes_back(&here, &store);
}

#[test]
fn nothing_in_a_bucket_is_replaced() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::nothing_is_replaced(&here, &store);
}

#[test]
fn hostile_names_in_a_bucket_are_names() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::hostile_names_are_names(&here, &store);
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

#[test]
fn damage_in_a_bucket_is_found_and_a_lost_manifest_is_made_again() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::damage_is_found_and_a_lost_manifest_is_made_again(&here, &store);
}

#[test]
fn a_bucket_is_pruned_like_a_directory() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::it_is_pruned_like_a_directory(&here, &store);
}

#[test]
fn a_part_that_fails_on_its_way_to_a_bucket_is_sent_again_alone() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::a_part_that_fails_is_sent_again_alone(&here, &store, "partNumber=");
}

#[test]
fn what_ends_an_upload_to_a_bucket_may_be_cut_before_and_after() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    store_contract::what_ends_an_upload_may_be_cut(&here, &store, "?uploadId=");
}
