//! `iostall drive plan`: the arithmetic of a build, and the checks of real stacks.

use std::process::Command;

use serde_json::Value;

use crate::copy_media::Volume;
use crate::support::{Workspace, counted, skip};

/// A server of hard disks: each volume on drives of its own, and drives that stand by.
#[test]
fn a_build_has_a_line_for_each_volume_and_every_figure_has_its_formula() {
    let here = Workspace::new();
    let volumes = ["--os", "100GB", "--data", "2TB,2000,30%", "--log", "200GB,60MB/s"];
    let more =
        ["--tempdb", "300GB,500,50%", "--backup", "4TB,200MB/s", "--drive-size", "1TB", "--price", "200"];
    let words = [&["drive", "plan"][..], &volumes, &more].concat();
    let text = here.run(&words).expect_status(0).stdout;
    let table: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().take(3).collect())
        .skip_while(|words: &Vec<&str>| words.first() != Some(&"os"))
        .take(7)
        .collect();
    let wanted = [
        ["os", "2", "1"],
        ["data", "20", "10"],
        ["log", "2", "1"],
        ["tempdb", "6", "10"],
        ["backup", "6", "6"],
        ["hot", "spare", "2"],
        ["all", "38", ""],
    ];
    for (line, wanted) in table.iter().zip(wanted) {
        assert_eq!(line[..], wanted[..line.len()], "{text}");
    }
    assert!(text.contains("2,000 IOPS × (0.70 + 0.30 × 2) / 130 IOPS a drive"), "{text}");
    here.run(&[&words[..], &["--json", "p.json", "--html", "p.html", "--markdown", "p.md"]].concat())
        .expect_status(0);
    let plan = &here.json("p.json")["plan"];
    let arrays = plan["arrays"].as_array().unwrap();
    let figures = arrays.iter().chain([plan]).flat_map(|one| one["figures"].as_array().unwrap());
    let mut count = 0;
    for figure in figures {
        count += 1;
        assert!(figure["value"].is_number() && !figure["formula"].as_str().unwrap().is_empty(), "{figure}");
    }
    assert!(count > 50, "{count}");
    assert!(std::fs::read_to_string(here.path("p.md")).unwrap().contains("Little's law"));
}

#[test]
fn what_cannot_be_built_is_refused_with_a_way_out() {
    let here = Workspace::new();
    for words in [
        &["--data", "2T,3000,130%"][..],
        &["--data", "much"],
        &["--data", "2T", "--raid", "data=7"],
        &["--data", "2T", "--raid", "log=5"],
        &["--data", "2T", "--raid", "data=5,data=6"],
        &["--data", "2T", "--drive-iops", "0"],
        &["--data", "2T", "--rpm", "15000"],
        &[],
    ] {
        here.run(&[&["drive", "plan"][..], words].concat()).expect_status(2);
    }
    let refused = here.run(&["drive", "plan", "--data", "5TB", "--raid", "data=1"]).expect_status(2);
    assert!(refused.stderr.contains("--raid data=10"), "{}", refused.stderr);
    here.run(&["drive", "plan", "--check", "missing"]).expect_status(2);
}

/// A measured drive is worth more than a data sheet.
#[test]
fn a_build_of_drives_that_were_measured() {
    let here = Workspace::new();
    let plan = ["drive", "plan", "--data", "1T,100", "--json", "p.json", "--from"];
    here.run(&[&plan[..], &["last"]].concat()).expect_status(2);
    let has_read = |run: &Value| counted(run, 0, "read").0 > 0;
    here.load(&["--preset", "scan", "--size", "16M", "t.dat"], has_read);
    let refused = here.run(&[&plan[..], &["last"]].concat()).expect_status(2);
    assert!(refused.stderr.contains("measured no random requests"), "{}", refused.stderr);
    let run = here.load(&["--preset", "random-read", "--size", "16M", "t.dat"], has_read);
    here.run(&[&plan[..], &["last"]].concat()).expect_status(0);
    let drive = &here.json("p.json")["plan"]["drive"];
    assert!(drive["iops_from"].as_str().unwrap().contains("random 8"), "{drive}");
    let seconds = run["load"]["spans"][0]["measured_ns"].as_f64().unwrap() / 1e9;
    let measured = counted(&run, 0, "read").0 as f64 / seconds;
    assert!((drive["iops"].as_f64().unwrap() / measured - 1.0).abs() < 0.01, "{drive} {measured}");
}

