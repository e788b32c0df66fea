//! Backups that nobody can delete for a while, on the server of PyPI's moto.

use std::fs;

use serde_json::Value;

use super::moto::{Store, element};
use crate::copy::content;
use crate::support::Workspace;

/// Makes a bucket whose objects can be locked.
fn make_bucket(store: &Store, name: &str) {
    let headers = "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, \
                   SignedHeaders=host, Signature=0\r\nx-amz-bucket-object-lock-enabled: true\r\n";
    assert_eq!(store.request_with("PUT", &format!("/{name}"), headers, b"").0, 200);
}

/// A request by somebody with the right to end a lock of the mode governance.
fn bypass(store: &Store, method: &str, path: &str, body: &str) -> u16 {
    let headers = "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, \
                   SignedHeaders=host, Signature=0\r\nx-amz-bypass-governance-retention: true\r\n";
    store.request_with(method, path, headers, body.as_bytes()).0
}

/// Name and id of each version in a bucket, and how many marks of deletion there are.
fn versions(store: &Store, bucket: &str) -> (Vec<(String, String)>, usize) {
    let (_, body) = store.request("GET", &format!("/{bucket}?versions"), b"");
    let text = String::from_utf8_lossy(&body).into_owned();
    let one = |part: &str| (element(part, "Key"), element(part, "VersionId"));
    let mut found: Vec<_> = text.split("<Version>").skip(1).map(one).collect();
    found.sort();
    (found, text.matches("<DeleteMarker>").count())
}

fn names(store: &Store, bucket: &str) -> Vec<String> {
    let mut names: Vec<String> = versions(store, bucket).0.into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names
}

const ALL: [&str; 6] = [
    "p/one.iob",
    "p/one.iob.manifest",
    "p/three.iob",
    "p/three.iob.manifest",
    "p/two.iob",
    "p/two.iob.manifest",
];

/// Who had the keys of the server could delete its backups, and so could a rule that was mistyped.
#[test]
fn a_locked_backup_survives_prune_and_a_deletion_by_hand_and_goes_when_the_lock_is_over() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    make_bucket(&store, "locked");
    fs::write(here.path("a"), content(10_000_000)).unwrap();
    for name in ["one", "two", "three"] {
        let target = format!("s3://locked/p/{name}.iob");
        let create = ["backup", "create", "--compress", "none", "--lock", "30d", "--to", &target, "a"];
        store.run(&here, &create).expect_status(0);
    }
    assert_eq!(names(&store, "locked"), ALL);
    let listed = store.run(&here, &["backup", "list", "--json", "s3://locked/p"]).expect_status(0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    for entry in listed.as_array().unwrap() {
        assert_eq!(entry["object_lock"]["mode"], "governance", "{entry}");
        let day = |text: &Value| text.as_str().unwrap()[..10].to_owned();
        assert!(day(&entry["object_lock"]["until_utc"]) > day(&entry["created_utc"]), "{entry}");
    }
    let shown = store.run(&here, &["backup", "list", "s3://locked/p"]).expect_status(0);
    assert!(
        shown.stdout.contains("locked until") && shown.stdout.contains("(governance)"),
        "{}",
        shown.stdout
    );
    // The store of runs knows it, too.
    let known = here.run(&["backup", "list"]).expect_status(0);
    assert!(known.stdout.contains("(governance)"), "{}", known.stdout);

    let prune = ["backup", "prune", "--keep-last", "1", "s3://locked/p"];
    let pruned = store.run(&here, &prune).expect_status(0);
    assert_eq!(pruned.stdout.matches("locked until").count(), 2, "{}", pruned.stdout);
    let (all, hidden) = versions(&store, "locked");
    assert_eq!((all.len(), hidden), (6, 0), "nothing was hidden: {all:?}");
    for (name, version) in &all {
        let path = format!("/locked/{name}?versionId={version}");
        assert_eq!(store.request("DELETE", &path, b"").0, 403, "{path}");
    }
    assert_eq!(names(&store, "locked"), ALL);

    // Somebody with the right to do so ends the locks of one set.
    let over = "<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2020-01-01T00:00:00Z</RetainUntilDate></Retention>";
    for (name, version) in all.iter().filter(|(name, _)| name.starts_with("p/one")) {
        let path = format!("/locked/{name}?retention&versionId={version}");
        assert_eq!(bypass(&store, "PUT", &path, over), 200, "{path}");
    }
    let pruned = store.run(&here, &prune).expect_status(0);
    assert!(pruned.stdout.contains("1 backup deleted"), "{}", pruned.stdout);
    let left = versions(&store, "locked").0;
    let of_first: Vec<_> = left.iter().filter(|(name, _)| name.starts_with("p/one")).collect();
    assert!(of_first.is_empty(), "its room is free: {of_first:?}");
    assert_eq!(left.iter().filter(|(name, _)| name.starts_with("p/t")).count(), 4);
    store.run(&here, &["backup", "verify", "--no-store", "s3://locked/p/three.iob"]).expect_status(0);
}

