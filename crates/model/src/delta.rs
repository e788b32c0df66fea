//! The difference between two samples, and when there is none.
//!
//! The rules, in the order they are applied, each covered by a test below:
//!
//! 1. Another version, another instance, or counters that started again: every row is a reset, with the
//!    reason.
//! 2. A subject that was not there before is a baseline. Its values are a delta only if the server
//!    reports that it was created after the previous sample, and no subject then had the same open
//!    handle: SQL Server counts the age of a database from its last rename. A known name with a new
//!    identity is a reset, because it is a new subject or one that moved.
//! 3. A changed mark of the row (when counting began, its open handle) is a reset.
//! 4. Without a length of time there is no delta: both samples must be timed by one clock that moved
//!    forward.
//! 5. Any column that decreased makes the whole row a reset. If only time columns of a known width
//!    decreased, and the wrapped difference is possible in that time, they are subtracted modulo their
//!    width instead.
//! 6. A time column that may have wrapped unnoticed in a long gap is left out; the counts stay. So is
//!    the stall that a source does not report. The number of reads and writes concerned is kept, so
//!    that sums divide a stall only by the operations it belongs to.
//! 7. A row that could not be read again has no delta; the next reading's delta covers the time since
//!    the last reading.
//! 8. Otherwise the row's delta is the difference over the actual length of the interval, however long.
//!    Equal values are a delta of zeros: idle is not missing.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::counter::{Counter, Counters, Role};
use crate::kind::{Kind, Unit};
use crate::reset::ResetReason;
use crate::sample::{Epoch, Gap, Row, Sample, SampleTime, Subject};
use crate::scope::Scope;
use crate::totals::Totals;

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are deltas: a box each would cost more")]
pub enum Change {
    Delta(Totals),
    /// First seen: the next sample will give a delta.
    Baseline,
    NotRead,
    Reset(ResetReason),
}

impl Change {
    pub fn delta(&self) -> Option<&Totals> {
        match self {
            Self::Delta(totals) => Some(totals),
            Self::Baseline | Self::NotRead | Self::Reset(_) => None,
        }
    }
}

/// Compares two samples of one source; returns a change for every row of `now`, in order.
pub fn compare(before: &Sample, now: &Sample) -> Vec<Change> {
    let interval_ns = now.taken.since_ns(&before.taken);
    if let Some(reason) = epoch_reset(&before.epoch, &now.epoch, interval_ns) {
        return vec![Change::Reset(reason); now.rows.len()];
    }
    // Sources nearly always return rows in the same order; then no lookup table is built.
    let known = LazyCell::new(|| Known::of(&before.rows));
    let find = |place: usize, subject| {
        let same = before.rows.get(place).filter(|earlier| earlier.subject.is_same_series(subject));
        same.map_or_else(|| known.find(subject), Ok)
    };
    now.rows
        .iter()
        .enumerate()
        .map(|(place, row)| match find(place, &row.subject) {
            _ if row.is_stale() => Change::NotRead,
            Ok(previous) => {
                let interval_ns = interval_ns.and_then(|_| {
                    let before_ns = previous.read_clock_ns(&before.taken);
                    row.read_clock_ns(&now.taken).checked_sub(before_ns).filter(|ns| *ns > 0)
                });
                difference(row.subject.kind, &previous.counters, &row.counters, interval_ns)
            }
            Err(namesake) if known.has_handle_of(row) => appeared(row, namesake, None),
            Err(namesake) => appeared(row, namesake, interval_ns),
        })
        .collect()
}

struct Known<'a> {
    series: HashMap<(Kind, &'a Scope, &'a str), &'a Row>,
    names: HashMap<(Kind, &'a Scope, &'a str), &'a Row>,
    handles: HashSet<(Kind, u64)>,
}

impl<'a> Known<'a> {
    fn of(rows: &'a [Row]) -> Self {
        let series = rows.iter().map(|row| (row.subject.series_key(), row)).collect();
        let names = rows.iter().map(|row| (name_key(&row.subject), row)).collect();
        Self { series, names, handles: rows.iter().filter_map(handle_key).collect() }
    }

    fn has_handle_of(&self, row: &Row) -> bool {
        handle_key(row).is_some_and(|key| self.handles.contains(&key))
    }

