//! Restores onto disks that become full on the way.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use super::attacks::words_of;
use super::create::{names, shelves};
use crate::copy::content;
use crate::copy_media::Volume;
use crate::support::Workspace;

const MIB: usize = 1 << 20;

/// The story: something else filled the disk at two in the morning. The restore said "error 28", and left 1.9 TB under a name
/// that nobody knew.
#[test]
fn a_disk_that_becomes_full_in_a_large_file_is_said_and_nothing_is_left_and_the_same_line_goes_on() {
    let here = Workspace::new();
    shelves(&here);
    let Some(volume) = Volume::new(&here, "ext4", 512, 48) else { return };
    // A hole at the beginning: nothing is reserved, and each write takes what it needs.
    let data = File::create(here.path("data")).unwrap();
    data.write_all_at(&content(24 * MIB), MIB as u64).unwrap();
    here.run(&["backup", "create", "--compress", "none", "--to", "b1/s.iob", "data"]).expect_status(0);
    for is_in_directory in [false, true] {
        let to = volume.mounted_at.join(if is_in_directory { "there/new" } else { "new" });
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let before = names(to.parent().unwrap());
        let restore = ["backup", "restore", "b1/s.iob", "--to", to.to_str().unwrap()];
        let slow = [&restore[..], &["--limit", "4MB/s", "--stats", "10", "--json", "r.json"]].concat();
        let mut running = here.start(&slow);
        running.wait_for("percent processed");
        let filler = volume.mounted_at.join("filler");
        let mut open = File::create(&filler).unwrap();
        let ended = std::io::copy(&mut std::io::repeat(7), &mut open);
        assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        let ran = running.ended().expect_status(2);
        let said = words_of(&ran);
        assert!(said.contains("writing data: No space left on device"), "{said}");
        assert!(
            said.contains("hint: free space there") && said.contains("nothing of this restore was left"),
            "{said}"
        );
        drop(open);
        fs::remove_file(&filler).unwrap();
        assert_eq!(names(to.parent().unwrap()), before);
        let run = here.json("r.json")["restore"].take();
        assert!(run["is_whole"] == false && run.get("left").is_none(), "{run}");
        here.run(&restore).expect_status(0);
        assert_eq!(fs::read(&to).unwrap(), fs::read(here.path("data")).unwrap());
        fs::remove_file(&to).unwrap();
    }
}

/// Small files take more room than they have bytes, and a file system has only so many: what is known before says that they fit.
#[test]
fn a_disk_that_small_files_fill_is_said_and_nothing_is_left() {
    let here = Workspace::new();
    shelves(&here);
    let Some(volume) = Volume::new(&here, "ext4", 512, 16) else { return };
    fs::create_dir(here.path("many")).unwrap();
    for number in 0..6_000 {
        fs::write(here.path(&format!("many/{number}")), [7; 20]).unwrap();
    }
    here.run(&["backup", "create", "--to", "b1/s.iob", "many"]).expect_status(0);
    // A new name, and an empty directory.
    fs::create_dir(volume.mounted_at.join("empty")).unwrap();
    for to in ["new", "empty"] {
        let to = volume.mounted_at.join(to);
        let ran = here.run(&["backup", "restore", "b1/s.iob", "--to", to.to_str().unwrap()]).expect_status(2);
        let said = words_of(&ran);
        assert!(said.contains("writing ") && said.contains("No space left on device"), "{said}");
        assert!(said.contains("hint: free space there"), "{said}");
        assert_eq!(names(&volume.mounted_at), ["empty", "lost+found"]);
        assert_eq!(names(&volume.mounted_at.join("empty")), [""; 0]);
    }
}
