use proptest::prelude::*;

use super::*;
use crate::command_line::{Parsed, Surroundings, parse};

fn profile(line: &str) -> DiskspdProfile {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&words, &Surroundings { exists: &|_| false, clock_seed: 0 }) {
        Ok(Parsed::Run(request)) => request.profile,
        other => panic!("{line}: {other:?}"),
    }
}

fn mapped(line: &str) -> MappedProfile {
    to_profile(&profile(line)).unwrap()
}

fn role(line: &str) -> model::RoleProfile {
    mapped(line).profile.spans.remove(0).roles.remove(0)
}

#[test]
fn a_random_read_becomes_a_role_with_the_same_threads_and_depth() {
    let role = role("-d15 -o32 -t2 -b64K -h -r -L -w0 F");
    assert_eq!((role.workers, role.queue_depth), (2, 32));
    assert_eq!((role.caching, role.durability), (Caching::Direct, Durability::WriteThrough));
    assert_eq!((role.access, role.align), (model::Access::Random, Some(ByteCount(65536))));
    assert_eq!(role.write_data, None);
    assert_eq!(role.pin, Some(vec![]));
}

/// Our workers would otherwise cut the target among them; DiskSpd's begin together.
#[test]
fn threads_without_a_stride_all_begin_at_the_start() {
    assert_eq!(role("-t4 F").worker_offset, Some(ByteCount(0)));
    assert_eq!(role("-t4 -T1M F").worker_offset, Some(ByteCount(1 << 20)));
    let interlocked = role("-t4 -si F");
    assert!(interlocked.shared_sequence && interlocked.worker_offset.is_none());
    assert_eq!(role("-s0 F").stride, Some(ByteCount(0)));
}

#[test]
fn the_linux_port_left_threads_on_one_sequence_of_offsets_and_here_the_seed_is_the_runs() {
    let mapped = mapped("-z42 -r -t2 F");
    assert_eq!(mapped.profile.seed, 42);
    assert_eq!(mapped.profile.spans[0].roles[0].workers, 2);
}

#[test]
fn a_rate_is_each_threads_on_each_target_and_neither_wraps_nor_is_cut_off() {
    assert_eq!(role("-g100000i -t4 -b64K F").rate, Some(Rate::Iops(400_000.0)));
    assert_eq!(role("-g1i -b512 F").rate, Some(Rate::Iops(1.0)));
    assert_eq!(role("-g5000000 -t2 F").rate, Some(Rate::BytesPerSecond(1e10)));
    assert_eq!(role("-g100i -F3 a b").rate, Some(Rate::Iops(600.0)));
}

#[test]
fn a_thread_pool_is_one_role_over_all_targets() {
    let mut mapped = mapped("-F3 -o8 a b");
    let roles = std::mem::take(&mut mapped.profile.spans[0].roles);
    assert_eq!((roles.len(), roles[0].workers, roles[0].queue_depth), (1, 3, 8));
    assert_eq!(roles[0].targets, ["target1", "target2"]);
    assert!(roles[0].target_weights.is_empty());
    let drawn = role("-F3 -O16 a b");
    assert_eq!((drawn.queue_depth, drawn.target_weights), (16, vec![1, 1]));

    let mut differs = profile("-F3 a b");
    differs.time_spans[0].targets[1].write_pct = 50;
    assert_eq!(to_profile(&differs), Err(MappingError::PoolDiffers { path: "b".into() }));
}

#[test]
fn a_target_that_is_twice_in_a_pool_is_refused() {
    // The story: its requests were counted twice with -o, and with -O the worker broke.
    for line in ["-F2 -o4 a a", "-F2 -O4 a b a"] {
        assert_eq!(to_profile(&profile(line)), Err(MappingError::PoolRepeats { path: "a".into() }), "{line}");
    }
    assert!(to_profile(&profile("-t2 a a")).is_ok());
}

#[test]
fn targets_with_threads_of_their_own_are_roles_in_order() {
    let mapped = mapped("-t2 -c1G a b");
    let names: Vec<_> = mapped.targets.iter().map(|it| (it.name.as_str(), it.file.path.as_str())).collect();
    assert_eq!(names, [("target1", "a"), ("target2", "b")]);
    assert_eq!(mapped.targets[0].file.made_bytes, Some(1 << 30));
    assert_eq!(mapped.profile.spans[0].roles.len(), 2);
    assert_eq!(mapped.profile.spans[0].roles[1].targets, ["target2"]);
}

#[test]
fn a_burst_is_shared_by_the_threads_and_a_rate_wins_over_it() {
    let burst = role("-i10 -j20 -t3 F").burst.unwrap();
    assert_eq!((burst.requests, burst.pause), (3, Nanos(20_000_000)));
    assert_eq!(role("-i10 -j20 -g5 F").burst, None);
    assert!(!mapped("-i1 -j20 -t3 F").notes.is_empty());
}

#[test]
fn what_is_written_is_kept() {
    assert_eq!(role("-w100 F").write_data, Some(model::WriteData::Ramp));
    assert_eq!(role("-w100 -Zr F").write_data, Some(model::WriteData::Fresh));
    assert_eq!(role("-w100 -Z F").compressible_pct, Percent::HUNDRED);
    let pool = model::WriteData::Pool { size: ByteCount(1 << 20), file: Some("x.bin".into()) };
    assert_eq!(role("-w100 -Z1M,x.bin F").write_data, Some(pool));
}

#[test]
fn ranges_and_distributions_are_kept() {
    assert_eq!(role("-B1G:1G F").region.to_string(), "1073741824..2147483648");
    assert_eq!(role("-r -rdpct90/10:10/90 F").distribution.to_string(), "ranges:90/10,10/90");
    assert_eq!(role("-r -rdabs90/1G F").distribution.to_string(), "spans:90/1073741824,10/0");
    assert_eq!(role("-rs30 F").random_pct.map(Percent::percent), Some(30.0));
}

proptest! {
    #[test]
    fn what_runs_in_diskspd_maps_to_a_profile_that_survives_its_own_file_format(
        words in crate::arbitrary::words(),
    ) {
        let parsed = parse(&words, &Surroundings { exists: &|_| false, clock_seed: 0 });
        if let Ok(Parsed::Run(request)) = parsed
            && let Ok(mapped) = to_profile(&request.profile)
        {
            let text = serde_json::to_string(&mapped.profile).unwrap();
            prop_assert_eq!(serde_json::from_str::<model::Profile>(&text).unwrap(), mapped.profile);
        }
    }
}
