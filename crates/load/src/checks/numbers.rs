//! Checks of the numbers: failures, too few samples, missing parts.

use iostall_measure::number::number;
use iostall_measure::{Nanos, Op, Percentile};
use iostall_model::outcome::{IntervalPoint, RoleOutcome, SpanOutcome};
use iostall_model::{RoleProfile, SpanProfile, Warning, WarningCode};
use iostall_stats::burst::{Burst, burst};

use super::Evidence;

/// A shorter measured part gets a warning: caches, burst credits and flash all have longer memories.
const SHORT_NS: u64 = 10_000_000_000;

/// A pace with fewer requests in the measured part cannot have a 99th percentile.
const FEW_DUE: f64 = 1000.0;

/// A request without an answer for this long at the end gets a warning.
const UNFINISHED_NS: u64 = 1_000_000_000;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (span, asked) in evidence.outcome.spans.iter().zip(&evidence.outcome.profile.spans) {
        warnings.extend(asked.roles.iter().filter_map(batched));
        if span.interrupted {
            let message = if span.measured_ns == 0 {
                "ended before the measured part began: there are no numbers".to_owned()
            } else {
                format!(
                    "ended after {} of the measured part; the numbers hold for that part only",
                    Nanos(span.measured_ns / 1_000_000 * 1_000_000)
                )
            };
            warnings.push(Warning::new(WarningCode::Interrupted, message));
        }
        for (role, profile) in span.roles.iter().zip(&asked.roles) {
            warnings.extend(failures(role));
            warnings.extend(unfinished(role));
            warnings.extend(few_samples(role, profile, span.measured_ns));
            warnings.extend(changed_rate(role));
        }
        warnings.extend(short(span, asked));
    }
    warnings
}

/// A batch delays the time stamp of all its completions but the last.
fn batched(role: &RoleProfile) -> Option<Warning> {
    let wait = role.batch_wait.unwrap_or(RoleProfile::BATCH_WAIT);
    role.batch.filter(|batch| *batch > 1).map(|batch| {
        Warning::new(
            WarningCode::LatencyBatched,
            format!("each worker took completions in batches of {batch} or after {wait}: latencies include that wait"),
        )
        .about(&role.name)
        .hint("for latencies run without --batch; with it, rates and CPU time are what counts")
    })
}

fn failures(role: &RoleOutcome) -> Vec<Warning> {
    role.errors
        .iter()
        .map(|error| {
            Warning::new(
                WarningCode::IoErrors,
                format!(
                    "{} {} requests failed with {} ({}), the first at offset {}, length {}",
                    error.count,
                    error.op.name(),
                    error.kind,
                    error.message,
                    error.first_offset,
                    error.first_length
                ),
            )
            .about(&role.name)
            .hint("failed requests are in no rate and no latency: find the cause before using these numbers")
        })
        .collect()
}

fn unfinished(role: &RoleOutcome) -> Option<Warning> {
    (role.unfinished_age_ns_max >= UNFINISHED_NS).then(|| {
        Warning::new(
            WarningCode::UnfinishedRequests,
            format!(
                "{} requests were unanswered when the measured part ended, the oldest for {:.1} s; they are in no percentile",
                role.unfinished,
                Nanos(role.unfinished_age_ns_max).seconds()
            ),
        )
        .about(&role.name)
        .hint("the storage stalled at the end: run longer, and read the series beside the percentiles")
    })
}

/// A pace that asks for few requests, and syncs after many writes, are as the profile wants them: their percentiles are
/// marked where they are shown.
fn few_samples(role: &RoleOutcome, asked: &RoleProfile, measured_ns: u64) -> Option<Warning> {
    let rate = role.open_loop.as_ref().map(|open| open.rate_asked_iops).filter(|rate| *rate > 0.0);
    let due = rate.map(|rate| rate * Nanos(measured_ns).seconds());
    if due.is_some_and(|due| due < FEW_DUE) {
        return None;
    }
    let is_rare = |op: &Op| *op == Op::Sync && asked.sync.is_some_and(|sync| sync.every > 1);
    let thin: Vec<String> = Op::ALL
        .into_iter()
        .filter(|op| !is_rare(op))
        .filter_map(|op| Some((role.op(op)?.count(), op)))
        .filter(|(count, _)| *count > 0 && !Percentile::P99.is_supported_by(*count))
        .map(|(count, op)| format!("{count} {}s", op.name()))
        .collect();
    (!thin.is_empty()).then(|| {
        Warning::new(
            WarningCode::FewSamples,
            format!("{}: too few for a 99th percentile, which needs 1000", thin.join(", ")),
        )
        .about(&role.name)
        .hint("run longer")
    })
}

fn short(span: &SpanOutcome, asked: &SpanProfile) -> Option<Warning> {
    let why = if span.measured_ns < asked.duration.0 { ", because the load ended with its size" } else { "" };
    (!span.interrupted && span.measured_ns < SHORT_NS).then(|| {
        Warning::new(
            WarningCode::ShortRun,
            format!(
                "the measured part is {:.1} s{why}: short tests see caches and burst credits, not the storage",
                Nanos(span.measured_ns).seconds()
            ),
        )
        .hint("use --duration 60s or more, and --warmup long enough for caches to fill")
    })
}

/// Fewest intervals of a level.
const SIDE_MIN: usize = 5;
/// A smaller change is not reported.
const SHARE_MIN: f64 = 0.2;

/// A level that ended: an average over both levels is the rate of neither. A rate that the profile asks for says nothing of the storage.
pub(super) fn changed_rate(role: &RoleOutcome) -> Option<Warning> {
    if role.open_loop.is_some() {
        return None;
    }
    let length_ns = role.series.first()?.length_ns;
    let whole = role.series.iter().filter(|interval| interval.length_ns == length_ns);
    let counts: Vec<u64> = whole.map(requests).collect();
    let found = burst(&counts, length_ns as f64 / 1e9, SIDE_MIN, SHARE_MIN)?;
    let Burst { change, lasted_s, beyond } = found;
    let verb = if change.after < change.before { "fell" } else { "rose" };
    let mut message = format!(
        "the rate {verb} from {} to {} IOPS ({:+.0} %) after {lasted_s:.0} s of the measured part and stayed there",
        number(change.before),
        number(change.after),
        change.share() * 100.0
    );
    let hint = match found.refill_s() {
        Some(refill_s) => {
            message += &format!(
                ": until then {} requests were answered beyond the later rate, which fills a bucket of that size in {refill_s:.0} s",
                number(beyond)
            );
            "burst credits or a write cache that ran out, or another load that began: the later rate is what lasts; \
             to measure it alone, choose a --warmup that outlasts the first"
        }
        None => {
            "a cache that filled, or another load that ended: choose a --warmup that outlasts the first rate, and \
             --caching direct"
        }
    };
    Some(Warning::new(WarningCode::RateChanged, message).about(&role.name).hint(hint))
}

/// Reads and writes in `interval`: a flush is no request for data.
fn requests(interval: &IntervalPoint) -> u64 {
    interval.ops.iter().filter(|op| op.op != Op::Sync).map(|op| op.count).sum()
}