    /// The earlier row of the same subject, or else the earlier row with the same name.
    fn find(&self, subject: &'a Subject) -> Result<&'a Row, Option<&'a Row>> {
        self.series
            .get(&subject.series_key())
            .copied()
            .ok_or_else(|| self.names.get(&name_key(subject)).copied())
    }
}

fn handle_key(row: &Row) -> Option<(Kind, u64)> {
    row.counters.get(Counter::Handle).map(|handle| (row.subject.kind, handle))
}

fn name_key(subject: &Subject) -> (Kind, &Scope, &str) {
    (subject.kind, &subject.scope, &subject.name)
}

/// How much less than the interval a server's uptime may grow without a restart, seconds: both readings are
/// whole seconds, taken at slightly different times.
const UPTIME_SLACK_S: u64 = 3;

/// Rule 1: whether nothing in `now` continues `before`.
pub fn epoch_reset(before: &Epoch, now: &Epoch, interval_ns: Option<u64>) -> Option<ResetReason> {
    if before.version != now.version {
        return Some(ResetReason::Upgrade);
    }
    if before.instance != now.instance {
        return Some(ResetReason::IdentityChange);
    }
    if let (Some(earlier_s), Some(later_s), Some(ns)) = (before.uptime_s, now.uptime_s, interval_ns)
        && later_s + UPTIME_SLACK_S < earlier_s + ns / 1_000_000_000
    {
        return Some(ResetReason::Restart);
    }
    let continues = before.counters_since.is_empty() && now.counters_since.is_empty()
        || before.counters_since.iter().any(|mark| now.counters_since.contains(mark));
    if continues {
        return None;
    }
    Some(if before.process_start == now.process_start {
        ResetReason::StatisticsReset
    } else {
        ResetReason::Restart
    })
}

/// Rule 2: a row without an earlier one.
fn appeared(row: &Row, namesake: Option<&Row>, interval_ns: Option<u64>) -> Change {
    let born_since = |interval_ns: &u64| {
        row.age_ms.and_then(|age_ms| age_ms.checked_mul(1_000_000)).is_some_and(|age| age < *interval_ns)
    };
    match interval_ns.filter(born_since) {
        Some(interval_ns) => {
            let mut amounts = Counters::new();
            for (counter, value) in row.counters.iter().filter(|(counter, _)| counter.subtracts()) {
                amounts.set(counter, row.subject.kind.column(counter).canonical(value));
            }
            mark_untimed(row.subject.kind, &mut amounts);
            Change::Delta(Totals { covered_ns: interval_ns, amounts })
        }
        None => match namesake {
            Some(earlier) if has_moved(&earlier.subject, &row.subject) => Change::Reset(ResetReason::Move),
            Some(_) => Change::Reset(ResetReason::IdentityChange),
            None => Change::Baseline,
        },
    }
}

/// Whether a relation moved to another volume. The volume of a device is where it is mounted, which does not
/// identify the device.
fn has_moved(before: &Subject, now: &Subject) -> bool {
    let is_relation = matches!(now.kind, Kind::PostgresTable | Kind::PostgresIndex);
    is_relation && before.volume.is_some() && now.volume.is_some() && before.volume != now.volume
}

/// Rules 3 to 6 and 8: two readings of one subject.
pub fn difference(kind: Kind, before: &Counters, now: &Counters, interval_ns: Option<u64>) -> Change {
    if let Some(reason) = mark_reset(before, now) {
        return Change::Reset(reason);
    }
    let Some(interval_ns) = interval_ns else {
        return Change::Reset(ResetReason::ClockChange);
    };
    let decreased = decreased(before, now);
    if decreased.iter().any(|counter| !is_narrow_time(kind, *counter)) {
        return Change::Reset(kind.decrease_means());
    }
    let mut amounts = Counters::new();
    for (counter, value) in now.iter().filter(|(counter, _)| counter.subtracts()) {
        let Some(earlier) = before.get(counter) else { continue };
        let column = kind.column(counter);
        let raw = match column.width_bits {
            Some(bits) if decreased.contains(&counter) => wrapped(earlier, value, bits),
            _ => value - earlier,
        };
        let amount = column.canonical(raw);
        let limit_ns = interval_ns.saturating_mul(kind.parallelism_max(counter));
        if decreased.contains(&counter) && amount > limit_ns {
            return Change::Reset(ResetReason::Wrap);
        }
        let may_have_wrapped_unseen =
            column.width_bits.is_some_and(|bits| limit_ns >= column.canonical(wrapped(1, 0, bits)));
        if !may_have_wrapped_unseen {
            amounts.set(counter, amount);
        }
    }
    mark_untimed(kind, &mut amounts);
    Change::Delta(Totals { covered_ns: interval_ns, amounts })
}

