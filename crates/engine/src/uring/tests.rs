//! What only a ring does: requests that never end by themselves, timeouts in the kernel, refusal by policy.

use std::io::{PipeReader, PipeWriter, Write};

use iostall_measure::Feature;

use super::*;
use crate::buffer::Pages;
use crate::request::FileIndex;

/// A ring on the reading end of an empty pipe: its reads stay in flight until something is written.
fn ring_on_pipe(capacity: u32) -> (UringEngine, Vec<Buffer>, PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let (pool, buffers) = BufferPool::new(capacity, 4096, Pages::Small).unwrap();
    let config = UringConfig { capacity, files: &[FileHandle::from(&reader)], buffers: Some(&pool) };
    (UringEngine::new(&config).unwrap(), buffers, reader, writer)
}

fn read(token: u32, buffer: Option<Buffer>) -> Request {
    Request { token, op: RequestOp::Read, file: FileIndex(0), offset: 0, length: 4096, buffer }
}

#[test]
fn a_wait_ends_with_its_time_and_the_request_stays_in_flight() {
    let (mut engine, mut buffers, _reader, mut writer) = ring_on_pipe(4);
    let mut completions = Vec::new();
    engine.push(read(2, buffers.pop()));
    let clock = MonotonicClock::new();
    engine
        .submit(Wait { completions: 1, timeout_ns: Some(3_000_000), batch_ns: None }, &mut completions)
        .unwrap();
    assert!(clock.now_ns() >= 3_000_000);
    assert_eq!((completions.len(), engine.in_flight()), (0, 1));
    engine
        .submit(Wait { completions: 1, timeout_ns: Some(1_000_000), batch_ns: None }, &mut completions)
        .unwrap();
    engine.submit(Wait::NO, &mut completions).unwrap();
    assert_eq!((completions.len(), engine.in_flight()), (0, 1));

    writer.write_all(b"late").unwrap();
    engine.submit(Wait::ONE, &mut completions).unwrap();
    assert_eq!((completions[0].token, completions[0].result), (2, Ok(4)));
    assert_eq!(&completions[0].buffer.as_ref().unwrap()[..4], b"late");
}

#[test]
fn looking_for_completions_costs_no_call_while_there_are_none() {
    let (mut engine, mut buffers, _reader, mut writer) = ring_on_pipe(1);
    let mut completions = Vec::new();
    engine.push(read(0, buffers.pop()));
    engine.submit(Wait::NO, &mut completions).unwrap();
    let calls = engine.calls();
    for _ in 0..100 {
        engine.submit(Wait::NO, &mut completions).unwrap();
    }
    assert!(engine.calls() == calls || !engine.flags_pending_work);
    writer.write_all(b"x").unwrap();
    // Nobody waits; looking is enough to see it in the end.
    while completions.is_empty() {
        engine.submit(Wait::NO, &mut completions).unwrap();
    }
    assert_eq!(completions[0].result, Ok(1));
}

#[test]
fn dropping_a_ring_cancels_what_would_never_end() {
    for handed_over in [0, 3, 8] {
        let (mut engine, mut buffers, _reader, _writer) = ring_on_pipe(8);
        for token in 0..8 {
            engine.push(read(token, buffers.pop()));
            if token + 1 == handed_over {
                engine.submit(Wait::NO, &mut Vec::new()).unwrap();
            }
        }
        drop(engine);
    }
}

#[test]
fn a_panic_between_push_and_completion_gives_no_memory_away() {
    let unwound = std::thread::spawn(|| {
        let (mut engine, mut buffers, _reader, _writer) = ring_on_pipe(2);
        engine.push(read(0, buffers.pop()));
        engine.submit(Wait::NO, &mut Vec::new()).unwrap();
        engine.push(read(0, buffers.pop()));
    });
    assert!(unwound.join().is_err());
}

#[test]
fn buffers_of_another_pool_and_of_registered_pieces_all_work() {
    let (mut engine, mut own, _reader, mut writer) = ring_on_pipe(2);
    let (_pool, mut others) = BufferPool::new(1, 4096, Pages::Small).unwrap();
    engine.push(read(0, own.pop()));
    engine.push(read(1, others.pop()));
    let mut completions = Vec::new();
    engine.submit(Wait::NO, &mut completions).unwrap();
    for _ in 0..2 {
        writer.write_all(b"one").unwrap();
        engine.submit(Wait::ONE, &mut completions).unwrap();
    }
    assert!(completions.iter().all(|completion| completion.result == Ok(3)));
    assert!(completions.iter().all(|completion| &completion.buffer.as_ref().unwrap()[..3] == b"one"));
}

#[test]
fn more_rings_than_a_thread_may_register_can_be_made_one_after_the_other() {
    for _ in 0..40 {
        let (engine, ..) = ring_on_pipe(1);
        assert!(engine.report().refused.iter().all(|refused| refused.feature != Feature::RegisteredRing));
    }
}

#[test]
fn a_capacity_that_no_ring_has_is_refused() {
    for capacity in [0, CAPACITY_MAX + 1] {
        let error = UringEngine::new(&UringConfig { capacity, files: &[], buffers: None }).unwrap_err();
        assert!(error.to_string().contains("1 to 32768 requests"), "{error}");
    }
}

/// Forbids `io_uring_setup` on this thread, as the default profiles of containers do.
fn forbid_rings() {
    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
    let refuse = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EPERM).unwrap();
    let statement =
        |code: u32, k: u32, jf: u8| libc::sock_filter { code: u16::try_from(code).unwrap(), jt: 0, jf, k };
    let call = u32::try_from(libc::SYS_io_uring_setup).unwrap();
    let mut program = [
        // The number of the call is the first word of `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call, 1),
        statement(libc::BPF_RET | libc::BPF_K, refuse, 0),
        statement(libc::BPF_RET | libc::BPF_K, ALLOW, 0),
    ];
    let filter =
        libc::sock_fprog { len: u16::try_from(program.len()).unwrap(), filter: program.as_mut_ptr() };
    // SAFETY: the filter and its program live through both calls, and only this thread comes under it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter), 0);
    }
}

#[test]
fn a_ring_forbidden_by_seccomp_is_unavailable_with_cause_and_hint() {
    let refused = std::thread::spawn(|| {
        forbid_rings();
        UringEngine::new(&UringConfig { capacity: 1, files: &[], buffers: None }).map(|_| ()).unwrap_err()
    });
    match refused.join().unwrap() {
        EngineError::Unavailable { engine, cause, hint } => {
            assert_eq!(engine, "io_uring");
            assert!(cause.contains("seccomp") || cause.contains("io_uring_disabled"), "{cause}");
            assert!(hint.contains("io_uring"), "{hint}");
        }
        EngineError::System { .. } => panic!("a policy is no failure"),
    }
}
