//! The interface of sources.

use std::collections::{BTreeSet, HashSet};

use iostall_connect::{Engine, SourceError};
use iostall_model::device::Placement;
use iostall_model::{Kind, Sample, Setting, Subject, Warning, WarningCode};

pub trait Source: Send {
    /// Reads every counter once, connecting first if necessary. Takes at most as long as the limit given at
    /// opening; after an error the next call reconnects.
    fn read(&mut self) -> Result<Sample, SourceError>;

    /// Reads the settings that decide how its storage behaves, over the connection that is there or a new one. Takes at most as long
    /// as the limit given at opening. Empty for a source that has none.
    fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
        Ok(Vec::new())
    }

    /// Sets what will be kept, so that a source need not read the rest. It may still return more.
    fn narrow(&mut self, _filter: &Filter) {}

    /// What the volumes of the last sample are, as far as the server says it; those on this host are found out by this host.
    fn placements(&self) -> Vec<Placement> {
        Vec::new()
    }

    /// Ends its connection, if it has one: the next reading makes a new one.
    fn disconnect(&mut self) {}
}

/// Which rows to keep. Empty lists keep everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of databases. Rows that belong to no database are kept: a server's log, and every device of a
    /// host.
    pub databases: Vec<String>,
    pub names: Vec<String>,
    pub is_without_catalogs: bool,
    /// Kinds of row, for readings so frequent that the server must not answer more than is needed.
    pub kinds: Vec<Kind>,
}

impl Filter {
    pub fn has_kind(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// What it asks for that no source of `engines` can have.
    pub fn unread(&self, engines: &[Engine]) -> Option<&'static str> {
        let is_server = |engine: &Engine| match engine {
            Engine::SqlServer | Engine::Postgres | Engine::Mysql => true,
            Engine::Linux | Engine::Smart => false,
        };
        if !self.databases.is_empty() && !engines.iter().any(is_server) {
            Some("a database")
        } else if self.is_without_catalogs && !engines.contains(&Engine::Postgres) {
            Some("catalogs of PostgreSQL")
        } else {
            None
        }
    }

    /// Removes unwanted rows from `sample`, and warns about each wanted database that does not exist.
    ///
    /// SQL Server ignores case in names unless its collation is case-sensitive, so if the exact name is not
    /// found, case is ignored.
    pub fn apply(&self, sample: &mut Sample) {
        let rows = if self.databases.is_empty() { &[][..] } else { &sample.rows };
        let there: BTreeSet<(&str, bool)> = rows
            .iter()
            .filter_map(|row| Some((row.subject.scope.database()?, row.subject.kind == Kind::SqlServerFile)))
            .collect();
        let mut wanted = HashSet::new();
        let mut missing = Vec::new();
        for name in self.databases.iter().filter(|_| !there.is_empty()) {
            let is_it = |(other, _): &&(&str, bool)| *other == name;
            let alike = |(other, _): &&(&str, bool)| other.to_lowercase() == name.to_lowercase();
            let exact = there.iter().find(is_it);
            let found = exact.or_else(|| there.iter().filter(|(_, any_case)| *any_case).find(alike));
            match found {
                Some((other, _)) => drop(wanted.insert((*other).to_owned())),
                None => missing.push(no_database(name, there.iter().find(alike).map(|(other, _)| *other))),
            }
        }
        sample.rows.retain(|row| self.keeps(&row.subject, &wanted));
        sample.warnings.extend(missing);
    }

    fn keeps(&self, subject: &Subject, wanted: &HashSet<String>) -> bool {
        let in_database =
            self.databases.is_empty() || subject.scope.database().is_none_or(|name| wanted.contains(name));
        // A backup is no file, and has no name of its own.
        let named = subject.kind == Kind::SqlServerBackup
            || self.names.is_empty()
            || self.names.iter().any(|part| subject.name.contains(part.as_str()));
        self.has_kind(subject.kind)
            && in_database
            && named
            && !(self.is_without_catalogs && is_of_catalog(subject))
    }
}

fn no_database(name: &str, alike: Option<&str>) -> Warning {
    let message =
        format!("--database {name}: there is no database of that name, so nothing of it is watched");
    let hint = alike.map_or_else(
        || "`iostall report databases` without --database shows what there is".to_owned(),
        |alike| format!("there is one called {alike}"),
    );
    Warning::new(WarningCode::NotCounted, message).hint(hint)
}

