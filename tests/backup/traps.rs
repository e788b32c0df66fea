//! What trees hold besides plain files, and disks that are too small.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use super::attacks::words_of;
use super::create::{names, shelves};
use crate::copy::content;
use crate::copy_media::Volume;
use crate::support::{Workspace, skip};

/// Runs a script of Python on `path`; `None` if it fails there, or there is no Python.
fn python(script: &str, path: &Path) -> Option<String> {
    let output = Command::new("python3").args(["-c", script]).arg(path).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Gives a file a note, and a guest (user 4242) the right to read it.
const SET: &str = "import os, struct, sys\n\
    path = sys.argv[1]\n\
    os.setxattr(path, 'user.note', b'\\x00kept\\xff')\n\
    nobody = 0xffffffff\n\
    entries = [(1, 6, nobody), (2, 4, 4242), (4, 0, nobody), (0x10, 4, nobody), (0x20, 0, nobody)]\n\
    acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)\n\
    os.setxattr(path, 'system.posix_acl_access', acl)\n";
const GET: &str = "import os, sys\n\
    path = sys.argv[1]\n\
    print({name: os.getxattr(path, name) for name in sorted(os.listxattr(path)) if not name.startswith('security.')})\n";

/// The story: a file that only two accounts may read came back readable by its group, and without its attributes.
#[test]
fn extended_attributes_and_access_lists_of_files_and_directories_come_back() {
    let here = Workspace::new();
    shelves(&here);
    fs::create_dir_all(here.path("shop/dir")).unwrap();
    fs::write(here.path("shop/dir/small"), "small").unwrap();
    fs::write(here.path("shop/large"), content(2_000_000)).unwrap();
    fs::write(here.path("shop/plain"), "plain").unwrap();
    let marked = ["shop/dir", "shop/dir/small", "shop/large"];
    for name in marked {
        if python(SET, &here.path(name)).is_none() {
            return skip(
                "extended attributes in a backup",
                "this file system has none, or python3 is missing",
            );
        }
    }
    // The mode of a file with an access list is its mask.
    fs::set_permissions(here.path("shop/large"), fs::Permissions::from_mode(0o640)).unwrap();
    here.run(&["backup", "create", "--to", "b1/s.iob", "shop"]).expect_status(0);
    // What a directory hands down lets nobody in whom the backup does not.
    fs::create_dir(here.path("into")).unwrap();
    let hand_down = SET.replace("acl_access", "acl_default");
    assert!(python(&hand_down, &here.path("into")).is_some());
    for to in ["restored", "into/restored"] {
        let ran = here.run(&["backup", "restore", "b1/s.iob", "--to", to]).expect_status(0);
        assert!(!words_of(&ran).contains("could not restore"), "{}{}", ran.stdout, ran.stderr);
        for name in marked.iter().chain(&["shop/plain", "shop"]) {
            let restored = here.path(&name.replacen("shop", to, 1));
            assert_eq!(python(GET, &here.path(name)), python(GET, &restored), "{}", restored.display());
            let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
            assert_eq!(mode(&here.path(name)), mode(&restored), "{}", restored.display());
        }
    }
}

/// Attributes that would not fit into an entry are not dropped in silence.
#[test]
fn attributes_that_are_not_kept_are_counted_when_the_backup_is_made() {
    let here = Workspace::new();
    shelves(&here);
    let Some(volume) = Volume::new(&here, "xfs", 512, 400) else { return };
    let shop = volume.mounted_at.join("shop");
    fs::create_dir(&shop).unwrap();
    for name in ["one", "two", "three"] {
        fs::write(shop.join(name), name).unwrap();
    }
    let long = "import os, sys\nos.setxattr(sys.argv[1], 'user.note', os.urandom(60000))\n";
    for name in ["one", "two"] {
        if python(long, &shop.join(name)).is_none() {
            return skip(
                "long extended attributes in a backup",
                "this file system has none, or python3 is missing",
            );
        }
    }
    let ran = here.run(&["backup", "create", "--to", "b1/s.iob", shop.to_str().unwrap()]).expect_status(0);
    let said = words_of(&ran);
    assert!(said.contains("access control lists of 2 files are not kept"), "{said}");
    here.run(&["backup", "verify", "b1/s.iob"]).expect_status(0);
    here.run(&["backup", "restore", "b1/s.iob", "--to", "restored"]).expect_status(0);
    assert_eq!(fs::read(here.path("restored/one")).unwrap(), b"one");
}

#[test]
fn links_holes_names_and_modes_come_back_and_what_has_no_content_is_counted() {
    let here = Workspace::new();
    shelves(&here);
    let shop = here.path("shop");
    fs::create_dir_all(shop.join("dir/empty")).unwrap();
    fs::write(shop.join("dir/first"), content(300_000)).unwrap();
    fs::hard_link(shop.join("dir/first"), shop.join("second")).unwrap();
    fs::write(shop.join("tiny"), "tiny").unwrap();
    fs::hard_link(shop.join("tiny"), shop.join("dir/tiny too")).unwrap();
    symlink("../dir/first", shop.join("dir/link")).unwrap();
    symlink("/nowhere/at all", shop.join("dangling")).unwrap();
    let sparse = File::create(shop.join("sparse")).unwrap();
    sparse.set_len(64 << 20).unwrap();
    sparse.write_all_at(&content(5_000), 40 << 20).unwrap();
    for name in [&b"new\nline"[..], b"no \xff text", b"-rf", b"tab\tand \x1b[2J", "\u{e4}".as_bytes()] {
        fs::write(shop.join(OsStr::from_bytes(name)), name).unwrap();
    }
    fs::set_permissions(shop.join("tiny"), fs::Permissions::from_mode(0o4751)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(shop.join("socket")).unwrap();
    let made =
        here.shell("mkfifo shop/fifo && { mknod shop/null c 1 3 2>/dev/null || mkfifo shop/null; }").status();
    assert!(made.unwrap().success());
    let ran =
        here.run(&["backup", "create", "--to", "b1/s.iob", "--to", "b2/s.iob", "shop"]).expect_status(0);
    assert!(
        words_of(&ran).contains("left out 3 pipes, sockets or device nodes"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
    here.run(&["backup", "verify", "b1/s.iob", "b2/s.iob"]).expect_status(0);
    here.run(&["backup", "restore", "b1/s.iob", "b2/s.iob", "--to", "r"]).expect_status(0);
    for name in ["socket", "fifo", "null"] {
        assert!(!here.path("r").join(name).exists());
        fs::remove_file(shop.join(name)).unwrap();
    }
    here.run(&["verify", "shop", "r"]).expect_status(0);
    let inode = |path: &str| fs::metadata(here.path("r").join(path)).unwrap().ino();
    assert_eq!(inode("dir/first"), inode("second"));
    assert_eq!(inode("tiny"), inode("dir/tiny too"));
    assert_eq!(fs::read_link(here.path("r/dangling")).unwrap(), Path::new("/nowhere/at all"));
    let restored = fs::metadata(here.path("r/sparse")).unwrap();
    assert!(restored.blocks() * 512 < 4 << 20, "{} blocks", restored.blocks());
    assert_eq!(fs::metadata(here.path("r/tiny")).unwrap().mode() & 0o7777, 0o4751);
    assert_eq!(fs::read(here.path("r").join(OsStr::from_bytes(b"no \xff text"))).unwrap(), b"no \xff text");
    assert!(!fs::symlink_metadata(here.path("r/dir/link")).unwrap().file_type().is_fifo());
}

/// The story: at four in the morning the restore of 2 TB ended at 98 %, with a full disk.
#[test]
fn a_restore_that_cannot_fit_says_so_before_it_begins() {
    let here = Workspace::new();
    shelves(&here);
    let Some(volume) = Volume::new(&here, "ext4", 512, 24) else { return };
    // It shrinks a thousandfold in the backup, and not on the disk.
    fs::write(here.path("data"), b"row after row; \n".repeat(40 << 16)).unwrap();
    here.run(&["backup", "create", "--to", "b1/s.iob", "data"]).expect_status(0);
    let to = volume.mounted_at.join("data");
    let restore = ["backup", "restore", "b1/s.iob", "--to", to.to_str().unwrap()];
    let ran = here.run(&restore).expect_status(2);
    let said = words_of(&ran);
    assert!(said.contains(" MiB free, and the restore needs 40 MiB"), "{said}");
    assert!(said.contains("hint: free space there"), "{said}");
    assert_eq!(names(&volume.mounted_at), ["lost+found"]);
}

/// Uncompressed stripes take what the source has; compressed ones may fit, which nobody can know before.
#[test]
fn a_backup_that_cannot_fit_says_so_before_it_begins_and_one_that_may_not_is_warned_of() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 24) else { return };
    fs::write(here.path("data"), b"row after row; \n".repeat(40 << 16)).unwrap();
    let stripe = volume.mounted_at.join("a.iob");
    let line = ["backup", "create", "--to", stripe.to_str().unwrap()];
    let ran = here.run(&[&line[..], &["--compress", "none", "data"]].concat()).expect_status(2);
    let said = words_of(&ran);
    assert!(
        said.contains(" MiB free, and without compression its part of the backup takes 40 MiB"),
        "{said}"
    );
    assert_eq!(names(&volume.mounted_at), ["lost+found"]);
    let ran = here.run(&[&line[..], &["data"]].concat()).expect_status(0);
    assert!(ran.stderr.contains("this backup may not fit: "), "{}", ran.stderr);
    assert_eq!(names(&volume.mounted_at), ["a.iob", "a.iob.manifest", "lost+found"]);
}
