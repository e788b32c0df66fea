//! Whole runs on simulated devices.

use iostall_measure::{Clock, Durability, ManualClock};

use super::*;
use crate::buffer::{Buffer, BufferPool, Pages};
use crate::request::{FileIndex, IoFailure, RequestOp};

const BLOCK: u32 = 4096;

struct Bench {
    device: SimDevice,
    engine: SimEngine,
    buffers: Vec<Buffer>,
}

fn bench(config: SimConfig, capacity: u32) -> Bench {
    let device = SimDevice::new(config, ManualClock::new());
    let engine = SimEngine::new(device.clone(), capacity);
    let (_pool, buffers) = BufferPool::new(capacity, BLOCK, Pages::Small).unwrap();
    Bench { device, engine, buffers }
}

impl Bench {
    fn push(&mut self, token: u32, op: RequestOp, offset: u64) {
        let is_sync = matches!(op, RequestOp::Fdatasync | RequestOp::Fsync);
        let buffer = if is_sync { None } else { self.buffers.pop() };
        self.engine.push(Request { token, op, file: FileIndex(0), offset, length: BLOCK, buffer });
    }

    fn write(&mut self, token: u32, offset: u64, value: u8) {
        self.buffers.last_mut().unwrap().fill(value);
        self.push(token, RequestOp::Write, offset);
    }

    fn submit(&mut self, wait: Wait) -> Vec<(u32, Result<u32, IoFailure>)> {
        let mut completions = Vec::new();
        self.engine.submit(wait, &mut completions).unwrap();
        let results = completions.iter().map(|completion| (completion.token, completion.result)).collect();
        self.buffers.extend(completions.into_iter().filter_map(|completion| completion.buffer));
        results
    }

    fn now_ns(&self) -> u64 {
        self.device.clock().now_ns()
    }
}

/// Constant service, so that times can be told.
fn steady() -> SimConfig {
    SimConfig { service_ns_base: 1_000, service_ns_tail_mean: 0, channels: 2, ..SimConfig::default() }
}

#[test]
fn requests_share_the_channels_and_the_rest_queue() {
    let mut bench = bench(steady(), 8);
    for token in 0..5 {
        bench.push(token, RequestOp::Read, 0);
    }
    assert_eq!(bench.submit(Wait::ONE).len(), 2);
    assert_eq!(bench.now_ns(), 1_000);
    assert_eq!(bench.submit(Wait { completions: 3, timeout_ns: None, batch_ns: None }).len(), 3);
    assert_eq!(bench.now_ns(), 3_000);
}

#[test]
fn a_batch_ends_with_its_size_or_its_time_and_never_empty() {
    let mut bench = bench(steady(), 8);
    for token in 0..8 {
        bench.push(token, RequestOp::Read, 0);
    }
    let batch = |completions, batch_ns| Wait { completions, timeout_ns: None, batch_ns: Some(batch_ns) };
    assert_eq!(bench.submit(batch(4, 9_000)).len(), 4);
    assert_eq!(bench.now_ns(), 2_000, "the size came first");
    assert_eq!(bench.submit(batch(4, 1_500)).len(), 2);
    assert_eq!(bench.now_ns(), 3_500, "the time came first");
    assert_eq!(bench.submit(batch(2, 100)).len(), 2);
    assert_eq!(bench.now_ns(), 4_000, "nothing was there in time: the next that comes");
}

#[test]
fn a_wait_moves_the_clock_by_its_time_and_no_further() {
    let mut bench = bench(steady(), 1);
    bench.push(0, RequestOp::Read, 0);
    assert!(bench.submit(Wait { completions: 1, timeout_ns: Some(400), batch_ns: None }).is_empty());
    assert_eq!(bench.now_ns(), 400);
    assert!(bench.submit(Wait::NO).is_empty());
    assert!(bench.submit(Wait { completions: 1, timeout_ns: Some(0), batch_ns: None }).is_empty());
    assert_eq!(bench.now_ns(), 400);
    bench.device.clock().advance_to(5_000);
    assert_eq!(bench.submit(Wait::NO), [(0, Ok(BLOCK))]);
    assert_eq!(bench.now_ns(), 5_000);
}

