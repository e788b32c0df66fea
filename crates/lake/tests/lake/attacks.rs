//! Moves that are disturbed: readers at work, a full disk, a second mover, files that change, and a day that does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostall_lake::{MoveEvent, MoveRequest, move_days};
use jiff::SignedDuration;
use serde_json::json;

use crate::postgres::{Postgres, day, fill};
use crate::reader::Reader;
use crate::{files_below, lake, printed, skip};

/// Rows of both files of a source with so many samples, and of two such sources.
const SAMPLES: u64 = 300;
const ALL: u64 = 4 * SAMPLES;
/// What a reader of both places finds: all rows, none twice, no day in both, and so many days.
const WHOLE: [u64; 4] = [ALL, ALL, 0, 3];

/// A repository with three days, and who reads it and the lake.
fn filled() -> Option<(Postgres, Reader)> {
    let server = Postgres::start()?;
    let reader = Reader::start(&server.python_url(), &json!({}))?;
    let mut history = server.history();
    fill(&mut history, "sqlserver://db1", day(1), SAMPLES);
    fill(&mut history, "sqlserver://db2", day(1), SAMPLES);
    Some((server, reader))
}

fn request(server: &Postgres, to: &Path) -> MoveRequest {
    let to = to.to_str().unwrap().to_owned();
    MoveRequest { url: server.url(), to, older_than: SignedDuration::from_hours(24) }
}

/// Nothing is in the lake's directory that the catalogue does not name.
fn assert_nothing_left(reader: &mut Reader, to: &Path) {
    let mut named: Vec<String> = reader.files().iter().map(|name| name.replace("file://", "")).collect();
    named.sort();
    assert_eq!(files_below(to, ".parquet"), named);
    let all = files_below(to, "");
    assert!(!all.iter().any(|path| path.contains("/.iostall-lake-")), "{all:?}");
}

#[test]
fn who_reads_while_days_are_moved_never_finds_half_of_one() {
    let Some((server, mut reader)) = filled() else { return };
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    assert_eq!(reader.rows_of_both(), WHOLE);
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostall-lake"));
    command.args(["move", &server.url(), "--to", to.to_str().unwrap(), "--older-than", "1d"]);
    let mut mover = command.stdout(Stdio::null()).spawn().unwrap();
    let mut readings = 0;
    let status = loop {
        let ended = mover.try_wait().unwrap();
        assert_eq!(reader.rows_of_both(), WHOLE, "reading {readings}");
        readings += 1;
        if let Some(status) = ended {
            break status;
        }
    };
    assert!(status.success() && readings > 1, "{status}, {readings} readings");
    assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], ALL.to_string());
    assert_nothing_left(&mut reader, &to);
}

/// A small file system, taken away at the end.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_nothing_and_the_next_move_goes_on() {
    let Some((server, mut reader)) = filled() else { return };
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    let Some(small) = Small::mount(&to, "size=96k") else {
        skip("a lake on a full disk", "no tmpfs can be mounted here");
        return;
    };
    let arguments = ["move", &server.url(), "--to", to.to_str().unwrap(), "--older-than", "1d"];
    let full = lake(&arguments);
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(2), "{said}");
    assert!(said.contains("No space left on device") && said.contains("hint: "), "{said}");
    assert_eq!(reader.rows_of_both(), WHOLE, "nothing is lost");
    let larger = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&to).status().unwrap();
    assert!(larger.success());
    assert!(printed(&lake(&arguments)).contains(" moved: "));
    assert_eq!(reader.rows_of_both(), WHOLE);
    assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], ALL.to_string());
    assert_nothing_left(&mut reader, &to);
    drop(small);
}

#[test]
fn a_second_mover_is_refused_and_two_at_once_move_each_day_once() {
    let Some((server, mut reader)) = filled() else { return };
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    let url = server.url();
    let arguments = ["move", &url, "--to", to.to_str().unwrap(), "--older-than", "1d"];
    let first = server.history();
    assert!(first.hold_lake().unwrap());
    let second = lake(&arguments);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.code() == Some(2) && said.contains("another iostall-lake moves days"), "{said}");
    assert_eq!(files_below(&to, "").len(), 0, "and has made nothing");
    drop(first);
    // The server may need a while to notice.
    while server.sql(include_str!("sql/holders.sql")) != "0" {}
    let both: Vec<_> = (0..2)
        .map(|_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_iostall-lake"));
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let done = both.into_iter().map(|mut mover| mover.wait().unwrap().success()).filter(|done| *done).count();
    assert!(done >= 1, "one of them moves");
    assert_eq!(reader.rows_of_both(), WHOLE);
    assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], ALL.to_string());
    assert_nothing_left(&mut reader, &to);
}

/// The ending of a file's name, and what happens to it.
type Disturb<'a> = (&'a str, &'a dyn Fn(&str));

#[test]
fn a_file_that_is_changed_or_missing_is_noticed_before_a_day_is_dropped() {
    let Some((server, mut reader)) = filled() else { return };
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    let change = |path: &str| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let remove = |path: &str| fs::remove_file(path).unwrap();
    let cut = |path: &str| fs::write(path, b"").unwrap();
    let all: [Disturb<'_>; 5] = [
        (".parquet", &change),
        (".parquet", &remove),
        (".parquet", &cut),
        (".avro", &change),
        (".metadata.json", &remove),
    ];
    for (ending, disturb) in all {
        let mut is_disturbed = false;
        let moved = move_days(&request(&server, &to), &mut |event| {
            let is_last = matches!(event, MoveEvent::Described { address, .. }
                if address.contains("/stalls/") && address.ends_with(".metadata.json"));
            if is_last && !is_disturbed {
                is_disturbed = true;
                disturb(files_below(&to, ending).first().unwrap());
            }
        });
        let error = moved.unwrap_err().to_string();
        assert!(error.contains(ending), "{ending}: {error}");
        assert_eq!(reader.rows_of_both(), WHOLE, "{ending}");
        assert_eq!(server.sql(include_str!("sql/tables.sql")), "0", "{ending}: no table was made");
    }
    move_days(&request(&server, &to), &mut |_| {}).unwrap();
    assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], ALL.to_string());
    assert_nothing_left(&mut reader, &to);
}

/// What came while a day was written would have been dropped with it.
#[test]
fn a_day_that_gets_more_while_it_is_written_is_written_again() {
    let Some((server, mut reader)) = filled() else { return };
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    let (mut is_late, mut again) = (true, Vec::new());
    move_days(&request(&server, &to), &mut |event| match event {
        MoveEvent::Verified { .. } if is_late => {
            is_late = false;
            fill(&mut server.history(), "sqlserver://late", day(1), 10);
        }
        MoveEvent::Again { day } => again.push(day.to_string()),
        _ => {}
    })
    .unwrap();
    assert_eq!(again, ["2026-03-01"]);
    assert_eq!(reader.rows_of_both(), [ALL + 20, ALL + 20, 0, 3]);
    assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], (ALL + 20).to_string());
    assert_nothing_left(&mut reader, &to);
}
