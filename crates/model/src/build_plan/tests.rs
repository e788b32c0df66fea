//! Known mixes, and properties of any.

use iostall_measure::{ByteCount, Percent};

use super::demand::operations_per_request;
use super::*;

fn drive(iops: f64) -> Drive {
    Drive {
        size: ByteCount(1_000_000_000_000),
        iops,
        iops_from: "given".to_owned(),
        spindle: None,
        latency_ms: 5.0,
        bytes_per_s: 100e6,
        rebuild_bytes_per_s: 100e6,
        errors_per_bit: 1e-15,
        mtbf_h: 1.2e6,
        rated: Some(ByteCount(600_000_000_000_000)),
        price: Some(200.0),
    }
}

fn request(demand: &str, level: Option<RaidLevel>, iops: f64) -> BuildRequest {
    BuildRequest {
        volumes: vec![Volume { role: Role::Data, demand: demand.parse().unwrap(), level }],
        drive: drive(iops),
        request_bytes: ByteCount(8_192),
        hot_spares: Some(1),
    }
}

/// The value of a figure of so many drives at a level, of so many writes in percent.
fn figure(name: &str, level: RaidLevel, drives: u64, iops: f64, writes: f64) -> f64 {
    let all = request("1GB,100", Some(level), iops);
    let demand = Demand { writes: Percent::new(writes).unwrap(), ..all.volumes[0].demand };
    let figures = array_figures(&all, &demand, level, drives);
    figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name}")).value
}

#[track_caller]
fn assert_near(found: f64, wanted: f64, within: f64) {
    assert!((found - wanted).abs() <= within, "{found}, not {wanted}");
}

/// An array that was bought by the published arithmetic did 608 requests instead of 792.
#[test]
fn mixes_that_were_published_and_what_they_really_are() {
    for (level, drives, writes, published, correct) in [
        (RaidLevel::R5, 5, 16.0, 792.0, 608.1),
        (RaidLevel::R5, 5, 30.0, 697.5, 473.7),
        (RaidLevel::R5, 5, 50.0, 562.5, 360.0),
        (RaidLevel::R6, 5, 50.0, 525.0, 257.1),
        (RaidLevel::R10, 8, 16.0, 1_324.8, 1_241.4),
        (RaidLevel::R0, 5, 50.0, 900.0, 900.0),
        (RaidLevel::R5, 5, 0.0, 900.0, 900.0),
        (RaidLevel::R5, 5, 100.0, 225.0, 225.0),
    ] {
        assert_near(figure("random requests", level, drives, 180.0, writes), correct, 0.05);
        assert_near(figure("the same as often published", level, drives, 180.0, writes), published, 0.05);
    }
}

#[test]
fn spindles_serve_what_their_mechanics_allow() {
    for (seek_ms, turns_per_minute, iops) in
        [(3.5, 15_000.0, 182.0), (4.5, 10_000.0, 133.0), (8.5, 7_200.0, 79.0)]
    {
        assert_near(1e3 / Spindle { seek_ms, turns_per_minute }.request_ms(), iops, 0.5);
    }
}

#[test]
fn a_spindle_serves_130_and_a_mirror_of_them_needs_this_many() {
    let plan = build_plan(&request("2T,3000,30%", None, 130.0)).unwrap();
    let array = &plan.arrays[0];
    // 3000 × (0.7 + 0.3 × 2) / 130 = 30.
    assert_eq!((array.level, array.drives, plan.drives), (RaidLevel::R10, 30, 31));
    let formula = &array.figures[1].formula;
    assert!(formula.contains("3,000 IOPS × (0.70 + 0.30 × 2) / 130 IOPS"), "{formula}");
}

/// Two spindles were planned for a log of 300 MB/s.
#[test]
fn a_sequential_rate_needs_drives_too() {
    let of = |demand, level| build_plan(&request(demand, level, 130.0)).unwrap().arrays[0].drives;
    assert_eq!(of("100G,300MB/s", Some(RaidLevel::R10)), 6);
    assert_eq!(of("100G,300MB/s", Some(RaidLevel::R5)), 4);
    assert_eq!(of("100G,300MB/s,1000", Some(RaidLevel::R6)), 8, "1,000 requests need more");
    assert_eq!(of("100G,90MB/s", None), 2);
}

