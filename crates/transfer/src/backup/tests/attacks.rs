//! Sets that were made to do harm, with every checksum right.

use std::fs;
use std::os::unix::fs::symlink;

use iostall_model::backup::FileKind;

use super::writer::{Made, entry};
use super::*;
use crate::backup::format::{FrameKind, IndexRecord};

/// What a set with one more entry does.
fn with(name: &str, kind: FileKind, content: &[u8]) -> (tempfile::TempDir, Result<Restored, RestoreError>) {
    let directory = tempfile::tempdir().unwrap();
    let mut made = Made::tree(2);
    made.entries.push(entry(100, name, kind, content));
    let on_disk = made.write(directory.path());
    let done = restored(on_disk.named(), &directory.path().join("to"), None);
    if done.is_err() {
        assert_nothing(directory.path(), &on_disk);
        assert!(!damage(&[on_disk.manifest], None, false).is_empty(), "a check says it too");
    }
    (directory, done)
}

#[test]
fn no_name_leads_out_of_the_destination() {
    for name in [
        "../out",
        "/out",
        "base/../../out",
        "base//x",
        "./x",
        "base/.",
        "..",
        "x\0y",
        "base/small/x",
        "link/x",
    ] {
        let (directory, done) = with(name, FileKind::File, b"harm");
        assert!(matches!(done, Err(RestoreError::UnsafeName { .. })), "{name:?}");
        assert!(!directory.path().join("out").exists());
    }
    for to in ["/etc/passwd", "../stripe", "link", "nothing"] {
        let (_directory, done) = with("x", FileKind::HardLink { to: to.into() }, &[]);
        assert!(matches!(done, Err(RestoreError::UnsafeName { .. })), "{to:?}");
    }
    let (_directory, done) = with("base/small", FileKind::File, b"twice");
    assert!(matches!(done, Err(RestoreError::UnsafeName { .. })));
    let deep = "d/".repeat(300) + "x";
    assert!(matches!(with(&deep, FileKind::File, b"x").1, Err(RestoreError::UnsafeName { .. })));
}

/// A link of the set may lead anywhere, as it did where it was backed up; but nothing is written through it.
#[test]
fn a_link_of_the_set_is_made_and_not_followed() {
    let (directory, done) = with("etc", FileKind::Symlink { to: "/etc".into() }, &[]);
    done.unwrap();
    let link = directory.path().join("to/etc");
    assert_eq!(fs::read_link(link).unwrap(), Path::new("/etc"));
}

/// The temporary name may have been planted in a directory that others can write to.
#[test]
fn a_link_in_the_way_is_refused_and_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = Made::tree(2).write(directory.path());
    let victim = tempfile::tempdir().unwrap();
    fs::write(victim.path().join("precious"), "precious").unwrap();
    let to = directory.path().join("to");
    let temporary = crate::copy::beside::restore_path(&to);
    symlink(victim.path(), &temporary).unwrap();
    let error = restored(&[on_disk.manifest], &to, None).unwrap_err();
    assert!(matches!(error, RestoreError::InTheWay { .. }), "{error}");
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1);
    fs::remove_file(temporary).unwrap();
}

/// 2^62 bytes of which none is there take no time and no memory, and fail where the file system says so.
#[test]
fn a_file_of_any_size_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut made = Made::tree(1);
    made.entries[5].0.size_bytes = 1 << 62;
    let on_disk = made.write(directory.path());
    let error = restored(&[on_disk.manifest], &directory.path().join("to"), None).unwrap_err();
    assert!(matches!(error, RestoreError::Writing { .. }), "{error}");
}

/// A reader makes room and looks for frames by what an index says.
#[test]
fn an_index_cannot_ask_for_more_than_a_frame_or_lead_in_circles() {
    let changes: [fn(&mut IndexRecord); 7] = [
        |record| record.stored_length = u32::MAX,
        |record| record.plain_length = u32::MAX,
        |record| record.plain_length = 0,
        |record| record.stored_length += 4096,
        |record| record.position = 4096,
        |record| record.position = u64::MAX - 4095,
        |record| record.position += 1,
    ];
    for change in changes {
        let directory = tempfile::tempdir().unwrap();
        let made = Made { change_index: Some(change), ..Made::tree(2) };
        let on_disk = made.write(directory.path());
        assert!(!damage(on_disk.named(), None, false).is_empty());
        let error = restored(on_disk.named(), &directory.path().join("to"), None).unwrap_err();
        assert!(!error.damage().is_empty(), "{error}");
        assert_nothing(directory.path(), &on_disk);
    }
    // What it says of the content is compared with the frame itself.
    let changes: [fn(&mut IndexRecord); 4] = [
        |record| record.file = 4,
        |record| record.offset += 65_536,
        |record| record.sequence += 1,
        |record| record.kind = FrameKind::Bundle,
    ];
    for change in changes {
        let directory = tempfile::tempdir().unwrap();
        let made = Made { change_index: Some(change), ..Made::tree(1) };
        let on_disk = made.write(directory.path());
        assert!(!damage(on_disk.named(), None, false).is_empty());
        let error = restored(on_disk.named(), &directory.path().join("to"), None).unwrap_err();
        assert!(!error.damage().is_empty(), "{error}");
        assert_nothing(directory.path(), &on_disk);
    }
}
