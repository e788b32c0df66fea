//! Images restored onto block devices.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use super::attacks::words_of;
use super::create::shelves;
use crate::copy::content;
use crate::devices::{LoopDevice, Mount};
use crate::support::Workspace;

const WHAT: &str = "restoring an image onto a device";
const SIZE: usize = 8 << 20;

/// The story: the disk of a server died. Its image was in a backup, and could only be restored as a file.
#[test]
fn an_image_goes_onto_the_device_that_the_user_named_and_never_onto_another() {
    let (here, beside) = (Workspace::new(), Workspace::new());
    shelves(&here);
    let Some(source) = LoopDevice::new(&here, WHAT, 8) else { return };
    let Some(target) = LoopDevice::new(&beside, WHAT, 8) else { return };
    let image = content(SIZE);
    fs::write(source.name(), &image).unwrap();
    here.run(&["backup", "create", "--to", "b1/disk.iob", "--to", "b2/disk.iob", source.name()])
        .expect_status(0);
    let to = target.name();
    let restore = ["backup", "restore", "b1/disk.iob", "b2/disk.iob", "--to", to];
    for flags in [&[][..], &["--overwrite", source.name()], &["--destroy-database", to]] {
        let ran = here.run(&[&restore[..], flags].concat()).expect_status(2);
        assert!(ran.stderr.contains(&format!("--overwrite {to}")), "{flags:?}: {}", ran.stderr);
        assert!(fs::read(to).unwrap().iter().all(|byte| *byte == 0), "{flags:?}: it was written");
    }
    let named = [&restore[..], &["--overwrite", to]].concat();
    let ran = here.run(&named).expect_status(0);
    assert!(words_of(&ran).contains(&format!("{to} is whole and durable")), "{}", ran.stdout);
    assert!(fs::read(to).unwrap() == image);

    // A device with a file system on it needs the flag that says so, and a mounted one is never written.
    target.format();
    let before = fs::read(to).unwrap();
    let ran = here.run(&named).expect_status(2);
    assert!(ran.stderr.contains("--destroy "), "{}", ran.stderr);
    assert!(fs::read(to).unwrap() == before);
    if let Some(mount) = Mount::new(&target, &here.path("mounted")) {
        let ran = here.run(&[&restore[..], &["--destroy", to]].concat()).expect_status(2);
        assert!(ran.stderr.contains("is mounted on"), "{}", ran.stderr);
        drop(mount);
    }
    here.run(&[&restore[..], &["--destroy", to]].concat()).expect_status(0);
    assert!(fs::read(to).unwrap() == image);
}

/// A hole is zeros: what was on the device before must not show through it. Behind the image the device keeps what it has.
#[test]
fn a_sparse_image_with_an_odd_length_replaces_what_was_on_the_device() {
    let here = Workspace::new();
    shelves(&here);
    let Some(target) = LoopDevice::new(&here, WHAT, 8) else { return };
    let length = 5_000_001;
    let sparse = File::create(here.path("disk.img")).unwrap();
    sparse.write_all_at(&content(700_001), 300_000).unwrap();
    sparse.set_len(length).unwrap();
    here.run(&["backup", "create", "--to", "b1/disk.iob", "disk.img"]).expect_status(0);
    fs::write(target.name(), content(SIZE)).unwrap();
    let restore = ["backup", "restore", "b1/disk.iob", "--to", target.name(), "--overwrite", target.name()];
    here.run(&restore).expect_status(0);
    let (found, length) = (fs::read(target.name()).unwrap(), usize::try_from(length).unwrap());
    assert!(found[..length] == fs::read(here.path("disk.img")).unwrap()[..]);
    let rest = length.next_multiple_of(4096);
    assert!(found[rest..] == content(SIZE)[rest..], "more was written than the image has");
}

#[test]
fn what_does_not_fit_onto_a_device_is_refused_before_the_first_byte() {
    let here = Workspace::new();
    shelves(&here);
    let Some(target) = LoopDevice::new(&here, WHAT, 1) else { return };
    fs::create_dir(here.path("shop")).unwrap();
    fs::write(here.path("shop/large"), content(2 << 20)).unwrap();
    fs::write(here.path("shop/small"), content(4096)).unwrap();
    here.run(&["backup", "create", "--to", "b1/shop.iob", "shop"]).expect_status(0);
    let to = target.name();
    let restore = ["backup", "restore", "b1/shop.iob", "--to", to, "--overwrite", to];
    for (only, words) in [
        (&[][..], "which takes one file"),
        (&["--only", "large"][..], "the image has 2097152 bytes, and the device"),
    ] {
        let ran = here.run(&[&restore[..], only].concat()).expect_status(2);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(fs::read(to).unwrap().iter().all(|byte| *byte == 0));
    }
    here.run(&[&restore[..], &["--only", "small"]].concat()).expect_status(0);
    assert!(fs::read(to).unwrap()[..4096] == content(4096)[..]);
}
