//! Whether a rate was one rate.

use iostall_measure::Op;
use iostall_measure::number::number;
use iostall_model::outcome::{IntervalPoint, RoleOutcome};
use iostall_model::{Warning, WarningCode};
use iostall_stats::burst::{Burst, burst};

/// Fewest intervals of a level.
const SIDE_MIN: usize = 5;
/// A smaller change is not reported.
const SHARE_MIN: f64 = 0.2;

/// A level that ended: an average over both levels is the rate of neither. A rate that the profile asks for says nothing of the storage.
pub(super) fn changed(role: &RoleOutcome) -> Option<Warning> {
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
