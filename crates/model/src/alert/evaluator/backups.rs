//! Rules about the age of backups.

use std::collections::BTreeMap;

use super::{Name, Source};
use crate::alert::instance::AlertInstance;
use crate::alert::mute::Now;
use crate::alert::rule::Rule;
use crate::kind::Kind;
use crate::newest_backup::{BackupSort, NewestBackup};
use crate::sample::Row;

#[derive(Default)]
struct Backups {
    /// How long ago the newest one that counts was, nanoseconds.
    age_ns: Option<u64>,
    database_ns: Option<u64>,
}

impl Source {
    pub(super) fn look_at_backups(
        &mut self,
        place: usize,
        rule: &Rule,
        counts: &[BackupSort],
        rows: &[Row],
        now: Now,
    ) {
        // Without any row the history could not be read, which says nothing about backups.
        if !rows.iter().any(|row| row.subject.kind == Kind::SqlServerBackup) {
            return;
        }
        let mut found: BTreeMap<Name, Backups> = BTreeMap::new();
        for row in rows.iter().filter(|row| rule.matches.fits(&self.known, &row.subject)) {
            let Some(newest) = NewestBackup::of_row(row).filter(|newest| counts.contains(&newest.sort))
            else {
                continue;
            };
            let age_ns = newest.age_ns(now.utc);
            let name = Name { kind: Kind::SqlServerBackup, group: newest.database, class: None };
            let backups = found.entry(name).or_default();
            backups.age_ns = [backups.age_ns, age_ns].into_iter().flatten().min();
            backups.database_ns = row.age_ms.map(|age_ms| age_ms.saturating_mul(1_000_000));
        }
        let instances = &mut self.instances[place];
        for (name, Backups { age_ns, database_ns }) in &found {
            let is_too_old = age_ns.or(*database_ns).is_none_or(|age_ns| age_ns > rule.sustained_ns);
            if is_too_old || instances.contains_key(name) {
                instances.entry(name.clone()).or_default().update_age(*age_ns, is_too_old, now);
            }
        }
        for (_, gone) in instances.iter_mut().filter(|(name, _)| !found.contains_key(name)) {
            AlertInstance::update_age(gone, None, false, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::alert::{
        Condition, Grouping, Match, Measured, Notice, Occasion, Rule, RuleBook, RuleEvaluator, RuleSource,
    };
    use crate::counter::{Counter, Counters};
    use crate::delta::Change;
    use crate::level::Level;
    use crate::sample::Subject;
    use crate::scope::Scope;

    const HOUR_NS: u64 = 3600 * 1_000_000_000;
    /// The newest backup of a database: sort, and hours since the beginning.
    type Last = (&'static str, BackupSort, Option<u64>);

    fn rule(counts: &[BackupSort]) -> Rule {
        Rule {
            name: "backups".into(),
            condition: Condition::NotBackedUp { counts: counts.to_vec() },
            matches: Match::default(),
            level: Level::Databases,
            sustained_ns: 26 * HOUR_NS,
            clear_ns: 0,
            operations_min: 0,
            repeat_ns: None,
            mute: Vec::new(),
            channels: vec!["ops".into()],
            grouping: Grouping::default(),
            group_wait_ns: 0,
        }
    }

    fn begun() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn now(hour: u64) -> Now {
        let utc = begun() + SignedDuration::from_hours(hour.cast_signed());
        Now { utc, clock_ns: 5_000 + hour * HOUR_NS }
    }

    /// A row; the database was made `database_age_h` hours before.
    fn row((database, sort, at_hour): Last, database_age_h: Option<u64>) -> Row {
        let second = at_hour.map(|hour| begun().as_second().unsigned_abs() + hour * 3600);
        let subject = Subject {
            kind: Kind::SqlServerBackup,
            scope: Scope::Database(database.into()),
            name: sort.name().into(),
            identity: format!("{database}/{sort}"),
            volume: None,
        };
        let counters = Counters::new().with_opt(Counter::BackupFinished, second);
        Row { subject, counters, age_ms: database_age_h.map(|hours| hours * 3_600_000) }
    }

    fn evaluator(rule: Rule) -> RuleEvaluator {
        let mut evaluator = RuleEvaluator::new(RuleBook { classes: Vec::new(), rules: vec![rule] });
        evaluator.add(RuleSource { name: "sqlserver://db1".into(), ..RuleSource::default() }, now(0));
        evaluator
    }

    fn sample(evaluator: &mut RuleEvaluator, hour: u64, rows: &[Row]) -> Vec<Notice> {
        evaluator.sample(0, rows, &vec![Change::Baseline; rows.len()], now(hour))
    }

    /// The job of one database failed for weeks, and that of all others did not.
    #[test]
    fn the_database_whose_backup_is_too_old_fires_until_it_has_one_again() {
        let mut evaluator = evaluator(rule(&[BackupSort::Full]));
        let rows = |sales| {
            [
                row(("sales", BackupSort::Full, Some(sales)), None),
                row(("hr", BackupSort::Full, Some(20)), None),
            ]
        };
        assert_eq!(sample(&mut evaluator, 26, &rows(0)), []);
        let fired = sample(&mut evaluator, 27, &rows(0));
        let about = fired[0].about.as_ref().unwrap();
        assert_eq!(
            (fired[0].occasion, about.name.as_str(), about.measured),
            (Occasion::Firing, "sales", Measured::BackupAge)
        );
        let hours = |ns: f64| (ns / HOUR_NS as f64).round();
        assert!(
            (hours(about.value.unwrap()) - 27.0).abs() < 1e-9 && (hours(about.threshold) - 26.0).abs() < 1e-9
        );
        assert_eq!((fired[0].count, fired[0].since), (1, begun()));
        assert_eq!(sample(&mut evaluator, 28, &rows(0)), [], "once");
        assert_eq!(sample(&mut evaluator, 29, &[]), [], "the history could not be read");
        assert_eq!(sample(&mut evaluator, 30, &rows(30))[0].occasion, Occasion::Resolved);
        assert_eq!(sample(&mut evaluator, 31, &rows(30)), []);
    }

    #[test]
    fn one_that_was_never_backed_up_is_the_worst_and_a_new_one_has_its_time() {
        let mut evaluator = evaluator(rule(&[BackupSort::Full]));
        let rows = [
            row(("old", BackupSort::Full, Some(0)), Some(900)),
            row(("never", BackupSort::Full, None), Some(900)),
            row(("new", BackupSort::Full, None), Some(2)),
        ];
        let fired = sample(&mut evaluator, 30, &rows);
        let about = fired[0].about.as_ref().unwrap();
        assert_eq!((fired[0].count, about.name.as_str(), about.value), (2, "never", None));
        assert_eq!(fired[0].others[0].name, "old");
        let gone = sample(&mut evaluator, 31, &rows[..1]);
        assert_eq!(
            (gone[0].occasion, gone[0].about.as_ref().unwrap().name.as_str()),
            (Occasion::Resolved, "never")
        );
    }

    /// A snapshot of the virtual machine each hour hid that no backup had been made that a DBA can restore.
    #[test]
    fn only_the_sorts_that_are_named_count() {
        let rows = [
            row(("sales", BackupSort::Full, Some(0)), None),
            row(("sales", BackupSort::Snapshot, Some(29)), None),
        ];
        let mut strict = evaluator(rule(&[BackupSort::Full]));
        assert_eq!(sample(&mut strict, 30, &rows).len(), 1);
        let mut wide = evaluator(rule(&[BackupSort::Full, BackupSort::Snapshot]));
        assert_eq!(sample(&mut wide, 30, &rows), []);
        // No row of that sort: SIMPLE has no log backups.
        let mut logs = evaluator(rule(&[BackupSort::Log]));
        assert_eq!(sample(&mut logs, 30, &rows), []);
    }
}
