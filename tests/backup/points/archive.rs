//! `iostall backup wal archive`, `fetch` and `list`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::server::{Programs, Server, place};
use crate::copy_media::Volume;
use crate::support::{Ran, Workspace, pause, until};
use crate::unprivileged::give;

/// Segments of a server, as it wrote them, and a second cluster's.
struct Segments {
    here: Workspace,
    _kept: [TempDir; 2],
    /// In the order of the log.
    files: Vec<PathBuf>,
    other: PathBuf,
}

impl Segments {
    /// `None` if PostgreSQL is not installed.
    fn new() -> Option<Self> {
        let programs = Programs::of(15)?;
        let written = || {
            let place = place();
            let server = Server::archiving(&programs, &format!("cp %p {}/%f", place.path().display()), &[]);
            server.ask("schema", &[]);
            for number in 1..=6 {
                server.ask("row", &[("number", &number.to_string())]);
                server.switched();
            }
            drop(server);
            let mut files: Vec<_> =
                fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.sort();
            (place, files)
        };
        let ((one, files), (two, others)) = (written(), written());
        let here = Workspace::new();
        fs::create_dir(here.path("wal")).unwrap();
        Some(Self { here, _kept: [one, two], files, other: others[0].clone() })
    }

    fn archive(&self, path: &Path) -> Ran {
        self.here.run(&["backup", "wal", "archive", path.to_str().unwrap(), "--to", "wal"])
    }

    fn archive_all(&self) {
        for file in &self.files {
            self.archive(file).expect_status(0);
        }
    }

    fn fetch(&self, name: &str, to: &str) -> Ran {
        self.here.run(&["backup", "wal", "fetch", name, to, "--from", "wal"])
    }

    fn list(&self, rest: &[&str]) -> (Option<i32>, Value) {
        let ran = self.here.run(&[&["backup", "wal", "list", "--json", "wal"], rest].concat());
        (ran.status, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr)))
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn archived(here: &Workspace, path: &Path) -> PathBuf {
    here.path("wal").join(format!("{}.iow", name(path)))
}

fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[usize::try_from(at).unwrap()] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The story: the last good backup was of the night, and the table was dropped at noon.
#[test]
fn a_server_archives_its_log_and_a_base_of_before_recovers_all_of_it() {
    let Some(programs) = Programs::of(15) else { return };
    let wal = place();
    let wal_name = wal.path().to_str().unwrap();
    let iostall = programs.iostall();
    let command = format!("{} backup wal archive %p --to {wal_name}", iostall.display());
    let server = Server::archiving(&programs, &command, &[]);
    server.ask("schema", &[]);
    // A copy of the files at rest is a base backup, too.
    server.switched();
    let stopped = server.stopped();
    let base = place();
    let mut copy = programs.command(Path::new("cp"));
    assert!(copy.arg("-a").arg(stopped.path().join("data")).arg(base.path()).status().unwrap().success());
    let setting = format!("archive_command={command}");
    let server = Server::on(&programs, stopped, &["archive_mode=on", &setting]).unwrap();
    server.ask("bulk", &[("from", "1"), ("to", "2000")]);
    server.switched();
    assert_eq!(server.ask("failed", &[]), "0", "{}", server.log());
    drop(server.stopped());

    let names: Vec<_> = fs::read_dir(wal.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names.len() > 2 && !names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")),
        "{names:?}"
    );
    let fetch = format!("restore_command={} backup wal fetch %f %p --from {wal_name}", iostall.display());
    let signal = base.path().join("data/recovery.signal");
    fs::write(&signal, "").unwrap();
    give(&signal);
    let copy = Server::on(&programs, base, &[&fetch]).unwrap();
    until("the end of recovery", || (copy.ask("recovering", &[]) == "f").then_some(()));
    assert_eq!(copy.ask("count", &[]), "2000");
    assert!(copy.log().contains("archive recovery complete"), "{}", copy.log());
}

/// The story: after a crash the server asked again, was refused because the file existed, and never archived anything more.
#[test]
fn the_same_file_again_is_no_error_and_everything_else_is_refused_and_keeps_both() {
    let Some(case) = Segments::new() else { return };
    let (here, first) = (&case.here, &case.files[0]);
    let said = |ran: Ran, words: &str| {
        let ran = ran.expect_status(2);
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint: "), "{words}: {}", ran.stderr);
    };
    case.archive_all();
    case.archive(first).expect_status(0);
    let kept = fs::read(archived(here, first)).unwrap();
    let changed = here.path(name(first));
    fs::copy(first, &changed).unwrap();
    flip(&changed, 500_000);
    said(case.archive(&changed), "with other content: both are kept");
    assert_eq!(fs::read(archived(here, first)).unwrap(), kept);
    assert!(changed.exists());
    said(case.archive(&case.other), "is of the cluster ");
    // Its name is that of another segment.
    let renamed = here.path("0000000100000000000000EE");
    fs::copy(first, &renamed).unwrap();
    said(case.archive(&renamed), "its content is that of");
    let cut = here.path(name(&case.files[1]));
    fs::write(&cut, &fs::read(&case.files[1]).unwrap()[..500_000]).unwrap();
    said(case.archive(&cut), "500000 bytes instead of 1048576");
    for text in ["", "no segment at all, but longer than a header has to be"] {
        fs::write(&cut, text).unwrap();
        said(case.archive(&cut), "is no segment of PostgreSQL's log");
    }
    fs::write(here.path("notes.txt"), "mine").unwrap();
    said(case.archive(&here.path("notes.txt")), "is no name of a file in PostgreSQL's log");
    let elsewhere = ["backup", "wal", "archive", first.to_str().unwrap(), "--to", "unmounted"];
    said(here.run(&elsewhere), "cannot look at unmounted");
    flip(&archived(here, first), 3000);
    said(case.archive(first), "is damaged");
}