/// The story: a run that was asked for 30 requests a second made a plan of 136 drives, and one of a file of holes one of two.
#[test]
fn a_drive_is_not_taken_from_a_run_that_does_not_say_what_it_can_do() {
    let here = Workspace::new();
    let plan = ["drive", "plan", "--data", "1T,100", "--from", "last"];
    let has_read = |run: &Value| counted(run, 0, "read").0 > 0;
    here.load(&["--preset", "random-read", "--rate", "20", "--size", "16M", "t.dat"], has_read);
    let refused = here.run(&plan).expect_status(2);
    assert!(refused.stderr.contains("rate") || refused.stderr.contains("no random"), "{}", refused.stderr);
    std::fs::File::create(here.path("holes.dat")).unwrap().set_len(16 << 20).unwrap();
    here.load(&["--preset", "random-read", "holes.dat"], has_read);
    let refused = here.run(&plan).expect_status(2);
    assert!(refused.stderr.contains("target-sparse"), "{}", refused.stderr);
}

fn answer(report: &Value, name: &str) -> String {
    let checks = report["stack"]["checks"].as_array().unwrap();
    let found =
        checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
    found["answer"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_system_on_a_real_device_is_looked_at() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 64) else { return };
    let place = volume.mounted_at.to_str().unwrap();
    let words = ["drive", "plan", "--check", place, "--erase-block", "1M", "--json", "c.json"];
    here.run(&words).expect_status(0);
    let report = here.json("c.json");
    assert_eq!(report["plan"], Value::Null);
    // A loop device passes TRIM on to its file.
    assert_eq!(answer(&report, "TRIM"), "good");
    assert_eq!(answer(&report, "free space as spare"), "good");
    assert_eq!(answer(&report, "allocation unit"), "good");
}

/// A loop device that takes partitions, detached on drop.
struct Parted(String);

impl Parted {
    /// `None`, with a message, if there is none.
    fn new(here: &Workspace, what: &str) -> Option<Self> {
        let image = here.path("image");
        std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let made = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&image).output();
        match made {
            Ok(output) if output.status.success() => {
                Some(Self(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
            }
            _ => {
                skip(what, "a loop device with partitions cannot be attached");
                None
            }
        }
    }

    /// Makes one partition, from `sector` on; its path.
    fn part(&self, sector: u64) -> Option<String> {
        let script = format!(
            "printf '{sector},,L\\n' | sfdisk --quiet --force --no-reread \"$0\" && partx --update \"$0\""
        );
        let made = Command::new("sh").args(["-c", &script, &self.0]).output().unwrap();
        let part = format!("{}p1", self.0);
        (made.status.success() && std::path::Path::new(&part).exists()).then_some(part)
    }
}

impl Drop for Parted {
    fn drop(&mut self) {
        let _ = Command::new("partx").args(["--delete", &self.0]).output();
        let _ = Command::new("losetup").args(["--detach", &self.0]).output();
    }
}

/// A partition from sector 63 on, as old installers made them: each page of a database was two of the drive.
#[test]
fn a_misaligned_partition_is_found() {
    let here = Workspace::new();
    let what = "the alignment of a partition";
    let Some(device) = Parted::new(&here, what) else { return };
    for (start, status, wanted) in [(63, 1, "bad"), (2048, 0, "good")] {
        let Some(part) = device.part(start) else {
            skip(what, "a loop device takes no partition");
            return;
        };
        here.run(&["drive", "plan", "--check", &part, "--json", "c.json"]).expect_status(status);
        assert_eq!(answer(&here.json("c.json"), "alignment"), wanted, "{start}");
    }
}