#[test]
fn a_stall_holds_up_what_is_in_service_and_what_comes_in_it() {
    let config = SimConfig { stalls: vec![Stall { from_ns: 500, to_ns: 10_500 }], ..steady() };
    let mut bench = bench(config, 2);
    bench.push(0, RequestOp::Read, 0);
    assert_eq!(bench.submit(Wait::ONE), [(0, Ok(BLOCK))]);
    assert_eq!(bench.now_ns(), 11_000);
}

#[test]
fn faults_come_where_they_are_put() {
    let mut config = steady();
    config.faults.eio_at = vec![1];
    config.files[0].size_bytes = 3 * 4096 + 100;
    config.files[0].space_bytes = Some(4 * 4096 + 512);
    let mut bench = bench(config, 1);
    let mut alone = |op, offset| {
        bench.push(0, op, offset);
        bench.submit(Wait::ONE)[0].1
    };
    assert_eq!(alone(RequestOp::Read, 0), Ok(BLOCK));
    assert_eq!(alone(RequestOp::Read, 0), Err(IoFailure(libc::EIO)));
    assert_eq!(alone(RequestOp::Read, 3 * 4096), Ok(100));
    assert_eq!(alone(RequestOp::Read, 4 * 4096), Ok(0));
    assert_eq!(alone(RequestOp::Write, 4 * 4096), Ok(512));
    assert_eq!(alone(RequestOp::Write, 5 * 4096), Err(IoFailure(libc::ENOSPC)));
    assert_eq!(alone(RequestOp::Read, 4 * 4096), Ok(512));
}

#[test]
fn random_faults_come_as_often_as_told() {
    let mut config = steady();
    config.faults = Faults { eio_probability: 0.1, short_probability: 0.3, ..Faults::default() };
    let mut bench = bench(config, 1);
    let (mut failed, mut short) = (0, 0);
    for _ in 0..10_000 {
        bench.push(0, RequestOp::Read, 0);
        match bench.submit(Wait::ONE)[0].1 {
            Err(failure) => failed += i32::from(failure == IoFailure(libc::EIO)),
            Ok(moved) => {
                assert!(moved > 0 && moved.is_multiple_of(512));
                short += i32::from(moved < BLOCK);
            }
        }
    }
    assert!((900..1_100).contains(&failed), "{failed} failed");
    assert!((2_500..2_900).contains(&short), "{short} were short");
}

#[test]
fn service_has_its_base_and_an_exponential_tail() {
    let config = SimConfig { service_ns_base: 5_000, service_ns_tail_mean: 20_000, ..steady() };
    let mut bench = bench(config, 1);
    let mut moments = iostall_measure::Moments::default();
    for _ in 0..20_000 {
        let begun_ns = bench.now_ns();
        bench.push(0, RequestOp::Read, 0);
        bench.submit(Wait::ONE);
        let service_ns = bench.now_ns() - begun_ns;
        assert!(service_ns >= 5_000);
        moments.record((service_ns - 5_000) as f64);
    }
    assert!((moments.mean().unwrap() / 20_000.0 - 1.0).abs() < 0.03);
    assert!((moments.coefficient_of_variation().unwrap() - 1.0).abs() < 0.03);
}

/// When, which request, with what result.
type Event = (u64, u32, Result<u32, IoFailure>);

/// A mixed run, and all that can be seen of it.
fn trace(seed: u64) -> (Vec<Event>, Vec<Image>) {
    let mut config = SimConfig { seed, channels: 3, ..SimConfig::default() };
    config.files[0].size_bytes = 1 << 20;
    config.faults = Faults { eio_probability: 0.05, short_probability: 0.1, ..Faults::default() };
    let mut bench = bench(config, 16);
    let mut events = Vec::new();
    let mut free: Vec<u32> = (0..16).collect();
    for step in 0u32..400 {
        while let Some(token) = free.pop() {
            match (step + token) % 7 {
                0 => bench.push(token, RequestOp::Fdatasync, 0),
                1..=3 => bench.push(token, RequestOp::Read, u64::from(step % 256) * 4096),
                _ => {
                    bench.write(
                        token,
                        u64::from((step * 31) % 256) * 4096,
                        u8::try_from(step % 256).unwrap(),
                    );
                }
            }
        }
        for (token, result) in bench.submit(Wait::ONE) {
            events.push((bench.now_ns(), token, result));
            free.push(token);
        }
    }
    let left = bench.device.crash(seed);
    (events, left)
}

