//! Paced writing in simulated time.

use super::*;
use iostall_engine::sim::{Faults, SimConfig, SimDevice, SimEngine, SimFile, Stall, TokenBucket};
use iostall_engine::{BufferPool, Pages};
use iostall_measure::ManualClock;

const PACE: Pace = Pace { packet_bytes: 8192, packets_per_burst: 4, period_ns: 10_000_000, delay_ns: 0 };

fn run(config: SimConfig, pace: Pace, total_bytes: u64) -> MethodOutcome {
    let files = vec![SimFile { size_bytes: 0, ..config.files.first().copied().unwrap_or_default() }];
    let device = SimDevice::new(
        SimConfig { files, service_ns_base: 1_000_000, service_ns_tail_mean: 0, ..config },
        ManualClock::new(),
    );
    run_on(&device, pace, total_bytes)
}

fn run_on(device: &SimDevice, pace: Pace, total_bytes: u64) -> MethodOutcome {
    let mut engine = SimEngine::new(device.clone(), 1);
    let (_, mut buffers) = BufferPool::new(1, pace.packet_bytes, Pages::Small).unwrap();
    let progress = Progress::default();
    let job = PacedJob {
        method: WriteMethod::Direct,
        pace,
        total_bytes: Some(total_bytes),
        duration_ns: None,
        first_header: HeaderKind::MadeFile,
        interval_bytes: 81_920,
        dirty_bytes: &|| Some(7),
        on_interval: &|_| (),
        progress: &progress,
        rate: None,
    };
    write_paced(&mut engine, device.clock(), buffers.pop().unwrap(), &job)
}

#[test]
fn a_pace_that_the_device_keeps_takes_its_time_and_one_burst_of_room() {
    let outcome = run(SimConfig::default(), PACE, 100 * 32_768);
    // 100 bursts every 10 ms; the last one takes 4 ms.
    assert_eq!(outcome.elapsed_ns, 99 * 10_000_000 + 4_000_000);
    assert_eq!((outcome.bursts, outcome.late_bursts), (100, 0));
    assert_eq!(outcome.kept_pace(), Some(true));
    assert_eq!(outcome.response_ns.max(), Some(4_000_000));
    assert_eq!(outcome.write_ns.count(), 400);
    assert_eq!(outcome.intervals.len(), 40);
    assert_eq!(outcome.intervals.iter().map(|interval| interval.bytes).sum::<u64>(), outcome.bytes);
    assert_eq!(outcome.intervals[0].dirty_bytes, Some(7));
    // A burst, and what arrives in the millisecond of the first write.
    assert_eq!(outcome.buffer_bytes, Some(32_768 + 3276));
    assert_eq!(outcome.change, None);
}

/// The story: at a memory limit of 128 MB the first interval of 100 MB went at 1,890 MB/s and all others at 300 to 740, and nothing
/// was said: a change needs three intervals on each side.
#[test]
fn a_fast_beginning_that_is_over_within_two_intervals_is_said() {
    let config = SimConfig { files: vec![SimFile::default()], ..SimConfig::default() };
    // Eighteen packets at once, and one each two milliseconds from then on: an interval has ten.
    let bucket = TokenBucket::new(500.0, 5000.0, 16.0, 100_000);
    let device = SimDevice::with_model(config, Box::new(bucket), ManualClock::new());
    let outcome = run_on(&device, Pace { period_ns: 0, ..PACE }, 400 * 8192);
    let change = outcome.change.unwrap();
    assert!((8 * 8192..32 * 8192).contains(&change.at_bytes), "{change:?}");
    assert!(change.before_bytes_per_second > change.after_bytes_per_second * 2.0, "{change:?}");
    let steady = run(SimConfig::default(), Pace { period_ns: 0, ..PACE }, 400 * 8192);
    assert_eq!(steady.change, None);
}

#[test]
fn no_write_is_left_out_of_the_intervals_and_a_short_rest_is_no_change() {
    // Ten packets an interval: 20 whole ones and a rest of one, in whose only write the device stalls.
    let pace = Pace { period_ns: 0, ..PACE };
    let stalls = vec![Stall { from_ns: 200_000_000, to_ns: 900_000_000 }];
    let outcome = run(SimConfig { stalls, ..SimConfig::default() }, pace, 201 * 8192);
    assert_eq!(outcome.intervals.len(), 21);
    assert_eq!(outcome.intervals.iter().map(|interval| interval.bytes).sum::<u64>(), outcome.bytes);
    assert_eq!(outcome.intervals[20].bytes, 8192);
    assert_eq!(outcome.intervals.iter().map(|interval| interval.write_ns_max).max(), outcome.write_ns.max());
    assert_eq!(outcome.change, None);
    let little = run(SimConfig::default(), pace, 8192);
    assert_eq!((little.intervals.len(), little.intervals[0].bytes), (1, 8192));
}

