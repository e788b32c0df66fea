//! What is refused, and what is left behind by a backup that failed.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn data(directory: &Path) -> PathBuf {
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("file"), content(1, 2_000_000)).unwrap();
    data
}

/// A backup over last week's would leave none if it failed; a device or a pipe is no place for one.
#[test]
fn nothing_that_exists_becomes_a_stripe() {
    let dir = tempfile::tempdir().unwrap();
    let data = data(dir.path());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("last week"), b"precious").unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    fs::write(path("new.iob.manifest"), b"precious").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    let before = names_in(dir.path());
    let refused = |target: PathBuf| back_up(&[&data], &options(&[target])).unwrap_err();
    for name in ["last week", "dangling", "new.iob", "data", "socket"] {
        let error = refused(path(name));
        assert!(
            matches!(error, CreateError::Exists { .. } | CreateError::IntoItself { .. }),
            "{name}: {error}"
        );
    }
    assert!(matches!(refused("/dev/null".into()), CreateError::Exists { .. }));
    assert!(matches!(refused("/dev/no such device".into()), CreateError::Refused(_)));
    assert!(matches!(refused(path("no directory/x")), CreateError::Refused(_)));
    let long = refused(path(&"x".repeat(220)));
    assert!(long.to_string().contains("longer than 213 bytes"), "{long}");
    let twice = back_up(&[&data], &options(&[path("a"), dir.path().join(".").join("a")])).unwrap_err();
    assert!(matches!(twice, CreateError::SameTarget { .. }), "{twice}");
    assert_eq!(names_in(dir.path()), before);
    assert_eq!(fs::read(path("last week")).unwrap(), b"precious");
}

/// What reads fails in the middle: of the stripes nothing is left, not under any name.
struct Fails(u32);

impl Read for Fails {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::other("the tape tore"))?;
        buffer.fill(7);
        Ok(buffer.len())
    }
}

fn back_up_stream(
    stream: Box<dyn Read + Send>,
    options: &CreateOptions,
    progress: &Progress,
) -> Result<Made, CreateError> {
    let request = SourceRequest::Stream { named: "-".to_owned(), stream };
    create(options, prepare(vec![request], &options.targets, progress)?, progress)
}

#[test]
fn a_backup_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let targets = ["a", "b"].map(|name| dir.path().join(name));
    let error = back_up_stream(Box::new(Fails(20)), &options(&targets), &Progress::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read stdin: the tape tore");
    assert!(names_in(dir.path()).is_empty(), "{:?}", names_in(dir.path()));
}

/// Ctrl-C also ends the producer, whose stream then looks complete.
struct EndsWithACancel(u32, Arc<AtomicBool>);

impl Read for EndsWithACancel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            self.1.store(true, Ordering::Relaxed);
            return Ok(0);
        }
        self.0 -= 1;
        buffer.fill(7);
        Ok(buffer.len())
    }
}

#[test]
fn a_cancelled_backup_leaves_nothing_and_is_not_taken_for_a_short_one() {
    let dir = tempfile::tempdir().unwrap();
    let targets = ["a", "b"].map(|name| dir.path().join(name));
    let cancel = Arc::new(AtomicBool::new(false));
    let stream = Box::new(EndsWithACancel(9, Arc::clone(&cancel)));
    let error = back_up_stream(stream, &options(&targets), &Progress::new(cancel)).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert!(names_in(dir.path()).is_empty());
}

/// Somebody made a file of that name while the backup ran for hours.
struct MakesTheTarget(u32, PathBuf);

impl Read for MakesTheTarget {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            fs::write(&self.1, b"theirs")?;
            return Ok(0);
        }
        self.0 -= 1;
        buffer.fill(7);
        Ok(buffer.len())
    }
}

#[test]
fn a_name_that_was_taken_meanwhile_is_not_replaced_and_no_stripe_stays() {
    let dir = tempfile::tempdir().unwrap();
    let targets = ["a", "b"].map(|name| dir.path().join(name));
    let stream = Box::new(MakesTheTarget(9, targets[1].clone()));
    let error = back_up_stream(stream, &options(&targets), &Progress::default()).unwrap_err();
    assert!(matches!(&error, CreateError::Exists { path, .. } if *path == targets[1]), "{error}");
    assert_eq!(names_in(dir.path()), ["b"], "the first stripe had its name already");
    assert_eq!(fs::read(&targets[1]).unwrap(), b"theirs");
}

/// Killed backups left hundreds of gigabytes under hidden names, and the next one had no room.
#[test]
fn what_a_killed_backup_left_is_removed_and_what_a_running_one_has_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let data = data(dir.path());
    let set = "0123456789abcdef0123456789abcdef";
    let left = |name: &str| dir.path().join(format!(".{name}.{set}.partial"));
    fs::write(left("new.iob"), [&b"IOSTRIPE"[..], &[0; 10_000]].concat()).unwrap();
    fs::write(left("other.iob"), b"IOSTRIPE").unwrap();
    fs::write(dir.path().join(format!(".new.iob.{}.partial", "1".repeat(32))), b"not a stripe").unwrap();
    fs::write(dir.path().join(format!(".new.iob.{}.partial", "2".repeat(31))), b"IOSTRIPE").unwrap();
    let running = dir.path().join(format!(".new.iob.{}.partial", "3".repeat(32)));
    fs::write(&running, b"IOSTRIPE").unwrap();
    let held = fs::File::open(&running).unwrap();
    held.try_lock().unwrap();
    let count = names_in(dir.path()).len();
    let made = back_up(&[&data], &options(&[dir.path().join("new.iob")])).unwrap();
    assert!(made.removed_bytes >= 8192, "{}", made.removed_bytes);
    assert!(!left("new.iob").exists());
    // The stripe and its manifest came, and one file went.
    assert_eq!(names_in(dir.path()).len(), count + 1);
    // A stripe without a manifest has a hint of its own.
    fs::remove_file(made.manifest_path.unwrap()).unwrap();
    let error = back_up(&[&data], &options(&[dir.path().join("new.iob")])).unwrap_err();
    assert!(error.hint().unwrap().contains("backup rebuild"), "{error}");
}