#[test]
fn a_run_repeats_from_its_seed_crash_and_all() {
    for seed in [1, 2, 3] {
        let (first, second) = (trace(seed), trace(seed));
        assert!(first == second, "two runs of seed {seed} differ");
    }
    assert!(trace(1).0 != trace(2).0);
}

#[test]
fn a_sync_call_makes_earlier_writes_survive_any_crash() {
    let mut bench = bench(steady(), 4);
    bench.write(0, 0, 1);
    bench.submit(Wait::ONE);
    bench.push(1, RequestOp::Fdatasync, 0);
    bench.write(2, 0, 2);
    bench.submit(Wait { completions: 2, timeout_ns: None, batch_ns: None });
    bench.write(3, 4096, 3);
    bench.submit(Wait::NO);
    let mut second_landed = 0;
    let mut in_flight_landed = 0;
    for seed in 0..64 {
        let left = &bench.device.crash(seed)[0];
        let mut data = vec![0; 8192];
        assert_eq!(left.read(0, &mut data), 8192);
        assert!(data[..4096].iter().all(|byte| [1, 2].contains(byte)), "seed {seed} lost a synced write");
        second_landed += u32::from(data[0] == 2);
        in_flight_landed += u32::from(data[4096] == 3);
    }
    assert!((10..54).contains(&second_landed) && (10..54).contains(&in_flight_landed));
    let mut byte = [0];
    bench.device.live(FileIndex(0)).read(0, &mut byte);
    assert_eq!(byte, [2]);
}

#[test]
fn what_is_written_through_survives_without_a_sync_call() {
    let mut config = steady();
    config.files[0].durability = Durability::WriteThrough;
    let mut bench = bench(config, 1);
    bench.write(0, 4096, 9);
    bench.submit(Wait::ONE);
    for seed in 0..16 {
        let mut data = vec![0; 4096];
        bench.device.crash(seed)[0].read(4096, &mut data);
        assert!(data.iter().all(|byte| *byte == 9));
    }
}

#[test]
fn a_failed_sync_call_makes_nothing_durable() {
    let mut config = steady();
    config.faults.eio_at = vec![1];
    let mut bench = bench(config, 1);
    bench.write(0, 0, 7);
    bench.submit(Wait::ONE);
    bench.push(0, RequestOp::Fsync, 0);
    assert_eq!(bench.submit(Wait::ONE), [(0, Err(IoFailure(libc::EIO)))]);
    let lost = (0..32).filter(|seed| {
        let mut byte = [0];
        bench.device.crash(*seed)[0].read(0, &mut byte);
        byte == [0]
    });
    assert!(lost.count() > 4);
}

#[test]
fn engines_on_one_device_share_its_channels_and_its_bytes() {
    let mut first = bench(SimConfig { channels: 1, ..steady() }, 1);
    let mut second = SimEngine::new(first.device.clone(), 1);
    let (_pool, mut buffers) = BufferPool::new(1, BLOCK, Pages::Small).unwrap();
    first.write(0, 0, 5);
    first.submit(Wait::NO);
    let (op, buffer) = (RequestOp::Read, buffers.pop());
    second.push(Request { token: 0, op, file: FileIndex(0), offset: 0, length: BLOCK, buffer });
    let mut completions = Vec::new();
    second.submit(Wait::ONE, &mut completions).unwrap();
    assert_eq!(first.now_ns(), 2_000);
    assert!(completions[0].buffer.as_ref().unwrap().iter().all(|byte| *byte == 5));
    assert_eq!(first.submit(Wait::NO), [(0, Ok(BLOCK))]);
}
