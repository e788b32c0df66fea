//! Parts of a server that could not be read at a tick, such as one of many databases.

use std::collections::HashSet;

use crate::counter::Counter;
use crate::delta::epoch_reset;
use crate::sample::{Row, Sample};
use crate::warning::WarningCode;

/// `now`, with the rows of unreadable databases taken from the previous sample and marked with their time of
/// reading. Later activity is then counted at the next successful reading, over the actual interval.
#[must_use]
pub fn with_unread_of(mut now: Sample, before: &Sample) -> Sample {
    let unread: HashSet<&str> = now
        .warnings
        .iter()
        .filter(|warning| warning.code == WarningCode::NotRead)
        .filter_map(|warning| warning.subject.as_deref())
        .collect();
    let interval_ns = now.taken.since_ns(&before.taken);
    if unread.is_empty()
        || interval_ns.is_none()
        || epoch_reset(&before.epoch, &now.epoch, interval_ns).is_some()
    {
        return now;
    }
    let is_unread = |row: &&Row| row.subject.scope.database().is_some_and(|name| unread.contains(name));
    // The server may still have reported something about such a database, such as its totals.
    let reported: HashSet<_> =
        now.rows.iter().filter(is_unread).map(|row| row.subject.series_key()).collect();
    let missing =
        before.rows.iter().filter(is_unread).filter(|row| !reported.contains(&row.subject.series_key()));
    let stale = missing.map(|row| {
        let read_ns = row.read_clock_ns(&before.taken);
        Row { counters: row.counters.with(Counter::ReadClockNs, read_ns), ..row.clone() }
    });
    let stale: Vec<Row> = stale.collect();
    now.rows.extend(stale);
    now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counters;
    use crate::delta::{Change, compare};
    use crate::kind::Kind;
    use crate::sample::{Epoch, SampleTime, Subject};
    use crate::scope::Scope;
    use crate::warning::Warning;

    const SECOND_NS: u64 = 1_000_000_000;

    fn row(database: &str, reads: u64) -> Row {
        let subject = Subject {
            kind: Kind::PostgresTable,
            scope: Scope::Database(database.into()),
            name: "public.t".into(),
            identity: format!("{database}/1"),
            volume: None,
        };
        Row { subject, counters: Counters::new().with(Counter::Reads, reads), age_ms: None }
    }

    /// A server with two databases; `None` means that the database could not be read.
    fn sample(at_s: u64, databases: [(&str, Option<u64>); 2]) -> Sample {
        let taken = SampleTime {
            utc: "2026-05-01T00:00:00Z".parse().unwrap(),
            clock: "boot-1".into(),
            clock_ns: at_s * SECOND_NS,
        };
        let mut sample = Sample { taken, epoch: Epoch::default(), rows: Vec::new(), warnings: Vec::new() };
        for (name, reads) in databases {
            match reads {
                Some(reads) => sample.rows.push(row(name, reads)),
                None => sample.warnings.push(Warning::new(WarningCode::NotRead, "full").about(name)),
            }
        }
        sample
    }

    /// While a database could not be read, its I/O was lost: its rows disappeared, and later appeared as a
    /// baseline.
    #[test]
    fn what_a_database_did_while_it_could_not_be_read_is_counted_over_its_true_length() {
        let first = sample(10, [("a", Some(100)), ("b", Some(100))]);
        let mut before = first;
        let mut seen = Vec::new();
        for (at_s, b) in [(20, None), (30, None), (40, Some(400)), (50, Some(410))] {
            let now = with_unread_of(sample(at_s, [("a", Some(at_s)), ("b", b)]), &before);
            let changes = compare(&before, &now);
            let of_b = now.rows.iter().position(|row| row.subject.scope.database() == Some("b")).unwrap();
            seen.push(changes[of_b].clone());
            before = now;
        }
        assert_eq!(seen[..2], [Change::NotRead, Change::NotRead]);
        let delta = |change: &Change| {
            let totals = change.delta().unwrap();
            (totals.covered_ns / SECOND_NS, totals.amounts.get(Counter::Reads).unwrap())
        };
        assert_eq!((delta(&seen[2]), delta(&seen[3])), ((30, 300), (10, 10)));
    }

    #[test]
    fn nothing_is_taken_over_from_another_life_of_the_counters() {
        let before = sample(10, [("a", Some(1)), ("b", Some(1))]);
        let mut now = sample(20, [("a", Some(1)), ("b", None)]);
        now.epoch.instance = "another".into();
        assert_eq!(with_unread_of(now, &before).rows.len(), 1);
        let mut now = sample(20, [("a", Some(1)), ("b", None)]);
        now.taken.clock = "another".into();
        assert_eq!(with_unread_of(now, &before).rows.len(), 1);
    }

    #[test]
    fn what_was_told_of_an_unread_database_is_not_replaced() {
        let before = sample(10, [("a", Some(1)), ("b", Some(1))]);
        let mut now = sample(20, [("a", Some(2)), ("b", None)]);
        now.rows.push(row("b", 7));
        let now = with_unread_of(now, &before);
        assert_eq!(now.rows.len(), 2);
        assert!(now.rows.iter().all(|row| !row.is_stale()));
    }
}
