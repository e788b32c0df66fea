//! Checks memory and CPU limits before a span starts: a process killed by the kernel for lack of memory could
//! not report the reason.

use std::collections::BTreeSet;

use iostall_engine::cpu::allowed_cpus;
use iostall_host::memory_available_bytes;
use iostall_measure::ByteCount;
use iostall_model::profile::WriteData;
use iostall_model::{Profile, RoleProfile};
use thiserror::Error;

use crate::job::SpanJob;

/// Most requests in flight of one worker: the limit of a ring.
const IN_FLIGHT_MAX: u64 = 32_768;
/// Above this rate, arrivals per second of one stream, planning alone takes all CPU time.
const RATE_IOPS_MAX: f64 = 10_000_000.0;
/// A worker's statistics and ring; buffers come on top.
const WORKER_BYTES: u64 = 4 << 20;
/// Buffers are mapped in multiples of this.
const PIECE_BYTES: u64 = 2 << 20;
/// Share of the free memory that a span may use.
const MEMORY_SHARE: f64 = 0.8;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResourceError {
    #[error("the load needs about {needed} of memory for its buffers and counts, and {available} are free")]
    Memory { needed: ByteCount, available: ByteCount },
    #[error("this process may not use CPU {processor}, only {allowed}")]
    Processor {
        processor: u32,
        /// The available ones: `0-3 8`.
        allowed: String,
    },
    #[error(
        "role {role:?} asks for {in_flight} requests in flight for each worker; one takes at most {IN_FLIGHT_MAX}"
    )]
    InFlight { role: String, in_flight: u64 },
    #[error(
        "role {role:?} asks for {rate_iops} requests a second of each worker on each target; at most 10000000 can be planned"
    )]
    Rate { role: String, rate_iops: String },
}

impl ResourceError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Memory { .. } => {
                "ask for fewer workers (--workers, -t), fewer requests in flight (--queue-depth, -o), smaller blocks \
                 (--block-size, -b) or less data to write from (-Z)"
            }
            Self::Processor { .. } => "name available CPUs, or leave out the list (pin, -a)",
            Self::InFlight { .. } => {
                "ask for fewer requests in flight (--queue-depth, -o), or spread them over more workers (--workers, -t)"
            }
            Self::Rate { .. } => {
                "ask for a lower rate (--rate, -g), or none at all to find what the storage can do"
            }
        }
    }
}

/// Refuses a profile that pins workers to processors this process may not use. Checks all spans before the
/// first one starts and before any file is created.
pub fn check_pins(profile: &Profile) -> Result<(), ResourceError> {
    let allowed = allowed();
    profile.spans.iter().flat_map(|span| &span.roles).try_for_each(|role| check_processors(role, &allowed))
}

fn allowed() -> BTreeSet<u32> {
    allowed_cpus().unwrap_or_default().into_iter().collect()
}

/// Refuses a span that exceeds the machine's resources. `targets` returns the number of targets of a role.
pub(crate) fn check_resources(
    job: &SpanJob<'_>,
    targets: impl Fn(&RoleProfile) -> u64,
) -> Result<(), ResourceError> {
    let allowed = allowed();
    let mut needed = 0_u64;
    for role in &job.span.roles {
        let targets = targets(role).max(1);
        check_processors(role, &allowed)?;
        check_rate(role, targets)?;
        let streams = if role.target_weights.is_empty() { targets } else { 1 };
        let in_flight = u64::from(role.queue_depth).saturating_mul(streams);
        if in_flight > IN_FLIGHT_MAX {
            return Err(ResourceError::InFlight { role: role.name.clone(), in_flight });
        }
        needed = needed.saturating_add(memory_bytes(role, in_flight));
    }
    check_memory(needed, memory_available_bytes())
}

fn check_memory(needed: u64, available: Option<u64>) -> Result<(), ResourceError> {
    match available {
        Some(available) if needed as f64 > available as f64 * MEMORY_SHARE => {
            Err(ResourceError::Memory { needed: ByteCount(needed), available: ByteCount(available) })
        }
        _ => Ok(()),
    }
}

