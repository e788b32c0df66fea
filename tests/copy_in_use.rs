//! Sources that other processes write to during the copy.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use iostall_engine::files::{Writers, writers};

use crate::copy::content;
use crate::support::{Workspace, skip, until, warnings};

/// Writes byte after byte over a whole file, through a mapping whose descriptor is closed.
const WRITER: &str = "
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
size = os.fstat(file).st_size
mapping = mmap.mmap(file, size)
os.close(file)
mapping[:] = bytes(size)
# As a page that was dirty for an hour: the next write to it gives the file no other time.
os.utime(sys.argv[1], (1000000000, 1000000000))
open(sys.argv[2], 'w').close()
values = [bytes([value]) * size for value in range(256)]
while True:
    for value in values:
        mapping[:] = value
";

/// A writer, killed on drop.
struct Writer(Child);

impl Writer {
    fn start(here: &Workspace, name: &str) -> Option<Self> {
        let mut python = Command::new("python3");
        python.args(["-c", WRITER, name, "up"]).current_dir(here.path(".")).stdout(Stdio::null());
        match python.spawn() {
            Ok(child) => {
                let writer = Self(child);
                until("the writer", || here.path("up").exists().then_some(()));
                Some(writer)
            }
            Err(error) => {
                skip("writing through a mapping", &format!("python3: {error}"));
                None
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// When a database wrote to a small file through a mapping, the copy was half old and half new in 25 of 30
/// attempts, each with exit status 0: the page was already dirty, so the modification time did not change.
#[test]
fn a_small_file_that_is_written_to_through_a_mapping_is_never_copied_half_old_and_half_new() {
    let here = Workspace::new();
    fs::write(here.path("from"), vec![0; 300_000]).unwrap();
    let Some(_writer) = Writer::start(&here, "from") else { return };
    for round in 0..20 {
        let ran = here.run(&["copy", "--no-store", "--overwrite", "from", "to"]);
        if ran.status == Some(0) {
            let copied = fs::read(here.path("to")).unwrap();
            assert!(copied.iter().all(|byte| *byte == copied[0]), "round {round}: of two moments");
        } else {
            let ran = ran.expect_status(2);
            assert!(ran.stderr.contains("changed while it was copied"), "{}", ran.stderr);
        }
    }
}

/// A process that has the file open may write to it right after the check. The copy is consistent, but gets a
/// warning.
#[test]
fn sources_that_others_have_open_for_writing_are_copied_and_told() {
    let here = Workspace::new();
    fs::create_dir(here.path("src")).unwrap();
    let past = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let open = [("small", 1000), ("large", 3_000_000)].map(|(name, size)| {
        fs::write(here.path("src").join(name), content(size)).unwrap();
        let file = File::options().write(true).open(here.path("src").join(name)).unwrap();
        file.set_modified(past).unwrap();
        file
    });
    fs::write(here.path("src/quiet"), content(500)).unwrap();
    if writers(&File::open(here.path("src/small")).unwrap()) != Writers::Some {
        return skip("seeing who has a file open for writing", "this file system grants no leases");
    }
    here.run(&["copy", "--json", "o.json", "src", "to"]).expect_status(0);
    let run = here.json("o.json");
    assert_eq!(warnings(&run), ["source-in-use"]);
    let said = run["warnings"][0]["message"].as_str().unwrap();
    assert!(said.contains("and 1 more were open for writing") && !said.contains("quiet"), "{said}");
    drop(open);
    here.run(&["copy", "--overwrite", "--json", "o.json", "src/small", "again"]).expect_status(0);
    assert!(warnings(&here.json("o.json")).is_empty());
}
