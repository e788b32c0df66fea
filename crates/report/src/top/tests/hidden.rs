//! What is left out until it is asked for.

use iostall_model::DeviceRole;

use super::*;

/// A device of a host.
fn device(name: &str, role: DeviceRole, mounted: Option<&str>, reads: u64) -> (Row, Change) {
    let subject = Subject {
        kind: Kind::LinuxDevice,
        scope: Scope::Device(role),
        name: name.into(),
        identity: name.into(),
        volume: mounted.map(str::to_owned),
    };
    let amounts = Counters::new()
        .with(Counter::Reads, reads)
        .with(Counter::ReadBytes, reads * 4_096)
        .with(Counter::ReadStall, reads * 200_000);
    let totals = Totals { covered_ns: 2_000_000_000, amounts };
    (Row { subject, counters: Counters::new(), age_ms: None }, Change::Delta(totals))
}

/// Twenty loop devices of snaps and a hundred files that nobody read pushed the busy ones off the screen.
#[test]
fn idle_rows_and_loop_devices_are_hidden_until_they_are_asked_for() {
    let mut state = busy();
    assert!(!names(&state).iter().any(|name| name.contains("archive")));
    press(&mut state, "a");
    assert!(names(&state).iter().any(|name| name.contains("archive")));
    press(&mut state, "a/archive");
    assert_eq!(names(&state), ["E:\\data\\archive_2019.ndf"], "whoever types its name wants to see it");

    let mut host = TopState::new(&["linux:".to_owned()], Level::Volumes, None, false);
    let rows = vec![
        device("vda", DeviceRole::Disk, None, 100),
        device("vda1", DeviceRole::Partition, Some("/"), 90),
        device("loop3", DeviceRole::Stacked, Some("/snap/core"), 50),
    ];
    host.step("linux:", &step("2026-11-21T14:03:05Z", rows));
    assert_eq!((names(&host), host.hidden), (vec!["vda", "vda1 (/)"], 1));
    let (report, said) = host.report_to_read();
    assert_eq!(report.window.groups.len(), 2);
    assert!(said.is_some_and(|said| said.starts_with("1 loop device is left out")));
    assert_eq!(host.report().window.groups.len(), 3, "programs get all");
    host.press(Key::Enter);
    assert!(screen(&host, 100, 20).contains("Its disk and partitions"));
    let mut idle = TopState::new(&["linux:".to_owned()], Level::Volumes, None, false);
    idle.step("linux:", &step("2026-11-21T14:03:05Z", vec![device("vda", DeviceRole::Disk, None, 0)]));
    assert!(screen(&idle, 80, 10).contains("1 row is hidden: idle, or loop devices; a shows them"));
}
