//! `iostall backup list` and `prune`.

use std::fs;

use serde_json::Value;

use super::create::{names, shelves};
use crate::copy::content;
use crate::support::Workspace;

fn document(here: &Workspace, line: &[&str]) -> Value {
    let ran = here.run(line).expect_status(0);
    serde_json::from_str(&ran.stdout).expect("a document")
}

/// Three backups of one source on two stripes each.
fn three(here: &Workspace) {
    shelves(here);
    fs::write(here.path("data"), content(1_000_000)).unwrap();
    for name in ["a", "b", "c"] {
        let (one, two) = (format!("b1/{name}.iob"), format!("b2/{name}.iob"));
        here.run(&["backup", "create", "--to", &one, "--to", &two, "data"]).expect_status(0);
    }
}

#[test]
fn backups_are_listed_from_directories_and_from_the_store() {
    let here = Workspace::new();
    three(&here);
    let found = document(&here, &["backup", "list", "--json", "b1", "b2"]);
    let of = |key: &str| -> Vec<String> {
        found.as_array().unwrap().iter().map(|one| one[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(of("state"), ["complete"; 3]);
    assert_eq!(of("proof"), ["unproven"; 3]);
    let known = document(&here, &["backup", "list", "--json"]);
    assert_eq!(known[2]["set"], found[2]["set"]);
    assert_eq!(known[2]["state"], "on-record");
    let ran = here.run(&["backup", "list", "b1"]).expect_status(0);
    assert!(ran.stdout.contains("stripes elsewhere: stripe 2 not found here"), "{}", ran.stdout);
    fs::remove_file(here.path("b1/c.iob.manifest")).unwrap();
    fs::remove_file(here.path("b2/c.iob.manifest")).unwrap();
    let ran = here.run(&["backup", "list", "b1", "b2"]).expect_status(0);
    assert!(ran.stdout.contains("NOT COMPLETED"), "{}", ran.stdout);
}

/// The story: a clean-up that went by the names of files took notes, and left half of a backup.
#[test]
fn prune_keeps_the_last_and_touches_nothing_else() {
    let here = Workspace::new();
    three(&here);
    fs::write(here.path("b1/a.iob.txt"), "notes").unwrap();
    let before = (names(&here.path("b1")), names(&here.path("b2")));
    let ran = here.run(&["backup", "prune", "b1", "b2"]).expect_status(2);
    assert!(ran.stderr.contains("--keep-daily 7"), "{}", ran.stderr);
    let ran = here.run(&["backup", "prune", "--dry-run", "--keep-last", "1", "b1", "b2"]).expect_status(0);
    assert!(ran.stdout.contains("2 backups would be deleted"), "{}", ran.stdout);
    assert_eq!((names(&here.path("b1")), names(&here.path("b2"))), before);
    // One directory of two is not enough to delete a set.
    here.run(&["backup", "prune", "--keep-last", "1", "b1"]).expect_status(0);
    assert_eq!((names(&here.path("b1")), names(&here.path("b2"))), before);
    let pruned = document(&here, &["backup", "prune", "--json", "--keep-last", "1", "b1", "b2"]);
    let actions: Vec<&str> =
        pruned["backups"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["delete", "delete", "keep"]);
    let left = ["a.iob.txt", "c.iob", "c.iob.manifest"];
    assert_eq!(names(&here.path("b1")), left);
    assert_eq!(names(&here.path("b2")), left[1..]);
    let found = document(&here, &["backup", "list", "--json", "b1", "b2"]);
    assert_eq!(found[0]["state"], "complete");
}

/// The story: the disk with the second stripe was not mounted for one night. The check of that night said "damaged", and the next
/// clean-up let the only good backup go for a newer one that nobody had checked.
#[test]
fn a_set_of_which_a_stripe_was_away_for_a_while_is_not_taken_for_damaged() {
    let here = Workspace::new();
    three(&here);
    here.run(&["backup", "verify", "b1/c.iob"]).expect_status(0);
    fs::rename(here.path("b2"), here.path("away")).unwrap();
    let ran = here.run(&["backup", "verify", "--json", "v.json", "b1/c.iob"]).expect_status(1);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("NOT WHOLE HERE: 1 stripe is missing"), "{said}");
    let damage = here.json("v.json")["backup-verify"]["damage"].clone();
    assert!(damage.as_array().unwrap().iter().all(|one| one["is_missing"] == true), "{damage}");
    fs::rename(here.path("away"), here.path("b2")).unwrap();
    let found = document(&here, &["backup", "list", "--json", "b1", "b2"]);
    assert_eq!((&found[2]["state"], &found[2]["proof"]), (&"complete".into(), &"verified".into()), "{found}");
    // What is damaged is still found to be.
    let mut stripe = fs::read(here.path("b2/c.iob")).unwrap();
    let at = stripe.len() / 2;
    stripe[at] ^= 1;
    fs::write(here.path("b2/c.iob"), stripe).unwrap();
    here.run(&["backup", "verify", "b1/c.iob"]).expect_status(1);
    let listed = here.run(&["backup", "list", "--json", "b1", "b2"]).expect_status(1);
    let found: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(found[2]["proof"], "damaged", "{found}");
}
