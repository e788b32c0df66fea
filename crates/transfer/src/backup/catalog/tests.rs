use std::fs;
use std::path::{Path, PathBuf};

use iostall_model::backup::{BackupSettings, Digest32, Manifest, SetId, StripeRecord, Totals};
use tempfile::TempDir;

use super::remove::steps;
use super::{FoundSet, RemoveError, SetState, remove, scan};
use crate::backup::format::{CodecKind, StripeHeader};
use crate::backup::manifest_file;

const FIRST: SetId = SetId([1; 16]);
const SECOND: SetId = SetId([2; 16]);

/// Two directories with a stripe of each set in each, and other files beside them.
struct Shelf {
    temporary: TempDir,
}

impl Shelf {
    fn new() -> Self {
        let shelf = Self { temporary: tempfile::tempdir().unwrap() };
        for directory in shelf.directories() {
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("notes.txt"), "IOSTRIPE is what a stripe begins with").unwrap();
        }
        shelf.put(FIRST, "mon");
        shelf.put(SECOND, "tue");
        shelf
    }

    fn directories(&self) -> [PathBuf; 2] {
        ["b1", "b2"].map(|name| self.temporary.path().join(name))
    }

    fn put(&self, set: SetId, name: &str) {
        let created_unix_ns = 1_700_000_000_000_000_000 + u64::from(set.0[0]);
        let mut records = Vec::new();
        for (number, directory) in (0..).zip(self.directories()) {
            let header = StripeHeader {
                set,
                stripe: number,
                stripes: 2,
                block_bytes: 4096,
                frame_bytes: 1 << 20,
                transfer_bytes: 4 << 20,
                created_unix_ns,
                codec: CodecKind::Zstd,
                level: 1,
                keys: None,
                base: None,
            };
            let bytes = [header.encode(), vec![7; 8192]].concat();
            let record = StripeRecord {
                number,
                name: name.into(),
                directory: None,
                bytes: bytes.len() as u64,
                frames: 1,
                end_digest: Digest32::default(),
            };
            records.push(record);
            fs::write(directory.join(name), bytes).unwrap();
        }
        let at = "2026-11-20T10:00:00Z".parse().unwrap();
        let manifest = Manifest {
            set,
            tool_version: "0.1.0".into(),
            host: "db1".into(),
            started_utc: at,
            ended_utc: at,
            settings: BackupSettings { stripes: 2, ..BackupSettings::default() },
            object_lock: None,
            sources: Vec::new(),
            stripes: records,
            totals: Totals::default(),
            bases: Vec::new(),
            warnings: Vec::new(),
            content_warnings: None,
            files: Vec::new(),
        };
        let bytes = manifest_file::encode(&manifest, None).unwrap();
        for directory in self.directories() {
            fs::write(directory.join(format!("{name}.manifest")), &bytes).unwrap();
        }
    }

    fn found(&self) -> Vec<FoundSet> {
        scan(&self.directories(), None).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let list = |directory: PathBuf| fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = self
            .directories()
            .into_iter()
            .flat_map(list)
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

const OF_SECOND: [&str; 6] = ["notes.txt", "notes.txt", "tue", "tue", "tue.manifest", "tue.manifest"];

#[test]
fn sets_are_found_by_what_is_in_the_files_and_not_by_their_names() {
    let shelf = Shelf::new();
    let [one, _] = shelf.directories();
    fs::rename(one.join("mon"), one.join("renamed")).unwrap();
    let found = shelf.found();
    assert_eq!(found.iter().map(|set| set.set).collect::<Vec<_>>(), [FIRST, SECOND], "oldest first");
    assert!(found.iter().all(|set| set.state() == SetState::Whole), "{found:#?}");
    assert_eq!(found[0].stripes[0].path, one.join("renamed"));
    assert_eq!(found[0].manifests.len(), 2);
    // The same directory under two names is one.
    let twice = scan(&[one.clone(), one.join(".")], None).unwrap();
    assert_eq!(twice[0].stripes.len(), 1);
    assert_eq!(twice[0].state(), SetState::Elsewhere(vec![1]));
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let shelf = Shelf::new();
    let [one, two] = shelf.directories();
    fs::write(two.join("mon"), &fs::read(two.join("mon")).unwrap()[..8192]).unwrap();
    for directory in shelf.directories() {
        fs::remove_file(directory.join("tue.manifest")).unwrap();
    }
    let states: Vec<SetState> = shelf.found().iter().map(FoundSet::state).collect();
    let wrong = "stripe 2 has 8192 bytes instead of 12288".to_owned();
    assert_eq!(states, [SetState::Damaged(wrong), SetState::NotCompleted]);
    let mut manifest = fs::read(one.join("mon.manifest")).unwrap();
    *manifest.last_mut().unwrap() ^= 1;
    for directory in shelf.directories() {
        fs::write(directory.join("mon.manifest"), &manifest).unwrap();
    }
    assert!(matches!(shelf.found()[0].state(), SetState::Damaged(why) if why.contains("checksum")));
}

/// The story: a clean-up was killed between two files, and what was left of the backup was restored in an emergency.
#[test]
fn a_deletion_that_is_killed_anywhere_leaves_a_whole_set_or_none_and_goes_on() {
    let count = steps(&Shelf::new().found()[0]).len();
    for killed_after in 0..=count {
        let shelf = Shelf::new();
        for step in steps(&shelf.found()[0]).iter().take(killed_after) {
            step.take().unwrap();
        }
        if let Some(left) = shelf.found().iter().find(|set| set.set == FIRST) {
            let expected = if killed_after == 0 { SetState::Whole } else { SetState::BeingDeleted };
            assert_eq!(left.state(), expected, "after {killed_after} of {count}: {:?}", shelf.names());
            remove(left).unwrap();
        }
        assert_eq!(shelf.names(), OF_SECOND, "after {killed_after} of {count}");
        assert_eq!(shelf.found()[0].state(), SetState::Whole);
    }
}

/// The story: between the list and the deletion another backup took the name of an old stripe.
#[test]
fn a_file_that_is_no_longer_of_the_set_stops_the_deletion_before_it_begins() {
    let shelf = Shelf::new();
    let [one, two] = shelf.directories();
    let old = shelf.found().remove(0);
    fs::copy(one.join("tue"), one.join("mon")).unwrap();
    let error = remove(&old).unwrap_err();
    assert!(matches!(&error, RemoveError::NotOfSet { path, .. } if *path == one.join("mon")), "{error}");
    assert!(two.join("mon").exists() && one.join("mon.manifest").exists());
    fs::remove_file(one.join("mon")).unwrap();
    std::os::unix::fs::symlink(Path::new("tue"), one.join("mon")).unwrap();
    assert!(matches!(remove(&old), Err(RemoveError::NotOfSet { .. })), "a link is no stripe");
    assert!(one.join("tue").exists());
}