/// The story: a recovery took a damaged segment for the end of the log, and the server began a new life with a day of it lost.
#[test]
fn only_what_was_never_archived_looks_like_the_end_of_the_log() {
    let Some(case) = Segments::new() else { return };
    let (here, first, second) = (&case.here, &case.files[0], &case.files[1]);
    case.archive_all();
    case.fetch(name(first), "there").expect_status(0);
    assert_eq!(fs::read(here.path("there")).unwrap(), fs::read(first).unwrap());
    let gone = case.fetch("0000000100000000000000EE", "no").expect_status(1);
    assert_eq!((gone.stdout.as_str(), gone.stderr.as_str()), ("", ""), "the server asks for what never was");
    case.fetch("00000002.history", "no").expect_status(1);
    let stops = |ran: Ran, words: &str| {
        let ran = ran.expect_status(200);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert!(!here.path("no").exists() && !here.path(".no.iostall.tmp").exists(), "{words}");
    };
    fs::write(here.path("mine"), "mine").unwrap();
    stops(case.fetch(name(first), "mine"), "mine exists");
    assert_eq!(fs::read(here.path("mine")).unwrap(), b"mine");
    let file = archived(here, second);
    let whole = fs::read(&file).unwrap();
    for at in [0, 20, 100, 260, whole.len() as u64 - 1] {
        flip(&file, at);
        stops(case.fetch(name(second), "no"), "is damaged");
        fs::write(&file, &whole).unwrap();
    }
    for length in [0, 255, 256, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        stops(case.fetch(name(second), "no"), "is damaged");
    }
    fs::copy(archived(here, first), &file).unwrap();
    stops(case.fetch(name(second), "no"), "under another name");
    stops(case.fetch("notes.txt", "no"), "is no name");
    stops(
        here.run(&["backup", "wal", "fetch", name(first), "no", "--from", "wal", "--new-option"]),
        "--new-option",
    );
    // Nothing is mounted there.
    fs::create_dir(here.path("empty")).unwrap();
    stops(
        here.run(&["backup", "wal", "fetch", name(first), "no", "--from", "empty"]),
        "is no archive of the log",
    );
    stops(
        here.run(&["backup", "wal", "fetch", name(first), "no", "--from", "missing"]),
        "cannot look at missing",
    );
}

/// The story: a pipe had a segment's name, and whoever listed the archive waited for a writer that never came.
#[test]
fn a_pipe_in_an_archive_is_named_and_holds_nobody_up() {
    let Some(case) = Segments::new() else { return };
    case.archive_all();
    for name in ["0000000100000000000000EE.iow", "0000000100000000000000EF.partial"] {
        let pipe = case.here.path("wal").join(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let ran = case.here.run(&["backup", "wal", "list", "wal"]).expect_status(1);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains(name) && said.contains("it is no regular file"), "{said}");
        fs::remove_file(&pipe).unwrap();
    }
}

/// The story: the machine lost power while segments were archived. One had its name and half of its content.
#[test]
fn a_kill_at_any_time_leaves_a_whole_file_or_none_and_the_next_one_goes_on() {
    let Some(case) = Segments::new() else { return };
    let (here, file) = (&case.here, &case.files[0]);
    let (mut killed, mut done) = (0, 0);
    for delay_ms in 0..60 {
        let command = &["backup", "wal", "archive", file.to_str().unwrap(), "--to", "wal"];
        let running = here.start(command);
        pause(delay_ms);
        running.signal("KILL");
        match running.ended().status {
            Some(status) => done += i32::from(status == 0),
            None => killed += 1,
        }
        match archived(here, file).exists() {
            true => {
                case.fetch(name(file), "back").expect_status(0);
                assert_eq!(fs::read(here.path("back")).unwrap(), fs::read(file).unwrap());
                fs::remove_file(here.path("back")).unwrap();
            }
            false if here.path("wal/iostall-wal-archive").exists() => {
                case.fetch(name(file), "back").expect_status(1);
            }
            false => {}
        }
        case.archive(file).expect_status(0);
        fs::remove_dir_all(here.path("wal")).unwrap();
        fs::create_dir(here.path("wal")).unwrap();
    }
    assert!(killed > 5, "{killed} killed, {done} done");
    case.archive(file).expect_status(0);
    assert_eq!(
        fs::read_dir(here.path("wal")).unwrap().count(),
        2,
        "the file and the description of the archive"
    );
}