/// Rule 6: counts the operations whose stall is not reported. With fine-grained timers, operations that took no
/// time at all were not timed: MySQL counts operations of an untimed instrument without adding to its time, and
/// so does PostgreSQL in a database with `track_io_timing` off.
fn mark_untimed(kind: Kind, amounts: &mut Counters) {
    if !kind.has_stall() {
        return;
    }
    for (ops, stall, untimed) in [
        (Counter::Reads, Counter::ReadStall, Counter::UntimedReads),
        (Counter::Writes, Counter::WriteStall, Counter::UntimedWrites),
    ] {
        let Some(count) = amounts.get(ops).filter(|count| *count > 0) else { continue };
        let is_fine = matches!(kind.column(stall).unit, Unit::Picoseconds | Unit::Microseconds);
        if is_fine && amounts.get(stall) == Some(0) {
            amounts.unset(stall);
        }
        if amounts.get(stall).is_none() {
            amounts.set(untimed, count);
        }
    }
    let has_syncs = amounts.get(Counter::Syncs).is_some_and(|count| count > 0);
    let is_fine = matches!(kind.column(Counter::SyncStall).unit, Unit::Picoseconds | Unit::Microseconds);
    if has_syncs && is_fine && amounts.get(Counter::SyncStall) == Some(0) {
        amounts.unset(Counter::SyncStall);
    }
}

/// Rule 3: whether the row's own mark shows a reset. A mark that appears or disappears counts as changed.
fn mark_reset(before: &Counters, now: &Counters) -> Option<ResetReason> {
    let differs = |counter| before.get(counter) != now.get(counter);
    if differs(Counter::Handle) {
        return Some(ResetReason::Reattach);
    }
    differs(Counter::StatisticsReset).then_some(ResetReason::StatisticsReset)
}

fn decreased(before: &Counters, now: &Counters) -> Vec<Counter> {
    now.iter()
        .filter(|(counter, value)| {
            counter.subtracts() && before.get(*counter).is_some_and(|earlier| *value < earlier)
        })
        .map(|(counter, _)| counter)
        .collect()
}

fn is_narrow_time(kind: Kind, counter: Counter) -> bool {
    counter.role() == Role::Time && kind.column(counter).width_bits.is_some()
}

/// `now - before` modulo 2^`bits`.
fn wrapped(before: u64, now: u64, bits: u32) -> u64 {
    let difference = now.wrapping_sub(before);
    if bits >= 64 { difference } else { difference & ((1 << bits) - 1) }
}

/// One sample of a source, compared once: history, alerts, metrics and views all use these results.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When the previous sample was taken; `None` if unknown.
    pub since: Option<SampleTime>,
    pub sample: Arc<Sample>,
    /// The change of each row, in order; empty if there is nothing to compare with.
    pub changes: Vec<Change>,
    pub gaps: Vec<Gap>,
}

impl Step {
    pub fn first(sample: Arc<Sample>) -> Self {
        Self { since: None, sample, changes: Vec::new(), gaps: Vec::new() }
    }

    pub fn between(before: &Sample, sample: Arc<Sample>) -> Self {
        let changes = compare(before, &sample);
        Self { since: Some(before.taken.clone()), sample, changes, gaps: Vec::new() }
    }

    pub fn at(&self) -> Timestamp {
        self.sample.taken.utc
    }

    pub fn rows(&self) -> impl Iterator<Item = (&Row, &Change)> {
        self.sample.rows.iter().zip(&self.changes)
    }

    pub fn to_rows(&self) -> Vec<(Row, Change)> {
        self.rows().map(|(row, change)| (row.clone(), change.clone())).collect()
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