#[test]
fn a_stall_is_counted_from_when_bursts_were_due_and_sizes_the_buffer() {
    let stalls = vec![Stall { from_ns: 100_000_000, to_ns: 300_000_000 }];
    let of = |bursts: u64| {
        run(SimConfig { stalls: stalls.clone(), ..SimConfig::default() }, PACE, bursts * 32_768)
    };
    let outcome = of(100);
    assert_eq!(outcome.write_ns.max(), Some(201_000_000));
    assert!(outcome.late_bursts > 20, "{} late bursts", outcome.late_bursts);
    // The story: a pace that was lost came with the size of the buffer that would have kept it.
    assert_eq!((outcome.kept_pace(), outcome.buffer_bytes), (Some(false), None));
    let long = of(5000);
    assert_eq!(long.kept_pace(), Some(true));
    // What arrives at 3.28 MB/s in 200 ms, and a burst.
    let needed = long.buffer_bytes.unwrap();
    assert!((650_000..720_000).contains(&needed), "{needed}");
    // The bursts behind the stall are caught up on without a pause: no time is lost in the end.
    assert_eq!(outcome.elapsed_ns, 99 * 10_000_000 + 4_000_000);
}

#[test]
fn without_a_pause_nothing_is_late_and_no_buffer_is_asked_for() {
    let pace = Pace { period_ns: 0, ..PACE };
    let outcome = run(SimConfig::default(), pace, 100 * 32_768);
    assert_eq!(outcome.elapsed_ns, 400_000_000);
    assert_eq!((outcome.late_bursts, outcome.buffer_bytes, outcome.kept_pace()), (0, None, None));
}

/// The published program pauses after each burst, however long the burst took: a period cannot say that.
#[test]
fn a_delay_after_each_burst_is_kept_however_long_the_burst_took() {
    let pace = Pace { period_ns: 0, delay_ns: 10_000_000, ..PACE };
    let outcome = run(SimConfig::default(), pace, 100 * 32_768);
    // 100 bursts of 4 ms with 99 delays between them; the rate counts the one after the last.
    assert_eq!(outcome.elapsed_ns, 100 * 4_000_000 + 99 * 10_000_000);
    assert!((outcome.bytes_per_second().unwrap() - 32_768.0 / 0.014).abs() < 1.0);
    assert_eq!((outcome.bursts, outcome.late_bursts, outcome.kept_pace()), (100, 0, None));
    assert_eq!(outcome.buffer_bytes, None);
    let stalls = vec![Stall { from_ns: 100_000_000, to_ns: 300_000_000 }];
    let stalled = run(SimConfig { stalls, ..SimConfig::default() }, pace, 100 * 32_768);
    assert!(stalled.elapsed_ns > outcome.elapsed_ns + 190_000_000, "what was lost is not caught up on");
}

/// The story: intervals of one burst read 8 MB/s for the first and 3.28 MB/s for all others of one steady source.
#[test]
fn every_interval_of_a_steady_source_has_its_rate() {
    let pace = Pace { packet_bytes: 81_920, packets_per_burst: 1, ..PACE };
    let outcome = run(SimConfig::default(), pace, 10 * 81_920);
    for interval in &outcome.intervals {
        assert!((interval.bytes_per_second().unwrap() - 8_192_000.0).abs() < 1.0, "{interval:?}");
    }
    assert!((outcome.bytes_per_second().unwrap() - 8_192_000.0).abs() < 1.0);
}

