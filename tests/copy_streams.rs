//! Standard input, standard output and devices as source or destination of a copy.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;

use crate::copy::{content, names};
use crate::devices::LoopDevice;
use crate::support::{Ran, Workspace, binary};

/// `pg_dump | iostall copy - FILE` made a directory entry of the name `-` of it, or failed to find one.
#[test]
fn standard_input_becomes_a_whole_file_or_none() {
    let here = Workspace::new();
    let data = content(5_000_001);
    fs::write(here.path("from"), &data).unwrap();
    let copied = |words: &str| {
        let script = format!("cat from | \"$0\" copy {words}");
        Ran::from(here.shell(&script).arg(binary()).output().unwrap())
    };
    copied("--verify --hash md5 --manifest list.md5 --json o.json - to").expect_status(0);
    assert!(fs::read(here.path("to")).unwrap() == data);
    assert_eq!(fs::metadata(here.path("to")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(here.json("o.json")["copy"]["verified_files"], 1);
    here.run(&["verify", "list.md5"]).expect_status(0);
    let ran = copied("- to").expect_status(2);
    assert!(ran.stderr.contains("exists"), "{}", ran.stderr);
    copied("--overwrite - to").expect_status(0);
    for words in ["- .", "- from to", "--move - new", "- no/such/dir/to"] {
        copied(words).expect_status(2);
    }
    copied("--dry-run - new").expect_status(0);
    let mut command = here.command(&["copy", "-", "empty"]);
    Ran::from(command.stdin(File::open("/dev/null").unwrap()).output().unwrap()).expect_status(0);
    assert_eq!(fs::read(here.path("empty")).unwrap(), b"");
    assert_eq!(names(&here.path(".")), ["empty", "from", "list.md5", "o.json", "to"]);
}

#[test]
fn a_file_goes_to_standard_output_and_nothing_else_does() {
    let here = Workspace::new();
    let data = content(3_000_000);
    fs::write(here.path("from"), &data).unwrap();
    let output = here.command(&["copy", "from", "-"]).output().unwrap();
    assert!(output.status.success() && output.stdout == data, "{}", String::from_utf8_lossy(&output.stderr));
    let appended =
        here.shell("\"$0\" copy from - > twice; \"$0\" copy from - >> twice").arg(binary()).status();
    assert!(appended.unwrap().success());
    assert!(fs::read(here.path("twice")).unwrap() == [data.clone(), data].concat());
    for words in [&["--verify"][..], &["--json", "-"], &["--move"], &["--mirror"]] {
        let ran = here.run(&[&["copy"], words, &["from", "-"]].concat()).expect_status(2);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    }
    here.run(&["copy", "absent", "-"]).expect_status(2);
    here.run(&["copy", ".", "-"]).expect_status(2);
}

/// "iostall copy --specials keep" was the advice, which would have made another device node.
#[test]
fn an_image_of_a_device_is_a_file_with_everything_on_it() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "an image of a device", 8) else { return };
    let data = content(8 << 20);
    fs::write(here.path("disk"), &data).unwrap();
    here.run(&["copy", "--to-device", device.name(), "disk", device.name()]).expect_status(0);
    here.run(&["copy", "--verify", "--json", "o.json", device.name(), "out"]).expect_status(0);
    assert!(fs::read(here.path("out")).unwrap() == data);
    let copy = &here.json("o.json")["copy"];
    assert_eq!((&copy["bytes"], &copy["verified_files"]), (&(8 << 20).into(), &1.into()));
    let ran = here.run(&["copy", device.name(), "out"]).expect_status(2);
    assert!(ran.stderr.contains("exists"), "{}", ran.stderr);
    here.run(&["copy", "--move", device.name(), "new"]).expect_status(2);
    assert!(!here.path("new").exists());
}
