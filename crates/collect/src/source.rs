//! The interface of sources, and their errors.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use iostall_engine::InputError;
use iostall_host::Unreadable;
use iostall_measure::ByteCount;
use iostall_model::{Kind, Sample, Subject, Warning, WarningCode};
use thiserror::Error;

use crate::pooler;

/// A server or host whose counters can be read.
pub trait Source: Send {
    /// Reads every counter once, connecting first if necessary. Takes at most as long as the limit given at
    /// opening; after an error the next call reconnects.
    fn read(&mut self) -> Result<Sample, SourceError>;

    /// Sets what will be kept, so that a source need not read the rest. It may still return more.
    fn narrow(&mut self, _filter: &Filter) {}
}

/// Why a source could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    #[error("{source_name} did not answer within {limit:?}")]
    TimedOut { source_name: String, limit: Duration },
    #[error("cannot connect to {source_name}: {reason}")]
    Connect { source_name: String, reason: String },
    /// The server has no free connection.
    #[error("{source_name} has no connection free: {reason}")]
    Full { source_name: String, reason: String },
    #[error("{source_name} refused the login {user:?}: {reason}")]
    Login { source_name: String, user: String, reason: String },
    #[error("{source_name} accepted the login {user:?}, but it may not read the counters: {reason}")]
    Denied {
        source_name: String,
        user: String,
        /// As in `iostall collect grants`.
        engine: &'static str,
        reason: String,
    },
    #[error("{source_name} contains no samples taken by iostall: {reason}")]
    NoHistory { source_name: String, reason: String },
    #[error("the certificate of {source_name} was not accepted: {reason}")]
    Certificate { source_name: String, reason: String, hint: &'static str },
    #[error("{source_name} refused the query {query}: {reason}")]
    Query { source_name: String, query: &'static str, reason: String },
    #[error("{source_name} sent more data for one reading than expected (over {bytes} or {rows} rows)")]
    TooMuch { source_name: String, bytes: ByteCount, rows: u64 },
    #[error("{source_name} is version {version}; iostall reads {oldest} and later")]
    TooOld { source_name: String, version: String, oldest: &'static str },
    #[error(transparent)]
    HostFile(#[from] Unreadable),
    #[error(transparent)]
    PasswordFile(#[from] InputError),
    #[error("the environment variable {name}, which should hold a password, is not set")]
    PasswordVariable { name: String },
    /// A token that may be had later.
    #[error("there is no access token for {source_name}: {reason}")]
    Token { source_name: String, reason: String, hint: String },
    /// A token that is not to be had until someone fixes something.
    #[error("there is no access token for {source_name}: {reason}")]
    TokenRefused { source_name: String, reason: String, hint: String },
    #[error("cannot log in to {source_name} with Kerberos: {reason}")]
    Kerberos { source_name: String, reason: String },
    #[error("iostall itself failed while it read this source")]
    Defect,
    #[error("cannot set up TLS for {source_name}: {reason}")]
    Tls { source_name: String, reason: String },
}

/// Longest pause before a retry if someone must fix something first.
const REFUSED_FOR: Duration = Duration::from_secs(300);
/// Longest pause if the server itself has problems.
const TROUBLED_FOR: Duration = Duration::from_secs(30);

/// How SQL Server calls a login whose token it has read but for which it has no user.
const TOKEN_LOGIN: &str = "token-identified principal";

impl SourceError {
    /// How long a source that keeps failing this way is left alone at most; `None`: retried at every tick.
    ///
    /// Each refused attempt counts against the login, the host or both: policies lock accounts, and MySQL
    /// blocks a host after a hundred aborted handshakes. A server that does not answer in time would only get
    /// more work. If nobody listens, an attempt costs nothing, and the first sample after a start is
    /// valuable.
    pub fn longest_pause(&self) -> Option<Duration> {
        match self {
            Self::Login { .. }
            | Self::Denied { .. }
            | Self::NoHistory { .. }
            | Self::TooMuch { .. }
            | Self::Certificate { .. }
            | Self::TooOld { .. }
            | Self::PasswordFile(_)
            | Self::PasswordVariable { .. }
            | Self::TokenRefused { .. }
            | Self::Defect
            | Self::Tls { .. } => Some(REFUSED_FOR),
            Self::TimedOut { .. } | Self::Query { .. } | Self::Token { .. } | Self::Kerberos { .. } => {
                Some(TROUBLED_FOR)
            }
            Self::Connect { .. } | Self::Full { .. } | Self::HostFile(_) => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        if let Self::Connect { reason, .. } | Self::Login { reason, .. } | Self::Query { reason, .. } = self
            && let Some(hint) = pooler::hint(reason)
        {
            return hint.to_owned();
        }
        match self {
            Self::TimedOut { .. } => "find out why the server does not answer, or raise --timeout".into(),
            Self::Connect { source_name, .. } => format!(
                "check that the server runs, listens at that address and accepts the login; `iostall collect grants {}` prints the privileges a login needs",
                scheme(source_name)
            ),
            Self::Full { source_name, .. } => format!(
                "see what holds its connections, and the limits of the server and of this login; \
                 `iostall collect grants {}` prints what a login needs",
                scheme(source_name)
            ),
            Self::Login { reason, .. } if reason.contains(TOKEN_LOGIN) => {
                "an administrator creates the user for this account of Entra: `iostall collect grants sqlserver` \
                 prints the statements"
                    .into()
            }
            Self::Login { .. } => {
                "check login, password and database, and whether the server allows this kind of login".into()
            }
            Self::Denied { engine, .. } => {
                format!("`iostall collect grants {engine}` prints the statements for an administrator to run")
            }
            Self::NoHistory { .. } => {
                "name the database with the schema iostall, as in sqlserver://USER@HOST/DATABASE".into()
            }
            Self::Certificate { hint, .. } => (*hint).into(),
            Self::Query { source_name, .. } => format!(
                "see the server's log; `iostall collect grants {}` prints the privileges a login needs",
                scheme(source_name)
            ),
            Self::TooMuch { .. } => {
                "check that it is the right server; with very many objects, limit them with --database".into()
            }
            Self::TooOld { .. } => {
                "watch the host it runs on instead: `iostall collect run linux:` there".into()
            }
            Self::HostFile(_) => "in a container the host's /proc and /sys must be visible".into(),
            Self::PasswordFile(error) => error.hint().unwrap_or_else(|| {
                "put the password in the first line of that file, readable only by this account (chmod 600)"
                    .into()
            }),
            Self::PasswordVariable { name } => {
                format!("export {name} first, or write ?password-file=PATH or ?password=prompt")
            }
            Self::Token { hint, .. } | Self::TokenRefused { hint, .. } => hint.clone(),
            Self::Kerberos { .. } => {
                "klist shows the tickets of this user, and kinit gets one; the host must be written as in the server's \
                 SPN (setspn -L), usually with its domain: sqlserver://HOST.DOMAIN?auth=integrated"
                    .into()
            }
            Self::Defect => {
                "please report it, with the messages on standard error and the server's version".into()
            }
            Self::Tls { .. } => {
                "?ca=FILE names the certificates of trusted authorities, in PEM form; ?tls=unverified \
                 encrypts without verifying the server; ?tls=off does not encrypt"
                    .into()
            }
        }
    }
}

/// The scheme at the start of a source's name.
fn scheme(source_name: &str) -> &str {
    source_name.split(':').next().unwrap_or_default()
}

/// Which rows to keep. Empty lists keep everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of databases. Rows that belong to no database are kept: a server's log, and every device of a
    /// host.
    pub databases: Vec<String>,
    /// Parts of names of files, relations or devices.
    pub names: Vec<String>,
    /// Whether the relations of PostgreSQL's own catalogs are left out.
    pub is_without_catalogs: bool,
    /// Kinds of row, for readings so frequent that the server must not answer more than is needed.
    pub kinds: Vec<Kind>,
}

impl Filter {
    /// Whether rows of `kind` are kept.
    pub fn has_kind(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
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
        let named =
            self.names.is_empty() || self.names.iter().any(|part| subject.name.contains(part.as_str()));
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

/// Whether it is a table or an index of `pg_catalog` or `information_schema`.
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

    #[test]
    fn the_advice_is_about_the_engine_that_failed() {
        let error = SourceError::Connect { source_name: "mysql://db1:3306".into(), reason: "refused".into() };
        assert!(error.hint().contains("grants mysql"), "{}", error.hint());
    }

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