/// A disk that was full after 20 hours took the 20 hours with it.
#[test]
fn a_failure_is_told_with_its_place_beside_what_was_measured_until_then() {
    let faults = Faults { eio_at: vec![23], ..Faults::default() };
    let outcome = run(SimConfig { faults, ..SimConfig::default() }, PACE, 1 << 20);
    let failed = outcome.failed.clone().unwrap();
    assert!(failed.starts_with("writing 8192 bytes at offset 188416"), "{failed}");
    assert_eq!((outcome.bytes, outcome.write_ns.count()), (23 * 8192, 23));
    // Two whole intervals, and the rest.
    assert_eq!(outcome.intervals.iter().map(|one| one.bytes).collect::<Vec<_>>(), [81_920, 81_920, 24_576]);
    assert!(outcome.elapsed_ns > 0 && outcome.sync_ns == 0 && !outcome.interrupted);
    let full = SimFile { space_bytes: Some(20_000), ..SimFile::default() };
    let outcome = run(SimConfig { files: vec![full], ..SimConfig::default() }, PACE, 1 << 20);
    let failed = outcome.failed.unwrap();
    assert!(failed.contains("at offset 16384") && failed.contains("full"), "{failed}");
    assert_eq!(outcome.bytes, 16_384);
}

#[test]
fn each_interval_is_told_when_it_ends_and_the_rest_at_the_end() {
    let seen = std::cell::RefCell::new(Vec::new());
    let device = SimDevice::new(
        SimConfig { files: vec![SimFile::default()], ..SimConfig::default() },
        ManualClock::new(),
    );
    let mut engine = SimEngine::new(device.clone(), 1);
    let (_, mut buffers) = BufferPool::new(1, PACE.packet_bytes, Pages::Small).unwrap();
    let progress = Progress::default();
    let job = PacedJob {
        method: WriteMethod::Direct,
        pace: PACE,
        total_bytes: Some(21 * 8192),
        duration_ns: None,
        first_header: HeaderKind::MadeFile,
        interval_bytes: 81_920,
        dirty_bytes: &|| None,
        on_interval: &|interval| seen.borrow_mut().push(*interval),
        progress: &progress,
        rate: None,
    };
    let outcome = write_paced(&mut engine, device.clock(), buffers.pop().unwrap(), &job);
    assert_eq!(outcome.intervals.len(), 3);
    assert_eq!(*seen.borrow(), outcome.intervals);
}

/// A writer with half a period left catches up by itself. Counted as late, it made a pace that was kept look lost.
#[test]
fn a_burst_is_late_once_it_begins_more_than_half_a_period_after_it_was_due() {
    // A packet takes a millisecond, and the second burst is due after ten.
    for (packets, late_bursts, lateness_ns) in [(15, 0, 5_000_000), (16, 1, 6_000_000)] {
        let pace = Pace { packets_per_burst: packets, ..PACE };
        let outcome = run(SimConfig::default(), pace, 2 * u64::from(packets) * 8192);
        assert_eq!((outcome.bursts, outcome.late_bursts), (2, late_bursts), "{packets} packets");
        assert_eq!(outcome.lateness_ns_max, lateness_ns);
    }
}

/// A writer that gives way holds packets back before it writes them: the write time stays that of the file, and the wait is in
/// the response.
#[test]
fn a_packet_that_is_held_back_is_not_a_slow_write() {
    let device = SimDevice::new(
        SimConfig {
            files: vec![SimFile::default()],
            service_ns_base: 1_000_000,
            service_ns_tail_mean: 0,
            ..SimConfig::default()
        },
        ManualClock::new(),
    );
    let mut engine = SimEngine::new(device.clone(), 1);
    let (_, mut buffers) = BufferPool::new(1, PACE.packet_bytes, Pages::Small).unwrap();
    let progress = Progress::default();
    // The pace asks for 3.3 MB/s, and a quarter of that passes.
    let rate = RateLimit::adjustable(819_200, 1);
    let job = PacedJob {
        method: WriteMethod::Direct,
        pace: PACE,
        total_bytes: Some(100 * 8192),
        duration_ns: None,
        first_header: HeaderKind::MadeFile,
        interval_bytes: 81_920,
        dirty_bytes: &|| None,
        on_interval: &|_| (),
        progress: &progress,
        rate: Some(&rate),
    };
    let outcome = write_paced(&mut engine, device.clock(), buffers.pop().unwrap(), &job);
    assert_eq!((outcome.write_ns.max(), outcome.write_ns.count()), (Some(1_000_000), 100));
    assert!((950_000_000..1_020_000_000).contains(&outcome.elapsed_ns), "{}", outcome.elapsed_ns);
    assert_eq!(outcome.kept_pace(), Some(false));
    assert_eq!(rate.taken_bytes(), 100 * 8192);
}