#[test]
fn known_risks_and_costs() {
    // 1 TB is 8e12 bits: at 1e-15 of each, 4 drives to read give 3.15 %.
    let unreadable =
        |level, drives| figure("risk of an unreadable sector in a rebuild", level, drives, 130.0, 0.0);
    assert_near(unreadable(RaidLevel::R5, 5), 3.1494, 0.001);
    assert_near(unreadable(RaidLevel::R1, 2), 0.7968, 0.001);
    let of = |name, level| figure(name, level, 5, 130.0, 0.0);
    assert_near(of("time to rebuild a drive", RaidLevel::R5), 2.7778, 0.001);
    assert_near(of("failures a year", RaidLevel::R5), 0.0365, 0.0001);
    assert_near(of("failure rate of a drive", RaidLevel::R5), 0.7273, 0.0001);
    assert_near(of("requests in flight", RaidLevel::R5), 0.5, 1e-9);
    // 0.0365 × (1 − (1 − 9.26e-6) × (1 − 0.031494)).
    assert_near(of("losses of data a year", RaidLevel::R5), 0.001_150, 1e-6);
    assert!(of("losses of data a year", RaidLevel::R6) < 1e-7);
    // 100 writes/s of 8 KiB are 70.8 GB a day, to both drives.
    assert_near(figure("written to each drive a day", RaidLevel::R1, 2, 130.0, 100.0), 70.78, 0.01);
    assert_near(figure("life by the rating", RaidLevel::R1, 2, 130.0, 100.0), 23.22, 0.01);
    let plan = build_plan(&request("1TB,100", None, 130.0)).unwrap();
    assert_eq!((plan.arrays[0].level, plan.arrays[0].drives), (RaidLevel::R1, 2));
    let of = |name: &str| plan.figures.iter().find(|figure| figure.name == name).unwrap().value;
    assert_near(of("cost"), 600.0, 1e-9);
    assert_near(of("cost of a GB"), 0.6, 1e-9);
    assert_near(of("cost of an IOPS"), 600.0 / 260.0, 1e-9);
    assert_near(of("cost of a TB written"), 1.0 / 3.0, 1e-9);
}

/// The table of a server with hard disks that serve 130 requests: system, data, log, tempdb, backup, each on drives of its own, and
/// a drive that stands by.
#[test]
fn a_whole_server_has_a_line_for_each_volume_and_spares() {
    let volume = |role, demand: &str| Volume { role, demand: demand.parse().unwrap(), level: None };
    let volumes = vec![
        volume(Role::Os, "100GB"),
        volume(Role::Data, "2TB,2000,30%"),
        volume(Role::Log, "200GB,60MB/s"),
        volume(Role::Tempdb, "300GB,500,50%"),
        volume(Role::Backup, "4TB,200MB/s"),
    ];
    let all = BuildRequest { volumes, hot_spares: None, ..request("1T", None, 130.0) };
    let plan = build_plan(&all).unwrap();
    let lines: Vec<_> =
        plan.arrays.iter().map(|one| (one.role.name(), one.drives, one.level.number())).collect();
    assert_eq!(lines, [("os", 2, 1), ("data", 20, 10), ("log", 2, 1), ("tempdb", 6, 10), ("backup", 6, 6)]);
    assert_eq!((plan.hot_spares, plan.drives), (2, 38));
    assert!(plan.arrays.iter().flat_map(|array| &array.figures).all(|figure| !figure.formula.is_empty()));
}

/// Whatever is asked for, the drives suffice, and one less (of mirrors, two less) would not.
#[test]
fn no_build_is_too_small_or_larger_than_it_must_be() {
    let mut state = 7_u64;
    let mut draw = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    for _ in 0..2_000 {
        let (size, iops, writes, rate) = (1 + draw(20_000), draw(20_000), draw(101), draw(2_000));
        for level in [RaidLevel::R0, RaidLevel::R5, RaidLevel::R6, RaidLevel::R10] {
            let all = request(&format!("{size}GB,{iops},{writes}%,{rate}MB/s"), Some(level), 130.0);
            let array = build_plan(&all).unwrap().arrays.remove(0);
            let demand = array.demand;
            let suffices = |drives: u64| {
                let with_data = drives - level.redundant(drives);
                let host = drives as f64 * 130.0 / operations_per_request(&demand, level);
                with_data * 1_000 >= size && host >= demand.iops - 1e-6 && with_data * 100 >= rate
            };
            assert!(suffices(array.drives), "{demand:?} {level} {}", array.drives);
            let step = if level == RaidLevel::R10 { 2 } else { 1 };
            let is_least = array.drives == level.drives_min();
            assert!(is_least || !suffices(array.drives - step), "{demand:?} {level} {}", array.drives);
        }
    }
}

#[test]
fn what_cannot_be_built_is_refused() {
    for text in
        ["", "x", "1T,x", "1T,-1", "1T,5,101%", "1T,5,5", "1T,5%,5%", "1T,1M/s,1M/s", "0", "1T,nan", "1T,inf"]
    {
        assert!(text.parse::<Demand>().is_err(), "{text}");
    }
    for text in ["", "2", "R", "105", "raid"] {
        assert!(text.parse::<RaidLevel>().is_err(), "{text}");
    }
    assert_eq!("RAID 10".parse(), Ok(RaidLevel::R10));
    let small = build_plan(&request("5TB", Some(RaidLevel::R1), 130.0));
    assert!(matches!(small, Err(BuildError::TooFew { drives: 10, .. })), "{small:?}");
    let large = build_plan(&request("1T,1000000000", None, 130.0));
    assert!(matches!(large, Err(BuildError::TooMany { .. })), "{large:?}");
}

/// A risk of 5e-10 was shown as 0.
#[test]
fn small_figures_keep_their_digits_and_whole_ones_have_none() {
    let shown = |value| Figure { name: "", value, unit: "", formula: String::new() }.shown();
    for (value, text) in
        [(0.0, "0"), (2.0, "2"), (0.7, "0.70"), (5e-10, "5.00e-10"), (0.009, "9.00e-3"), (1_234.0, "1,234")]
    {
        assert_eq!(shown(value), text);
    }
}
