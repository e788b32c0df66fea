//! The writes of a load profile, as pages of a device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use iostall_load::{RunError, SharedSequence, StreamPlace, StreamPlan};
use iostall_measure::Op;
use iostall_model::flash::FlashSettings;
use iostall_model::profile::{Access, Bound, Profile, RoleProfile, SpanProfile};
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};

/// How often the writes of the profile go over the device before they repeat, and the most page writes: half a GiB of memory.
const FILLS: u64 = 8;
const PAGES_MAX: u64 = 1 << 27;
/// Requests a second of each request that a closed loop has in flight: a device that needs a millisecond for each.
const CLOSED_LOOP_IOPS: f64 = 1000.0;
/// Requests in a row that write nothing, after which nothing is expected to.
const READS_MAX: u64 = 10_000_000;

#[derive(Debug, Error)]
enum ProfileError {
    #[error("the profile {name:?} writes nothing")]
    NoWrites { name: String },
}

/// Whether a region is given in bytes: then only the whole device has it as it is.
pub(super) fn has_fixed_regions(profile: &Profile) -> bool {
    let is_fixed = |bound: &Bound| matches!(bound, Bound::Bytes(bytes) if bytes.0 > 0);
    let mut roles = profile.spans.iter().flat_map(|span| &span.roles);
    roles.any(|role| is_fixed(&role.region.start) || role.region.end.as_ref().is_some_and(is_fixed))
}

/// Every page that the profile writes to one target of the size of the device, in order; the spans one after the other, each with a
/// part that is as long as it takes.
pub(super) fn pages(profile: &Profile, settings: &FlashSettings) -> Result<Vec<u32>, SessionError> {
    let none = || {
        let hint = "roles write if they have write-pct above 0, such as those of the preset oltp".to_owned();
        let error = ProfileError::NoWrites { name: profile.name.clone() };
        SessionError::OfUseCase(UseCaseError::new(error, Some(hint)))
    };
    let whole = (u64::from(settings.user_pages) * FILLS).min(PAGES_MAX);
    let writes = |span: &&SpanProfile| span.roles.iter().any(RoleProfile::writes);
    let spans: Vec<&SpanProfile> = profile.spans.iter().filter(writes).collect();
    let length = |span: &SpanProfile| span.length_ns().max(1) as f64;
    let lengths: f64 = spans.iter().map(|span| length(span)).sum();
    let mut pages = Vec::new();
    let mut first_stream = 0;
    for span in spans {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u64")]
        let wanted = (whole as f64 * length(span) / lengths) as u64;
        first_stream = add_span(span, profile.seed, first_stream, settings, wanted, &mut pages)?;
    }
    if pages.is_empty() { Err(none()) } else { Ok(pages) }
}

struct Paced {
    plan: StreamPlan,
    interval_ns: u64,
}

