//! What is promised, seen on made-up stacks of devices.

use std::fs;
use std::os::unix::fs::symlink;

use iostall_model::atomic::ProtectionAdvice;

use super::*;

/// Queues of devices: their numbers, and the largest unit, bytes.
fn tree(queues: &[(&str, u64)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    let numbers = root.path().join("sys/dev/block");
    fs::create_dir_all(&numbers).unwrap();
    for (number, max) in queues {
        let name = number.replace(':', "-");
        let directory = root.path().join("sys/devices").join(&name);
        fs::create_dir_all(directory.join("queue")).unwrap();
        for (file, value) in
            [("max", *max), ("unit_max", *max), ("unit_min", 4096.min(*max)), ("boundary", 0)]
        {
            let path = directory.join(format!("queue/atomic_write_{file}_bytes"));
            fs::write(path, format!("{value}\n")).unwrap();
        }
        symlink(format!("../../devices/{name}"), numbers.join(number)).unwrap();
    }
    fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
    fs::write(root.path().join("proc/sys/kernel/osrelease"), "6.14.0\n").unwrap();
    let system = System::at(root.path());
    (root, system)
}

fn device(number: &str, below: Vec<Device>) -> Device {
    let logical_sector_bytes = Some(512);
    Device {
        name: format!("d{number}"),
        number: number.to_owned(),
        logical_sector_bytes,
        below,
        ..Device::default()
    }
}

fn on(kind: &str) -> AtomicFileSystem {
    AtomicFileSystem { kind: kind.to_owned(), block_bytes: 4096, record_bytes: None, is_in_place: None }
}

fn units(max_bytes: u64) -> AtomicUnits {
    AtomicUnits { min_bytes: 4096.min(max_bytes), max_bytes }
}

/// An array of a drive that takes 16 KiB and one that takes nothing takes nothing, and nobody knew why.
#[test]
fn a_layer_that_does_not_pass_on_what_a_drive_takes_is_named() {
    let (_root, system) = tree(&[("9:0", 0), ("9:1", 16_384), ("259:0", 16_384), ("259:1", 0)]);
    let target = Path::new("/dev/md0");
    let found = |number: &str, statx| {
        let array = device(number, vec![device("259:0", vec![]), device("259:1", vec![])]);
        let report = look(&system, target, Some(units(statx)), Some(&array), None);
        assert_eq!(report.layers.len(), 3);
        let condition = report.conditions.iter().find(|one| one.text.contains("passes on")).cloned().unwrap();
        (condition.text, condition.is_met, report.promises(16_384))
    };
    let (text, is_met, is_promised) = found("9:0", 0);
    assert_eq!((is_met, is_promised), (Some(false), false));
    assert!(text.starts_with("d9:0 passes on the 16384 bytes that d259:0 takes"), "{text}");
    assert_eq!(found("9:1", 16_384).1, Some(true));
    // A device of an old kernel says nothing, and then statx does not either.
    assert!(!look(&system, target, None, Some(&device("8:0", vec![])), None).promises(4096));
}

/// A partition that began at sector 63, and whose atomic writes were refused.
#[test]
fn a_partition_must_begin_where_units_do() {
    let (root, system) = tree(&[("259:0", 16_384)]);
    let part = root.path().join("sys/devices/part");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("partition"), "1\n").unwrap();
    symlink("../../devices/part", root.path().join("sys/dev/block/259:1")).unwrap();
    let stack = device("259:1", vec![device("259:0", vec![])]);
    for (start, is_met) in [("63", false), ("2048", true)] {
        fs::write(part.join("start"), start).unwrap();
        let report = look(&system, Path::new("/dev/x"), Some(units(0)), Some(&stack), None);
        let found = report.conditions.iter().find(|one| one.text.contains("begins at")).unwrap();
        assert_eq!(found.is_met, Some(is_met), "{start}");
    }
}

#[test]
fn a_protection_stays_on_but_where_a_page_is_promised_and_no_cut_tore_it() {
    let (_root, system) = tree(&[("259:0", 16_384)]);
    let advice = |report: &AtomicReport| -> Vec<bool> {
        protections(report).iter().map(|one| one.advice == ProtectionAdvice::OffIf).collect()
    };
    let disk = device("259:0", vec![]);
    let file = |statx, kind: &str| look(&system, Path::new("/f"), statx, Some(&disk), Some(on(kind)));
    assert_eq!(advice(&file(Some(units(16_384)), "xfs")), [true, true, false]);
    assert_eq!(advice(&file(Some(units(8192)), "ext4")), [true, false, false]);
    assert_eq!(advice(&file(None, "btrfs")), [false; 3]);
    let mut zfs = file(None, "zfs");
    assert_eq!(advice(&zfs), [false; 3], "the record is not known");
    zfs.file_system.as_mut().unwrap().record_bytes = Some(8192);
    assert_eq!(advice(&zfs), [true, false, false]);
    let mut torn = file(Some(units(16_384)), "xfs");
    torn.proof = Some(iostall_model::atomic::TornProof {
        cuts: 1,
        other_cuts: 0,
        torn_cuts: 1,
        torn_bytes: Some(8192),
        pages: Vec::new(),
    });
    assert_eq!(advice(&torn), [true, false, false], "pieces of 8 KiB tear pages of 16 KiB");
}

#[test]
fn conditions_name_the_kernel_that_is_needed() {
    let (_root, system) = tree(&[]);
    let met = |kind| -> Vec<Option<bool>> {
        let report = look(&system, Path::new("/f"), None, None, Some(on(kind)));
        report.conditions.iter().map(|one| one.is_met).collect()
    };
    assert_eq!(met("xfs"), [Some(true), Some(false), None]);
    assert_eq!(met("btrfs"), [Some(false), None, None]);
    assert_eq!(met("tmpfs"), [Some(false), None]);
}
