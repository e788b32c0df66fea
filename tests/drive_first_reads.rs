//! `iostall drive limits --first-reads` and `--read-all`: a volume that is filled from its snapshot, as a block device, and every block
//! of a device read once.

use std::collections::HashSet;
use std::fs;

use iostall_engine::sim::{Arrival, DeviceModel};

use crate::devices::LoopDevice;
use crate::rig::{Medium, Personality, Rig};
use crate::support::Workspace;

const PIECE: u64 = 512 << 10;
const FIRST_NS: u64 = 10_000_000;
const AGAIN_NS: u64 = 100_000;

/// The first read of a piece takes as long as fetching it from far away.
#[derive(Debug, Default)]
struct Filled(HashSet<u64>);

impl DeviceModel for Filled {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        // A request may be as long as two of them.
        let last = arrival.offset + u64::from(arrival.length.max(1)) - 1;
        let pieces = arrival.offset / PIECE..=last / PIECE;
        let is_first = arrival.length > 0 && pieces.filter(|piece| self.0.insert(*piece)).count() > 0;
        arrival.now_ns + if is_first { FIRST_NS } else { AGAIN_NS }
    }
}

fn volume(here: &Workspace, model: Option<Box<dyn DeviceModel>>) -> Option<Rig> {
    Rig::new(here, "a volume filled from its snapshot", Medium::new(Personality::Uncached, 1 << 30, 1), model)
}

#[test]
fn a_volume_that_is_filled_from_its_snapshot_is_named_and_read_all_fills_it() {
    let here = Workspace::new();
    let Some(rig) = volume(&here, Some(Box::new(Filled::default()))) else { return };
    let asked = ["drive", "limits", "--first-reads", "--json", "o.json", "--html", "o.html", rig.name()];
    let ran = here.run(&asked).expect_status(0);
    let found = here.json("o.json")["summary"]["first_reads"].clone();
    assert_eq!(found["state"], "filling", "{found}\n{}", ran.stdout);
    assert!(found["times"].as_f64().unwrap() > 3.0, "{found}");
    assert!(ran.stdout.contains("still being filled") && ran.stdout.contains("--read-all"), "{}", ran.stdout);
    assert!(fs::read_to_string(here.path("o.html")).unwrap().contains("still being filled"));
    let all = ["drive", "limits", "--read-all", "--json", "o.json", rig.name()];
    let ran = here.run(&all).expect_status(0);
    let read = here.json("o.json")["summary"]["read_all"].clone();
    assert_eq!((&read["is_whole"], &read["to_bytes"]), (&true.into(), &(1_u64 << 30).into()), "{read}");
    assert!(ran.stdout.contains("every block was read"), "{}", ran.stdout);
    let again = here.run(&asked).expect_status(0);
    assert_eq!(here.json("o.json")["summary"]["first_reads"]["state"], "fast", "{}", again.stdout);
}

#[test]
fn a_reading_of_every_block_goes_on_where_it_was_interrupted() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "reading every block of a device", 64) else { return };
    let words = ["drive", "limits", "--read-all", "--json", "o.json", device.name()];
    let nothing = here.run(&[&words[..], &["--resume"]].concat()).expect_status(2);
    assert!(nothing.stderr.contains("no interrupted reading"), "{}", nothing.stderr);
    // It counts on when another file is attached.
    let stat = format!("/sys/block/{}/stat", device.name().trim_start_matches("/dev/"));
    let sectors = || -> u64 {
        let stat = fs::read_to_string(&stat).unwrap();
        stat.split_whitespace().nth(2).and_then(|sectors| sectors.parse().ok()).unwrap_or(0)
    };
    let before = sectors();
    let mut slow = here.start(&[&words[..], &["--limit", "16MB/s"]].concat());
    slow.wait_until("8 MiB that were read", |_| sectors() > before + (16 << 10));
    slow.signal("INT");
    let ran = slow.ended().expect_status(130);
    assert!(ran.stdout.contains("--resume"), "{}", ran.stdout);
    let to = here.json("o.json")["summary"]["read_all"]["to_bytes"].as_u64().unwrap();
    assert!((1 << 20..64 << 20).contains(&to), "{to}");
    let ran = here.run(&[&words[..], &["--resume"]].concat()).expect_status(0);
    let run = here.json("o.json");
    assert_eq!(run["limits"]["read_all"]["from_bytes"], to, "{}", ran.stdout);
    assert_eq!(run["summary"]["read_all"]["is_whole"], true);
    assert_eq!(run["summary"]["moved_bytes"], (64 << 20) - to);
    let whole = here.run(&[&words[..], &["--resume"]].concat()).expect_status(2);
    assert!(whole.stderr.contains("is complete"), "{}", whole.stderr);
    // Nothing was written, and what is not there is not made.
    here.run(&["drive", "limits", "--read-all", "nowhere.dat"]).expect_status(2);
    assert!(!here.path("nowhere.dat").exists());
}