#[test]
fn a_full_archive_is_said_leaves_nothing_and_takes_more_when_there_is_room() {
    let Some(case) = Segments::new() else { return };
    let Some(volume) = Volume::new(&case.here, "ext4", 512, 8) else { return };
    let wal = volume.mounted_at.join("wal");
    fs::create_dir(&wal).unwrap();
    let filler = volume.mounted_at.join("filler");
    let mut open = fs::File::create(&filler).unwrap();
    let ended = std::io::copy(&mut std::io::repeat(7), &mut open);
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    drop(open);
    let archive = |file: &Path| {
        let words = ["backup", "wal", "archive", "--compress", "none", "--to", wal.to_str().unwrap()];
        case.here.run(&[&words[..], &[file.to_str().unwrap()]].concat())
    };
    let ran = archive(&case.files[0]).expect_status(2);
    assert!(
        ran.stderr.contains("No space left on device") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(!wal.join(format!("{}.iow", name(&case.files[0]))).exists());
    fs::remove_file(&filler).unwrap();
    // ext4 gives the blocks of a file that is gone to others when its journal has it; a server tries again as well.
    until("room for a segment", || (archive(&case.files[0]).status == Some(0)).then_some(()));
    assert!(wal.join(format!("{}.iow", name(&case.files[0]))).exists());
}

/// The story: the segment that was missing was found to be missing by the recovery.
#[test]
fn gaps_and_damage_are_named_before_they_are_needed() {
    let Some(case) = Segments::new() else { return };
    case.archive_all();
    let (status, list) = case.list(&["--check"]);
    assert_eq!((status, &list["is_good"]), (Some(0), &Value::Bool(true)), "{list}");
    let range = &list["ranges"][0];
    assert_eq!(range["segments"], case.files.len());
    assert_eq!(
        (range["first"].as_str(), range["last"].as_str()),
        (Some(name(&case.files[0])), case.files.last().map(|file| name(file)))
    );
    assert!(range["from_utc"].is_string() && range["to_utc"].as_str() > range["from_utc"].as_str(), "{list}");
    let text = case.here.run(&["backup", "wal", "list", "wal"]).expect_status(0).stdout;
    assert!(text.contains(name(&case.files[0])), "{text}");
    // A flipped bit in the content is found where all of it is read, and one in a header always.
    let damaged = archived(&case.here, &case.files[2]);
    let whole = fs::read(&damaged).unwrap();
    flip(&damaged, 300);
    assert_eq!(case.list(&[]).0, Some(0));
    let (status, list) = case.list(&["--check"]);
    assert_eq!(status, Some(1));
    assert!(list["damaged"][0]["file"].as_str().unwrap().contains(name(&case.files[2])), "{list}");
    fs::write(&damaged, whole).unwrap();
    for file in &case.files[1..=2] {
        fs::remove_file(archived(&case.here, file)).unwrap();
    }
    let (status, list) = case.list(&[]);
    assert_eq!((status, list["ranges"].as_array().unwrap().len()), (Some(1), 2), "{list}");
    let gap = &list["gaps"][0];
    assert_eq!(
        (&gap["segments"], gap["first"].as_str()),
        (&Value::from(2), Some(name(&case.files[1]))),
        "{list}"
    );
    let ran = case.here.run(&["backup", "wal", "list", "wal"]).expect_status(1);
    assert!(ran.stdout.contains("are missing, 2 segments"), "{}", ran.stdout);
    let none = case.here.run(&["backup", "wal", "list", "."]).expect_status(2);
    assert!(none.stderr.contains("is no archive"), "{}", none.stderr);
}

#[test]
fn an_archived_segment_is_smaller_than_it_was() {
    let Some(case) = Segments::new() else { return };
    case.archive_all();
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let before: u64 = case.files.iter().map(|file| size(file)).sum();
    let after: u64 = case.files.iter().map(|file| size(&archived(&case.here, file))).sum();
    assert!(after * 2 < before, "{before} -> {after}");
    let file = &case.files[0];
    fs::remove_file(archived(&case.here, file)).unwrap();
    let plain = ["backup", "wal", "archive", "--compress", "none", file.to_str().unwrap(), "--to", "wal"];
    case.here.run(&plain).expect_status(0);
    assert!(size(&archived(&case.here, file)) > size(file));
    case.fetch(name(file), "back").expect_status(0);
    assert_eq!(fs::read(case.here.path("back")).unwrap(), fs::read(file).unwrap());
}
