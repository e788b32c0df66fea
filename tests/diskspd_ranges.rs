//! Compares the ranges in DiskSpd's report with the requests that the load generates from the same command
//! line.

use std::collections::BTreeSet;

use iostall_diskspd::command_line::{Parsed, Surroundings, parse};
use iostall_diskspd::{DiskspdProfile, to_profile};
use iostall_load::{StreamPlace, StreamPlan};
use iostall_model::RoleProfile;
use proptest::prelude::*;

fn profile(line: &str) -> Option<DiskspdProfile> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&words, &Surroundings { exists: &|_| false, clock_seed: 0 }) {
        Ok(Parsed::Run(request)) => Some(request.profile),
        _ => None,
    }
}

fn role(profile: &DiskspdProfile) -> RoleProfile {
    to_profile(profile).unwrap().profile.spans.remove(0).roles.remove(0)
}

/// Offsets that the plan for `profile`'s first target generates on `size_bytes`.
fn offsets(profile: &DiskspdProfile, size_bytes: u64, count: usize) -> Option<Vec<u64>> {
    let place = StreamPlace {
        target_size_bytes: size_bytes,
        worker_index: 0,
        workers: 1,
        stream_number: 0,
        seed: 3,
        sector_align: 512,
    };
    let mut plan = StreamPlan::new(&role(profile), place, None).ok()?;
    Some((0..count).map(|_| plan.next().offset).collect())
}

fn any_distribution() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec((0_u32..50, 1_u32..50), 1..5).prop_map(|parts| {
            let parts: Vec<String> = parts.iter().map(|(io, span)| format!("{io}/{span}")).collect();
            format!("-rdpct{}", parts.join(":"))
        }),
        prop::collection::vec((0_u32..50, 4_u32..80), 1..5).prop_map(|parts| {
            let parts: Vec<String> = parts.iter().map(|(io, span)| format!("{io}/{span}K")).collect();
            format!("-rdabs{}", parts.join(":"))
        }),
    ]
}

proptest! {
    /// The report rounded range ends down and the plan to the nearest block, and they assigned ranges smaller
    /// than a block to different neighbours, so the report did not show the run's ranges.
    #[test]
    fn the_ranges_of_the_report_are_those_that_the_plan_draws_from(
        distribution in any_distribution(),
        (block, align) in prop_oneof![Just((4096_u64, 4096_u64)), Just((8192, 4096)), Just((4096, 8192))],
        base in 0_u64..4,
        size in 20_u64..400,
    ) {
        let line = format!("-b{block} -r{align} -B{} {distribution} F", base * 4096);
        let Some(profile) = profile(&line) else { return Err(TestCaseError::reject("no distribution")) };
        let size_bytes = size * 1024;
        let ranges = profile.time_spans[0].targets[0].effective_ranges(size_bytes);
        let Some(offsets) = offsets(&profile, size_bytes, 20_000) else {
            prop_assert!(ranges.is_empty());
            return Ok(());
        };
        let (base, block) = (base * 4096, block);
        let mut seen = 0;
        for range in &ranges {
            let inside: Vec<u64> =
                offsets.iter().map(|offset| offset - base).filter(|at| (range.start..range.end).contains(at)).collect();
            seen += inside.len();
            let share = inside.len() as f64 / offsets.len() as f64 * 100.0;
            prop_assert!((share - range.io_pct).abs() < 2.0, "{line}: {share} for {range:?}");
            let slots: BTreeSet<u64> = (range.start..range.end)
                .step_by(usize::try_from(align).unwrap())
                .filter(|at| base + at + block <= size_bytes)
                .collect();
            if range.io_pct >= 5.0 {
                prop_assert_eq!(inside.into_iter().collect::<BTreeSet<u64>>(), slots, "{}", &line);
            }
        }
        prop_assert_eq!(seen, offsets.len(), "{} {:?}", &line, &ranges);
    }
}
