//! Stacks as they are found on servers.

use iostall_measure::platform::FileSystem;
use iostall_model::stack_check::{BlockLayout, StackAnswer};

use super::*;

fn layer(device: &str, depth: u32, discard: u64) -> StackLayer {
    let layout = BlockLayout { discard_bytes_max: Some(discard), ..BlockLayout::default() };
    StackLayer { device: device.to_owned(), model: None, depth, physical_sector_bytes: Some(512), layout }
}

fn report(layers: Vec<StackLayer>) -> StackReport {
    let file_system = FileSystem {
        kind: "ext4".to_owned(),
        mount_point: "/data".into(),
        source: "/dev/md0".to_owned(),
        options: "rw,relatime".to_owned(),
        block_bytes: 4096,
        free_bytes: 20 << 30,
        total_bytes: 100 << 30,
    };
    StackReport { target: "/data".to_owned(), file_system: Some(file_system), layers, checks: Vec::new() }
}

#[track_caller]
fn answer(report: &StackReport, erase: Option<u64>, name: &str) -> (StackAnswer, String) {
    let all = checks(report, erase.map(ByteCount));
    let found = all.into_iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}"));
    (found.answer, format!("{} {}", found.found, found.advice))
}

/// TRIM was on in the file system for years, and an array of parity had swallowed all of it.
#[test]
fn the_layer_that_stops_trim_is_named() {
    let stack = report(vec![layer("dm-0", 0, 0), layer("md0", 1, 0), layer("sda", 2, 1 << 30)]);
    let (found, text) = answer(&stack, None, "TRIM");
    assert_eq!(found, StackAnswer::Bad);
    assert!(text.starts_with("md0 passes none on"), "{text}");
    let (found, text) = answer(&stack, None, "free space as spare");
    assert!(found == StackAnswer::Caution && text.contains("25 %"), "{text}");

    let mut stack = report(vec![layer("sda", 0, 1 << 30)]);
    let (found, text) = answer(&stack, None, "TRIM");
    assert!(found == StackAnswer::Good && text.contains("fstrim"), "{text}");
    "rw,discard=async".clone_into(&mut stack.file_system.as_mut().unwrap().options);
    assert!(answer(&stack, None, "TRIM").1.contains("at once"));
    assert_eq!(answer(&stack, None, "free space as spare").0, StackAnswer::Good);

    assert_eq!(answer(&report(vec![layer("sda", 0, 0)]), None, "TRIM").0, StackAnswer::Caution);
    assert_eq!(answer(&report(Vec::new()), None, "TRIM").0, StackAnswer::Unknown);
}

#[test]
fn a_partition_from_sector_63_is_misaligned() {
    let at = |start_bytes: u64, erase| {
        let mut part = layer("sda1", 0, 1);
        part.layout.start_bytes = Some(start_bytes);
        answer(&report(vec![part, layer("sda", 1, 1)]), erase, "alignment").0
    };
    assert_eq!(at(63 * 512, None), StackAnswer::Bad);
    assert_eq!(at(64 << 10, None), StackAnswer::Caution);
    assert_eq!(at(1 << 20, None), StackAnswer::Good);
    assert_eq!(at(1 << 20, Some(4 << 20)), StackAnswer::Caution);
    assert_eq!(at(4 << 20, Some(4 << 20)), StackAnswer::Good);
    let mut moved = layer("sda1", 0, 1);
    moved.layout.start_bytes = Some(1 << 20);
    moved.layout.misaligned_bytes = Some(3584);
    assert_eq!(
        answer(&report(vec![moved]), None, "alignment").0,
        StackAnswer::Bad,
        "a drive of sectors 512e"
    );
    assert_eq!(answer(&report(vec![layer("sda", 0, 1)]), None, "alignment").0, StackAnswer::Good);
}

/// The story: 120 requests of 1 MiB a second were taken for those of a database, and the plan had 26 drives instead of 8.
#[test]
fn the_drive_of_a_run_is_taken_from_the_shape_nearest_to_the_requests() {
    let factor = |bytes: u64, asked: u64| {
        let size = iostall_measure::BlockSize::new(bytes).unwrap();
        distance(&iostall_model::profile::BlockMix::single(size), ByteCount(asked))
    };
    assert!(factor(4 << 10, 8 << 10) < factor(1 << 20, 8 << 10));
    assert!(factor(16 << 10, 8 << 10) < factor(64 << 10, 8 << 10));
    assert!((factor(8 << 10, 8 << 10) - 1.0).abs() < 1e-9);
}

#[test]
fn units_fit_erase_blocks_if_one_divides_the_other() {
    let mut array = layer("md0", 0, 1);
    array.layout.chunk_bytes = Some(512 << 10);
    let stack = report(vec![array]);
    for (erase, unit, chunk) in [
        (None, StackAnswer::Unknown, StackAnswer::Unknown),
        (Some(4 << 20), StackAnswer::Good, StackAnswer::Good),
        (Some(256 << 10), StackAnswer::Good, StackAnswer::Good),
        (Some(3 << 19), StackAnswer::Good, StackAnswer::Good),
        (Some(768 << 10), StackAnswer::Good, StackAnswer::Caution),
    ] {
        assert_eq!(answer(&stack, erase, "allocation unit").0, unit, "{erase:?}");
        assert_eq!(answer(&stack, erase, "chunk of the array").0, chunk, "{erase:?}");
    }
}