/// Governance can be ended by an administrator whose keys were stolen, compliance by nobody.
#[test]
fn compliance_cannot_be_ended_and_a_manifest_that_is_made_again_is_locked_like_its_stripes() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    make_bucket(&store, "strict");
    fs::write(here.path("a"), content(10_000)).unwrap();
    let create = ["backup", "create", "--no-store", "--lock", "1h", "--lock-mode", "compliance"];
    let create = [&create[..], &["--to", "s3://strict/a.iob", "a"]].concat();
    store.run(&here, &create).expect_status(0);
    let (all, _) = versions(&store, "strict");
    assert_eq!(all.len(), 2, "{all:?}");
    for (name, version) in &all {
        let path = format!("/strict/{name}?versionId={version}");
        assert_eq!(bypass(&store, "DELETE", &path, ""), 403, "{path}");
    }
    // Who may delete can still hide the manifest.
    assert_eq!(store.request("DELETE", "/strict/a.iob.manifest", b"").0, 204);
    store.run(&here, &["backup", "verify", "--no-store", "s3://strict/a.iob"]).expect_status(1);
    store.run(&here, &["backup", "rebuild", "s3://strict/a.iob"]).expect_status(0);
    store.run(&here, &["backup", "verify", "--no-store", "s3://strict/a.iob"]).expect_status(0);
    for (name, version) in versions(&store, "strict").0 {
        let path = format!("/strict/{name}?versionId={version}");
        assert_eq!(bypass(&store, "DELETE", &path, ""), 403, "{path}");
    }
}

/// A lock that was asked for and not given protects nobody, and it would show on the worst day.
#[test]
fn a_place_that_cannot_lock_is_refused_before_the_first_byte() {
    let here = Workspace::new();
    let Some(store) = Store::start(&here) else { return };
    fs::write(here.path("a"), content(10_000)).unwrap();
    for (target, why) in [
        ("s3://backups/a.iob", "its bucket has no object lock"),
        ("a.iob", "it is a file"),
        ("null:", "nothing is written"),
        ("s3://nowhere/a.iob", "NoSuchBucket"),
    ] {
        let create = ["backup", "create", "--no-store", "--lock", "30d", "--to", target, "a"];
        let refused = store.run(&here, &create).expect_status(2);
        assert!(
            refused.stderr.contains(why) && refused.stderr.contains("hint:"),
            "{target}: {}",
            refused.stderr
        );
    }
    assert!(store.names().is_empty() && store.uploads() == 0 && !here.path("a.iob").exists());
    let mode =
        ["backup", "create", "--no-store", "--lock-mode", "compliance", "--to", "s3://backups/a.iob", "a"];
    assert!(store.run(&here, &mode).expect_status(2).stderr.contains("--lock"));
}