/// Adds about `wanted` page writes, and returns the number of the next stream.
fn add_span(
    span: &SpanProfile,
    seed: u64,
    first_stream: u64,
    settings: &FlashSettings,
    wanted: u64,
    pages: &mut Vec<u32>,
) -> Result<u64, SessionError> {
    let mut streams = Vec::new();
    let mut number = first_stream;
    for role in &span.roles {
        let is_shared = role.shared_sequence && role.access == Access::Sequential;
        let shared = is_shared.then(|| Arc::new(SharedSequence::new()));
        for worker_index in 0..role.workers {
            let place = StreamPlace {
                target_size_bytes: settings.user_bytes(),
                worker_index,
                workers: role.workers,
                stream_number: number,
                seed,
                sector_align: 1,
            };
            number += 1;
            // What only reads changes nothing.
            if role.writes() {
                let plan = StreamPlan::new(role, place, shared.clone())
                    .map_err(|source| RunError::Plan { target: "the simulated device".to_owned(), source })?;
                streams.push(Paced { plan, interval_ns: interval_ns(role) });
            }
        }
    }
    // Whose turn is next: the earliest, of equal ones the first.
    let mut due: BinaryHeap<Reverse<(u64, usize)>> =
        (0..streams.len()).map(|stream| Reverse((streams[stream].interval_ns, stream))).collect();
    let page_bytes = u64::from(settings.page_bytes.max(1));
    let (mut left, mut reads) = (wanted, 0);
    while left > 0 && reads < READS_MAX {
        let Some(Reverse((now_ns, stream))) = due.pop() else { break };
        let Paced { plan, interval_ns } = &mut streams[stream];
        let planned = plan.next();
        due.push(Reverse((now_ns.saturating_add(*interval_ns), stream)));
        if planned.op != Op::Write {
            reads += 1;
            continue;
        }
        reads = 0;
        let end = planned.offset + u64::from(planned.length);
        let touched = planned.offset / page_bytes..end.div_ceil(page_bytes);
        left = left.saturating_sub((touched.end - touched.start).max(1));
        let on_device = |page: u64| u32::try_from(page).ok().filter(|page| *page < settings.user_pages);
        pages.extend(touched.filter_map(on_device));
    }
    Ok(number)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn interval_ns(role: &RoleProfile) -> u64 {
    let iops = match role.rate {
        Some(rate) => rate.iops(role.block_size.mean_bytes()) / f64::from(role.workers.max(1)),
        None => CLOSED_LOOP_IOPS * f64::from(role.queue_depth.max(1)),
    };
    ((1e9 / iops.max(1e-9)) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use iostall_load::parse_profile;
    use iostall_model::flash::{Collect, FlashCare, Separation, WritePattern};

    use super::*;

    fn settings() -> FlashSettings {
        FlashSettings {
            page_bytes: 4096,
            pages_per_block: 64,
            user_pages: 10_000,
            alpha: 1.07,
            collect: Collect::Greedy,
            separation: Separation::None,
            pattern: WritePattern::Uniform,
            trim_share: 0.0,
            care: FlashCare::default(),
            seed: 1,
        }
    }

    fn of(text: &str) -> Result<Vec<u32>, String> {
        let profile = parse_profile(&format!("name = 'p'\n{text}"), "test").unwrap();
        pages(&profile, &settings()).map_err(|error| error.to_string())
    }

    /// Eight in flight against two, half of which read: eight to one, and the second lies on the last tenth.
    #[test]
    fn roles_share_the_writes_by_what_they_have_in_flight_or_their_rates() {
        let log = "[[role]]\nname = 'log'\nblock-size = '4K'\nwrite-pct = 50\nregion = '90%..100%'\naccess = 'sequential'\n";
        let data = "[[role]]\nname = 'data'\nblock-size = '4K'\nwrite-pct = 100\nregion = '0%..90%'\n";
        for (data_pace, log_pace, share) in [
            ("queue-depth = 8\n", "queue-depth = 2\n", 8.0 / 9.0),
            ("rate = 3000\nworkers = 3\n", "rate = 2000\n", 3.0 / 4.0),
        ] {
            let found = of(&format!("{data}{data_pace}{log}{log_pace}")).unwrap();
            assert_eq!(found.len(), 80_000);
            let to_data = found.iter().filter(|page| **page < 9000).count() as f64 / 80_000.0;
            assert!((to_data - share).abs() < 0.01, "{to_data} for {share}");
        }
    }

    #[test]
    fn a_write_of_two_pages_is_two_and_a_profile_that_only_reads_is_refused() {
        let found =
            of("[[role]]\nname = 'd'\nblock-size = '8K'\nwrite-pct = 100\naccess = 'sequential'\n").unwrap();
        assert_eq!(found[..4], [0, 1, 2, 3]);
        let error = of("[[role]]\nname = 'd'\nblock-size = '8K'\n").unwrap_err();
        assert!(error.contains("writes nothing"), "{error}");
        let error = of("[[role]]\nname = 'd'\nblock-size = '1G'\nwrite-pct = 100\n").unwrap_err();
        assert!(error.contains("does not fit") || error.contains("device"), "{error}");
    }
}
