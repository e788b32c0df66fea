//! `iostall drive atomic`: what is promised about torn writes, on real file systems and devices. What cuts of power prove is in
//! `drive_powerfail`.

use serde_json::Value;

use crate::copy_media::Volume;
use crate::devices::LoopDevice;
use crate::support::Workspace;

fn advice(report: &Value) -> Vec<&str> {
    let all = report["protections"].as_array().unwrap();
    all.iter().map(|one| one["advice"].as_str().unwrap()).collect()
}

/// `full_page_writes` was turned off because a page seemed to be a unit of the drive.
#[test]
fn what_protects_pages_stays_on_where_no_file_system_promises_a_page() {
    for (kind, mebibytes) in [("ext4", 64), ("xfs", 400), ("btrfs", 200)] {
        let here = Workspace::new();
        let Some(volume) = Volume::new(&here, kind, 512, mebibytes) else { continue };
        let file = volume.mounted_at.join("t.dat");
        std::fs::write(&file, vec![7; 1 << 20]).unwrap();
        let file = file.to_str().unwrap();
        let text = here.run(&["drive", "atomic", file]).expect_status(0).stdout;
        assert!(text.contains("full_page_writes") && text.contains("Untorn is not durable"), "{text}");
        here.run(&["drive", "atomic", file, "--json", "a.json", "--html", "a.html", "--markdown", "a.md"])
            .expect_status(0);
        let report = here.json("a.json");
        assert_eq!(report["file_system"]["kind"], kind);
        assert!(report["layers"].as_array().unwrap().len() > 1, "the loop device and what its file is on");
        // XFS of a new kernel promises pages by itself: then the answer is yes, and nothing may be turned off without a condition.
        let max = report["units"]["max_bytes"].as_u64().unwrap_or(0);
        let status = i32::from(max < 16_384);
        here.run(&["drive", "atomic", file, "--require", "16KiB"]).expect_status(status);
        assert_eq!(advice(&report)[1], if max >= 16_384 { "off-if" } else { "leave-on" }, "{kind}: {report}");
        assert_eq!(advice(&report)[2], "leave-on");
        here.run(&["drive", "atomic", file, "--require", "512"]).expect_status(0);
        assert_eq!(std::fs::read(file).unwrap(), vec![7; 1 << 20]);
    }
}

#[test]
fn a_device_says_what_its_queue_takes_and_what_is_not_there_is_an_error() {
    let here = Workspace::new();
    here.run(&["drive", "atomic", "missing.dat"]).expect_status(2);
    std::fs::write(here.path("notes.txt"), "my notes").unwrap();
    for words in [["--prove", "notes.txt"], ["--prove", "missing.cuts"]] {
        let refused = here.run(&[&["drive", "atomic", "notes.txt"][..], &words].concat()).expect_status(2);
        assert!(refused.stderr.contains("as a list of cuts"), "{}", refused.stderr);
    }
    here.run(&["drive", "atomic", "notes.txt", "--require", "12K"]).expect_status(2);
    assert_eq!(std::fs::read_to_string(here.path("notes.txt")).unwrap(), "my notes");
    // A directory and a name that must be shown with care.
    let odd = "odd \u{1b}[31m\nname";
    std::fs::create_dir(here.path(odd)).unwrap();
    let text = here.run(&["drive", "atomic", odd]).expect_status(0).stdout;
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let Some(device) = LoopDevice::new(&here, "atomic writes of a device", 8) else { return };
    here.run(&["drive", "atomic", device.name(), "--json", "a.json"]).expect_status(0);
    let report = here.json("a.json");
    assert_eq!(report["file_system"], Value::Null);
    assert_eq!(report["layers"][0]["device"], device.name().trim_start_matches("/dev/"));
    here.run(&["drive", "atomic", device.name(), "--require", "16KiB"]).expect_status(1);
}

#[test]
fn what_has_no_pages_or_is_not_there_is_refused() {
    let here = Workspace::new();
    let made = std::process::Command::new("mkfifo").arg(here.path("pipe")).status().unwrap();
    assert!(made.success());
    for (target, why) in [("pipe", "no pages are written"), ("missing", "No such file")] {
        let refused = here.run(&["drive", "atomic", target]).expect_status(2);
        assert!(refused.stderr.contains(why) && refused.stderr.contains("hint:"), "{}", refused.stderr);
    }
}
