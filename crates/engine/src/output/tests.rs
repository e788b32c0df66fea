use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{OutputRefusal, Place, PlaceKind};
use crate::files;

fn place(path: &Path) -> Place {
    Place::of(path).unwrap()
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    place(path).write(&|out| out.write_all(text.as_bytes()), &|| ())
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_mode_and_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("o.json");
    write(&path, "first").unwrap();
    let first = fs::metadata(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let owner = if files::effective_user() == 0 { 65_534 } else { first.uid() };
    std::os::unix::fs::chown(&path, Some(owner), None).unwrap();
    write(&path, "second").unwrap();
    let second = fs::metadata(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_ne!(second.ino(), first.ino(), "never half of it under the name");
    assert_eq!((second.mode() & 0o7777, second.uid()), (0o640, owner));
    assert!(second.mtime_nsec() != first.mtime_nsec() || second.mtime() != first.mtime(), "it is new");
    assert_eq!(names(directory.path()), ["o.json"]);
}

/// A document that failed half-way, on a full disk, left half a document under the name of last week's.
#[test]
fn what_fails_leaves_the_file_as_it_was_and_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("o.json");
    for old in [None, Some("old")] {
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        let failed = place(&path).write(
            &|out| {
                out.write_all(&vec![b'x'; 100_000])?;
                Err(io::ErrorKind::StorageFull.into())
            },
            &|| (),
        );
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
        assert_eq!(names(directory.path()).len(), usize::from(old.is_some()));
    }
}

/// Every run that was killed at its end left a hidden file beside the results, each under another name.
#[test]
fn a_process_that_is_killed_while_it_writes_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let has_nameless = rustix::fs::open(
        directory.path(),
        rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR,
        Mode::from_raw_mode(0o600),
    );
    let meanwhile = Cell::new(Vec::new());
    let render = |out: &mut dyn Write| {
        meanwhile.set(names(directory.path()));
        out.write_all(b"text")
    };
    place(&directory.path().join("o.json")).write(&render, &|| ()).unwrap();
    assert_eq!(meanwhile.take().len(), usize::from(has_nameless.is_err()));
    assert_eq!(names(directory.path()), ["o.json"]);
}

#[test]
fn links_are_followed_also_to_what_is_not_there_yet() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::create_dir(here.join("results")).unwrap();
    symlink("results/new", here.join("one")).unwrap();
    symlink("one", here.join("two")).unwrap();
    symlink("results", here.join("there")).unwrap();
    symlink("circle", here.join("circle")).unwrap();
    assert_eq!(place(&here.join("two")).kind(), PlaceKind::New);
    assert!(place(&here.join("two")).is_same(&place(&here.join("there/../results/new"))));
    write(&here.join("two"), "text").unwrap();
    assert_eq!(fs::read(here.join("results/new")).unwrap(), b"text");
    assert_eq!(names(here), ["circle", "one", "results", "there", "two"]);
    assert!(place(&here.join("two")).is_same(&place(&here.join("there/new"))));
    assert!(Place::of(&here.join("circle")).is_err());
}

#[test]
fn one_file_is_known_by_all_its_names_there_or_not() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::create_dir(here.join("d")).unwrap();
    fs::write(here.join("file"), "x").unwrap();
    fs::hard_link(here.join("file"), here.join("hard")).unwrap();
    for (one, other, is_same) in [
        ("file", "hard", true),
        ("file", "d/../file", true),
        ("new", "./d/../new", true),
        ("d/new", "new", false),
        ("file", "new", false),
        ("d/absent/x", "d/absent/x", true),
        ("d/absent/x", "d/absent/y", false),
    ] {
        assert_eq!(place(&here.join(one)).is_same(&place(&here.join(other))), is_same, "{one} and {other}");
    }
    assert_eq!(place(&here.join("d/a")).inside(here), Some("d/a".into()));
    assert_eq!(place(&here.join("file")).inside(&here.join("d")), None);
}