fn is_of_catalog(subject: &Subject) -> bool {
    let is_relation = matches!(subject.kind, Kind::PostgresTable | Kind::PostgresIndex);
    let schema = subject.name.split('.').next();
    is_relation && matches!(schema, Some("pg_catalog" | "information_schema"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Counters, DeviceRole, Epoch, Row, SampleTime, Scope};
    use proptest::prelude::*;

    fn subject(kind: Kind, scope: Scope, name: &str) -> Subject {
        Subject { kind, scope, name: name.into(), identity: "1".into(), volume: None }
    }

    fn sample(subjects: impl IntoIterator<Item = Subject>) -> Sample {
        let taken = SampleTime { utc: jiff::Timestamp::UNIX_EPOCH, clock: "boot".into(), clock_ns: 1 };
        let row = |subject| Row { subject, counters: Counters::new(), age_ms: None };
        let rows = subjects.into_iter().map(row).collect();
        Sample { taken, epoch: Epoch::default(), rows, warnings: Vec::new() }
    }

    fn filtered(filter: &Filter, subjects: impl IntoIterator<Item = Subject>) -> Sample {
        let mut sample = sample(subjects);
        filter.apply(&mut sample);
        sample
    }

    #[test]
    fn a_filter_keeps_only_the_kinds_that_are_wanted() {
        let filter = Filter { kinds: vec![Kind::PostgresWal], ..Filter::default() };
        let kinds = [Kind::PostgresWal, Kind::PostgresTable, Kind::PostgresDatabase];
        let kept = filtered(&filter, kinds.map(|kind| subject(kind, Scope::Source, "x")));
        assert_eq!(kept.rows.iter().map(|row| row.subject.kind).collect::<Vec<_>>(), [Kind::PostgresWal]);
    }

    #[test]
    fn a_filter_keeps_named_databases_and_what_belongs_to_none() {
        let filter = Filter { databases: vec!["sales".into()], ..Filter::default() };
        let within = |scope| subject(Kind::PostgresTable, scope, "t");
        let all = ["sales", "stock"].map(|name| within(Scope::Database(name.into())));
        let kept = filtered(&filter, all.into_iter().chain([within(Scope::Source)]));
        let scopes: Vec<&str> = kept.rows.iter().map(|row| row.subject.scope.name()).collect();
        assert_eq!((scopes, kept.warnings.len()), (vec!["sales", ""], 0));
    }

    /// `--database Sales` silently matched nothing if SQL Server's name was `sales`.
    #[test]
    fn a_database_is_found_as_its_server_would_find_it_or_said_not_to_be_there() {
        let filter = Filter { databases: vec!["Sales".into()], ..Filter::default() };
        let file = |name: &str| subject(Kind::SqlServerFile, Scope::Database(name.into()), "a.mdf");
        let kept = filtered(&filter, ["sales", "stock"].map(file));
        assert_eq!((kept.rows.len(), kept.warnings.len()), (1, 0), "{:?}", kept.warnings);
        let kept = filtered(&filter, ["sales", "Sales"].map(file));
        assert_eq!((kept.rows.len(), kept.rows[0].subject.scope.name()), (1, "Sales"));
        let table = |name: &str| subject(Kind::PostgresTable, Scope::Database(name.into()), "t");
        let kept = filtered(&filter, ["sales", "stock"].map(table));
        assert_eq!((kept.rows.len(), kept.warnings.len()), (0, 1));
        assert!(kept.warnings[0].message.contains("Sales"), "{:?}", kept.warnings);
        assert_eq!(kept.warnings[0].hint.as_deref(), Some("there is one called sales"));
        let disk = subject(Kind::LinuxDevice, Scope::Device(DeviceRole::Disk), "sda");
        assert!(filtered(&filter, [disk]).warnings.is_empty(), "a host has no databases");
    }

    /// The story: `collect run --database nosuch linux:` stored its samples and said nothing.
    #[test]
    fn what_no_source_has_is_not_asked_for_in_silence() {
        let database = Filter { databases: vec!["nosuch".into()], ..Filter::default() };
        assert_eq!(database.unread(&[Engine::Linux, Engine::Smart]), Some("a database"));
        assert_eq!(database.unread(&[Engine::Linux, Engine::Mysql]), None);
        let catalogs = Filter { is_without_catalogs: true, ..Filter::default() };
        assert!(
            catalogs.unread(&[Engine::SqlServer]).is_some() && catalogs.unread(&[Engine::Postgres]).is_none()
        );
        assert_eq!(Filter::default().unread(&[]), None);
    }

    #[test]
    fn catalogs_can_be_left_out_and_nothing_else_goes_with_them() {
        let filter = Filter { is_without_catalogs: true, ..Filter::default() };
        let sales = || Scope::Database("sales".into());
        let named = |kind, name: &str| Subject { name: name.into(), ..subject(kind, sales(), "t") };
        let all = || {
            [
                named(Kind::PostgresTable, "pg_catalog.pg_class"),
                named(Kind::PostgresIndex, "information_schema.x"),
                named(Kind::PostgresTable, "public.pg_catalog"),
                named(Kind::MysqlFile, "pg_catalog.ibd"),
            ]
        };
        let kept = filtered(&filter, all());
        let left: Vec<&str> = kept.rows.iter().map(|row| row.subject.name.as_str()).collect();
        assert_eq!(left, ["public.pg_catalog", "pg_catalog.ibd"]);
        assert_eq!(filtered(&Filter::default(), all()).rows.len(), 4);
    }

    /// Names that databases, roles and control groups may share, so that they could be confused.
    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("disk"),
            Just("partition"),
            Just("stacked"),
            Just("sales"),
            Just("/db.slice"),
            Just("")
        ]
        .prop_map(str::to_owned)
    }

    fn scope() -> impl Strategy<Value = Scope> {
        prop_oneof![
            Just(Scope::Source),
            name().prop_map(Scope::database_or_source),
            prop::sample::select(DeviceRole::ALL.to_vec()).prop_map(Scope::Device),
            name().prop_map(Scope::Cgroup),
        ]
    }

    proptest! {
        /// `--database sales` silently dropped every disk, partition and control group of `linux:`, because
        /// their roles and paths were stored in the database field.
        #[test]
        fn a_filter_on_databases_changes_nothing_but_the_rows_of_databases(
            kind in prop::sample::select(Kind::ALL.to_vec()),
            scope in scope(),
            own_name in name(),
            databases in prop::collection::vec(name(), 0..4),
            names in prop::collection::vec(name(), 0..3),
        ) {
            let subject = subject(kind, scope, &own_name);
            let without = Filter { names: names.clone(), ..Filter::default() };
            let with = Filter { databases: databases.clone(), names, ..Filter::default() };
            let keeps = |filter: &Filter| !filtered(filter, [subject.clone()]).rows.is_empty();
            let is_other_database =
                subject.scope.database().is_some_and(|name| !databases.is_empty() && !databases.iter().any(|one| one == name));
            prop_assert_eq!(keeps(&with), keeps(&without) && !is_other_database);
        }
    }
}
