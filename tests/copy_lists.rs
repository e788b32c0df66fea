//! The manifest of a copy: names and checksums, and what happens to an existing manifest.

use std::fs;
use std::process::Command;

use iostall_transfer::copy::part_path;

use crate::copy::{content, names};
use crate::support::{Workspace, skip};

/// `--manifest x.md5` wrote XXH3 sums, which have the same length, and `md5sum -c` reported every file as
/// different.
#[test]
fn the_name_of_a_list_chooses_its_checksum() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(2_345_678)).unwrap();
    for (list, tool) in [("x.md5", "md5sum"), ("x.sha256", "sha256sum"), ("MD5SUMS", "md5sum")] {
        here.run(&["copy", "--overwrite", "--manifest", list, "from", "to"]).expect_status(0);
        here.run(&["verify", list]).expect_status(0);
        match Command::new(tool).arg("-c").arg(list).current_dir(here.path(".")).output() {
            Ok(checked) => assert!(checked.status.success(), "{list}: {checked:?}"),
            Err(error) => skip(tool, &error.to_string()),
        }
    }
    here.run(&["copy", "--overwrite", "--hash", "md5", "--manifest", "x.md5", "from", "to"]).expect_status(0);
    fs::remove_file(here.path("to")).unwrap();
    for words in [&["--hash", "xxh3", "--manifest", "x.md5"][..], &["--manifest", "x.sha1"]] {
        let ran = here.run(&[&["copy"], words, &["from", "to"]].concat()).expect_status(2);
        assert!(ran.stderr.contains("its name says") && ran.stderr.contains("hint:"), "{}", ran.stderr);
        assert!(!here.path("to").exists(), "nothing is copied before");
    }
}

/// An interrupted copy replaced last week's complete manifest by a partial one, which then verified.
#[test]
fn the_list_of_an_unfinished_copy_leaves_the_whole_one_as_it_is() {
    for list in ["list.md5", "list.json"] {
        let here = Workspace::new();
        fs::create_dir(here.path("src")).unwrap();
        for (name, size) in [("a", 1000), ("b", 2000), ("large", 3_000_000)] {
            fs::write(here.path("src").join(name), content(size)).unwrap();
        }
        here.run(&["copy", "--no-store", "--manifest", list, "src", "last-week"]).expect_status(0);
        let whole = fs::read(here.path(list)).unwrap();

        let words = ["--limit", "200KB/s", "--reflink", "never", "--manifest", list, "src", "to"];
        let mut copy = here.start(&[&["copy", "--no-store"], &words[..]].concat());
        let part = part_path(&here.path("to/large"));
        copy.wait_until("the large file", |_| part.exists());
        copy.signal("INT");
        let ran = copy.ended().expect_status(130);
        assert_eq!(fs::read(here.path(list)).unwrap(), whole, "{list}");
        let partial = format!("{list}.partial");
        assert!(ran.stdout.contains(&partial), "{}", ran.stdout);
        let ran = here.run(&["verify", "--no-store", &partial]).expect_status(1);
        assert!(ran.stdout.contains("incomplete copy"), "{}", ran.stdout);
        here.run(&["verify", "--no-store", list]).expect_status(0);

        here.run(&["copy", "--no-store", "--manifest", list, "src", "to"]).expect_status(0);
        assert_eq!(names(&here.path(".")), ["last-week", list, "src", "to"], "the partial one is done with");
        let text = fs::read_to_string(here.path(list)).unwrap();
        assert!(["to/a", "to/b", "to/large"].iter().all(|name| text.contains(name)), "{text}");
    }
}
