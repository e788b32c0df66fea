use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use super::*;

const SMALL: Input = Input { what: "profile", limit: ByteCount(1000) };

fn written(bytes: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, vec![b'x'; bytes]).unwrap();
    (directory, path)
}

fn pipe() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    (directory, path)
}

#[test]
fn a_file_is_read_up_to_the_limit_and_not_beyond() {
    let (_directory, path) = written(1000);
    assert_eq!(SMALL.text(&path).unwrap().len(), 1000);
    let (_directory, path) = written(1001);
    let error = SMALL.read(&path).unwrap_err();
    assert!(error.to_string().contains("is larger than 1000 B"), "{error}");
}

/// `diskspd -X/dev/zero` read until the machine had no memory left.
#[test]
fn a_device_is_not_read() {
    for device in ["/dev/zero", "/dev/urandom", "/dev/null"] {
        let error = SMALL.read(Path::new(device)).unwrap_err();
        assert!(matches!(error, InputError::Device { .. }), "{error}");
    }
}

/// A file of the kernel has no size, and its content may have no end.
#[test]
fn a_file_that_does_not_know_its_size_is_bounded_as_it_is_read() {
    let error = SMALL.read(Path::new("/proc/self/smaps")).unwrap_err();
    assert!(matches!(error, InputError::TooLong { .. }), "{error}");
}

#[test]
fn a_pipe_is_waited_for_read_to_its_end_and_bounded() {
    let (_directory, path) = pipe();
    let writer = path.clone();
    let thread = thread::spawn(move || fs::write(writer, "seed = 1"));
    assert_eq!(SMALL.text(&path).unwrap(), "seed = 1");
    thread.join().unwrap().unwrap();

    let (_directory, path) = pipe();
    let writer = path.clone();
    // The reader goes away before all is written.
    let thread = thread::spawn(move || drop(fs::write(writer, vec![b'x'; 1 << 20])));
    let error = SMALL.read(&path).unwrap_err();
    assert!(matches!(error, InputError::TooLong { .. }), "{error}");
    thread.join().unwrap();
}

#[test]
fn a_secret_that_others_can_read_is_refused() {
    let (_directory, path) = written(10);
    for (mode, is_taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o666, false)] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let read = SMALL.secret(&path);
        assert_eq!(read.is_ok(), is_taken, "{mode:o}: {read:?}");
        if let Err(error) = read {
            assert!(error.to_string().contains(&format!("{mode:04o}")), "{error}");
            assert!(error.hint().unwrap().contains("chmod 600"), "{error}");
        }
    }
}

#[test]
fn of_another_s_file_the_head_is_read_and_of_a_pipe_nothing() {
    let (_directory, path) = written(100);
    assert_eq!(head(&path, 8).unwrap(), b"xxxxxxxx");
    assert_eq!(head(&path, 1000).unwrap().len(), 100);
    let (_directory, path) = pipe();
    assert!(head(&path, 8).is_err());
    assert!(SMALL.read(Path::new("/")).unwrap_err().to_string().contains("directory"));
}