fn memory_bytes(role: &RoleProfile, in_flight: u64) -> u64 {
    let buffers = u64::from(role.block_size.largest().bytes()).saturating_mul(in_flight);
    let worker = buffers.saturating_add(PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES + WORKER_BYTES;
    let pool = match &role.write_data {
        Some(WriteData::Pool { size, .. }) => size.bytes(),
        _ => 0,
    };
    worker.saturating_mul(u64::from(role.workers)).saturating_add(pool)
}

fn check_processors(role: &RoleProfile, allowed: &BTreeSet<u32>) -> Result<(), ResourceError> {
    let asked = role.pin.iter().flatten();
    match asked.copied().find(|processor| !allowed.is_empty() && !allowed.contains(processor)) {
        Some(processor) => Err(ResourceError::Processor { processor, allowed: runs(allowed) }),
        None => Ok(()),
    }
}

fn check_rate(role: &RoleProfile, targets: u64) -> Result<(), ResourceError> {
    let Some(rate) = role.rate else { return Ok(()) };
    let rate_iops = rate.iops(role.block_size.mean_bytes()) / (f64::from(role.workers) * targets as f64);
    if rate_iops > RATE_IOPS_MAX {
        return Err(ResourceError::Rate { role: role.name.clone(), rate_iops: format!("{rate_iops:.0}") });
    }
    Ok(())
}

/// Numbers as ranges: `0-3 8`.
fn runs(numbers: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let format = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(format).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::EngineKind;
    use iostall_model::SpanProfile;

    fn refusal(role: &str) -> Option<ResourceError> {
        let span: SpanProfile = toml::from_str(&format!("[[roles]]\nname = 'data'\n{role}")).unwrap();
        let job = SpanJob {
            span: &span,
            seed: 0,
            targets: &[],
            engine: &EngineKind::Null,
            fallback: None,
            devices: &[],
            speed: &crate::Speed::default(),
            recorded: &[],
        };
        check_resources(&job, |_| 1).err()
    }

    #[test]
    fn a_common_load_is_let_through() {
        assert_eq!(refusal("block-size = '64K'\nqueue-depth = 32\nworkers = 4"), None);
    }

    #[test]
    fn buffers_beyond_the_memory_are_refused_before_they_are_taken() {
        // -b1G -o64 -t8 was killed by the kernel, and -Z1T aborted with a stack backtrace.
        let huge = refusal("block-size = '1G'\nqueue-depth = 4096\nworkers = 512");
        assert!(matches!(huge, Some(ResourceError::Memory { .. })), "{huge:?}");
        let pool = "block-size = '8K'\nwrite-pct = 100\nwrite-data = { pool = { size = '1024G' } }";
        assert!(matches!(refusal(pool), Some(ResourceError::Memory { .. })));
    }

    #[test]
    fn four_fifths_of_the_free_memory_may_be_used_and_what_is_not_known_limits_nothing() {
        assert_eq!(check_memory(800, Some(1_000)), Ok(()));
        let refused = ResourceError::Memory { needed: ByteCount(801), available: ByteCount(1_000) };
        assert_eq!(check_memory(801, Some(1_000)), Err(refused));
        assert_eq!(check_memory(u64::MAX, None), Ok(()));
    }

    #[test]
    fn a_worker_needs_its_buffers_in_whole_pieces_beside_its_counts_and_the_pool_once() {
        let role = |more: &str| -> RoleProfile {
            toml::from_str(&format!("name = 'data'\nblock-size = '64K'\n{more}")).unwrap()
        };
        assert_eq!(memory_bytes(&role("workers = 1"), 32), PIECE_BYTES + WORKER_BYTES);
        assert_eq!(memory_bytes(&role("workers = 1"), 33), 2 * PIECE_BYTES + WORKER_BYTES);
        let pool = "write-pct = 100\nwrite-data = { pool = { size = '1G' } }\nworkers = 3";
        assert_eq!(memory_bytes(&role(pool), 32), 3 * (PIECE_BYTES + WORKER_BYTES) + (1 << 30));
    }

    /// "It needs too much" without a word on what to change sent people to the source.
    #[test]
    fn every_refusal_names_the_options_that_help() {
        let all = [
            (ResourceError::Memory { needed: ByteCount(2), available: ByteCount(1) }, "--workers"),
            (ResourceError::Processor { processor: 9, allowed: "0-1".into() }, "pin"),
            (ResourceError::InFlight { role: "data".into(), in_flight: 9 }, "--queue-depth"),
            (ResourceError::Rate { role: "data".into(), rate_iops: "9".into() }, "--rate"),
        ];
        for (refusal, option) in all {
            assert!(refusal.hint().contains(option), "{refusal}");
        }
    }

    #[test]
    fn processors_that_are_not_there_are_named_beside_those_that_are() {
        let Some(ResourceError::Processor { processor, allowed }) =
            refusal("block-size = '8K'\npin = [1000]")
        else {
            panic!("let through");
        };
        assert_eq!(processor, 1000);
        assert!(!allowed.is_empty());
        assert_eq!(runs(&BTreeSet::from([0, 1, 2, 3, 8])), "0-3 8");
    }

    #[test]
    fn more_than_a_worker_can_count_or_keep_in_flight_is_refused() {
        let fast = refusal("block-size = '4K'\nrate = 4000000000");
        assert!(matches!(fast, Some(ResourceError::Rate { .. })), "{fast:?}");
        let deep = refusal("block-size = '4K'\nqueue-depth = 100000");
        assert!(matches!(deep, Some(ResourceError::InFlight { in_flight: 100_000, .. })), "{deep:?}");
    }
}