#[test]
fn what_cannot_take_a_document_is_refused_by_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("file"), "x").unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(here.join("socket")).unwrap();
    let refusal = |path: &str| {
        Place::of(&here.join(path)).and_then(|place| place.check_writable()).unwrap_err().to_string()
    };
    assert_eq!(refusal("."), "that is a directory");
    assert_eq!(refusal("socket"), "that is a socket");
    assert!(refusal("absent/x").starts_with("there is no directory "), "{}", refusal("absent/x"));
    assert!(refusal("absent/").starts_with("there is no directory "), "{}", refusal("absent/"));
    assert!(refusal("file/x").contains("directory"), "{}", refusal("file/x"));
    assert!(place(Path::new("/proc/self/new")).check_writable().is_err());
    place(&here.join("new")).check_writable().unwrap();
}

/// Root's result under a name in /tmp: somebody had put a link there, to a file of root's.
#[test]
fn a_link_that_another_user_put_where_everybody_may_is_not_followed() {
    if files::effective_user() != 0 {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::set_permissions(here, fs::Permissions::from_mode(0o1777)).unwrap();
    symlink("target", here.join("theirs")).unwrap();
    symlink("target", here.join("ours")).unwrap();
    std::os::unix::fs::lchown(here.join("theirs"), Some(65_534), None).unwrap();
    assert!(matches!(Place::of(&here.join("theirs")), Err(OutputRefusal::ForeignLink { .. })));
    assert_eq!(place(&here.join("ours")).kind(), PlaceKind::New);
}

#[test]
fn a_pipe_is_written_through_as_soon_as_somebody_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let reader = Cell::new(None);
    let waiting = || {
        let path = path.clone();
        reader.set(Some(std::thread::spawn(move || fs::read_to_string(path).unwrap())));
    };
    place(&path).write(&|out| out.write_all(b"through"), &waiting).unwrap();
    assert_eq!(reader.take().unwrap().join().unwrap(), "through");
    assert_eq!(place(&path).kind(), PlaceKind::Pipe);
    // Who has seen enough is no failure.
    let hasty = || {
        let path = path.clone();
        reader.set(Some(std::thread::spawn(move || {
            let mut first = [0];
            File::open(path).unwrap().read_exact(&mut first).unwrap();
            String::new()
        })));
    };
    place(&path).write(&|out| out.write_all(&vec![b'x'; 1 << 20]), &hasty).unwrap();
}

#[test]
fn a_descriptor_is_written_where_it_stands() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"before ").unwrap();
    for path in [format!("/dev/fd/{}", file.as_raw_fd()), format!("/proc/self/fd/{}", file.as_raw_fd())] {
        assert!(place(Path::new(&path)).is_stream());
        write(Path::new(&path), "written ").unwrap();
    }
    file.write_all(b"after").unwrap();
    let mut text = String::new();
    io::Seek::rewind(&mut file).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "before written written after");
    let reading = File::open("/proc/self/status").unwrap();
    let refusal = Place::of_descriptor(reading.as_raw_fd()).unwrap_err();
    assert!(refusal.to_string().ends_with("is open for reading only"), "{refusal}");
    assert!(Place::of_descriptor(900).is_err());
}

#[test]
fn a_device_takes_what_it_is_given_from_anybody() {
    let null = place(Path::new("/dev/null"));
    assert_eq!(null.kind(), PlaceKind::Device);
    assert!(!null.is_same(&place(Path::new("/dev/null"))));
    null.check_writable().unwrap();
    write(Path::new("/dev/null"), "gone").unwrap();
    let full = write(Path::new("/dev/full"), "refused").unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn what_is_there_is_told_by_its_beginning_and_databases_by_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data");
    assert_eq!(place(&path).head(10).unwrap(), b"");
    fs::write(&path, b"SQLite format 3\0 and more").unwrap();
    assert_eq!(place(&path).head(6).unwrap(), b"SQLite");
    assert_eq!(place(&path).database().unwrap().unwrap().database, "SQLite");
    fs::write(&path, b"{}").unwrap();
    assert_eq!(place(&path).database().unwrap(), None);
}
