//! Whatever is asked for.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A role as a property test draws it, with every number small enough for the oracle to list all slots.
#[derive(Clone, Debug)]
struct Drawn {
    region: (u64, u64),
    block: u64,
    step: u64,
    workers: u32,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0_u64..20, 1_u64..60, 1_u64..6, 1_u64..9, 1_u32..5).prop_map(|(start, length, block, step, workers)| {
        Drawn { region: (start * 512, (start + length) * 512), block: block * 512, step: step * 512, workers }
    })
}

impl Drawn {
    fn fields(&self) -> String {
        let (start, end) = self.region;
        format!("block-size = '{}'\nworkers = {}\nregion = '{start}..{end}'\n", self.block, self.workers)
    }

    /// Every start that a pedestrian would list.
    fn slots(&self) -> Vec<u64> {
        let (start, end) = self.region;
        (start..end)
            .step_by(usize::try_from(self.step).unwrap())
            .filter(|at| at + self.block <= end)
            .collect()
    }

    fn plan(&self, fields: &str, worker_index: u32, seed: u64) -> Result<StreamPlan, PlanError> {
        let stream_number = u64::from(worker_index);
        let at = StreamPlace { worker_index, workers: self.workers, stream_number, seed, ..place(1 << 20) };
        StreamPlan::new(&role(fields), at, None)
    }
}

proptest! {
    #[test]
    fn random_slots_are_those_of_a_naive_list(
        drawn in drawn(),
        seed: u64,
        distribution in prop_oneof![
            Just("uniform"), Just("zipf:0.3"), Just("zipf:1"), Just("hot:60/30"), Just("ranges:40/20,60/80"),
        ],
    ) {
        let fields = format!("{}align = {}\ndistribution = '{distribution}'", drawn.fields(), drawn.step);
        let slots = drawn.slots();
        match drawn.plan(&fields, 0, seed) {
            Err(_) => prop_assert!(slots.is_empty()),
            Ok(mut plan) => {
                let seen: BTreeSet<u64> = requests(&mut plan, 20_000).iter().map(|r| r.offset).collect();
                prop_assert_eq!(seen.into_iter().collect::<Vec<_>>(), slots);
            }
        }
    }

    #[test]
    fn sequences_with_an_offset_are_those_of_a_naive_walk(drawn in drawn(), offset in 0_u64..8) {
        let fields = format!(
            "{}access = 'sequential'\nstride = {}\nworker-offset = {}",
            drawn.fields(), drawn.step, offset * 512,
        );
        let (start, end) = drawn.region;
        for worker in 0..drawn.workers {
            let first = start + u64::from(worker) * offset * 512;
            match drawn.plan(&fields, worker, 1) {
                Err(_) => prop_assert!(first + drawn.block > end),
                Ok(mut plan) => {
                    let mut at = first;
                    for request in requests(&mut plan, 200) {
                        prop_assert_eq!(request.offset, at);
                        at += drawn.step;
                        if at + drawn.block > end {
                            at = start + (first - start) % drawn.step;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn workers_that_cut_a_region_touch_each_position_once_a_lap(drawn in drawn()) {
        let fields = format!("{}access = 'sequential'\nstride = {}", drawn.fields(), drawn.step);
        let slots = drawn.slots();
        let mut seen = Vec::new();
        for worker in 0..drawn.workers {
            let Ok(mut plan) = drawn.plan(&fields, worker, 1) else {
                prop_assert!(slots.len() < drawn.workers as usize);
                return Ok(());
            };
            let first = plan.next().offset;
            seen.push(first);
            seen.extend(std::iter::repeat_with(|| plan.next().offset).take_while(|at| *at != first));
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, slots);
    }

    #[test]
    fn nothing_ever_leaves_the_region(
        drawn in drawn(),
        seed: u64,
        jump in 0_u32..=100,
        sequential: bool,
        larger in 1_u64..12,
    ) {
        let (start, end) = drawn.region;
        let access = if sequential { "access = 'sequential'".into() } else { format!("random-pct = {jump}") };
        let fields = format!(
            "block-size = '{}:2,{}:1'\nregion = '{start}..{end}'\nworkers = {}\nwrite-pct = 50\n{access}",
            drawn.block, larger * 512, drawn.workers,
        );
        for worker in 0..drawn.workers {
            if let Ok(mut plan) = drawn.plan(&fields, worker, seed) {
                for request in requests(&mut plan, 500) {
                    prop_assert!(request.offset >= start && request.offset + u64::from(request.length) <= end);
                    prop_assert_eq!(request.offset % 512, 0);
                }
            }
        }
    }
}
