//! What every source can do, and how it fails.

use std::time::Duration;

use iostall_engine::InputError;
use iostall_host::Unreadable;
use iostall_measure::ByteCount;
use iostall_model::{Sample, Subject};
use thiserror::Error;

/// A server or host whose counters can be read.
pub trait Source: Send {
    /// Reads every counter once, connecting first where there is no connection. Takes no longer than the limit
    /// the source was opened with; after an error the next call connects anew.
    fn read(&mut self) -> Result<Sample, SourceError>;

    /// Tells what will be kept, so that a source need not go to the trouble of reading the rest. It may still give
    /// more than that.
    fn narrow(&mut self, _filter: &Filter) {}
}

/// Why a source could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No answer within the limit.
    #[error("{source_name} did not answer within {limit:?}")]
    TimedOut {
        /// Which source.
        source_name: String,
        /// The limit.
        limit: Duration,
    },
    /// No connection.
    #[error("cannot connect to {source_name}: {reason}")]
    Connect {
        /// Which source.
        source_name: String,
        /// What the driver said.
        reason: String,
    },
    /// The server does not know the login, its password or its database.
    #[error("{source_name} refused the login {user:?}: {reason}")]
    Login {
        /// Which source.
        source_name: String,
        /// Who wanted in.
        user: String,
        /// What the server said.
        reason: String,
    },
    /// The login may not read what it asked for.
    #[error("{source_name} lets the login {user:?} in, but not at the counters: {reason}")]
    Denied {
        /// Which source.
        source_name: String,
        /// Who asked.
        user: String,
        /// The engine, as `iostall collect grants` calls it.
        engine: &'static str,
        /// What the server said.
        reason: String,
    },
    /// There is no management database where one was said to be.
    #[error("{source_name} holds nothing that iostall sampled there: {reason}")]
    NoHistory {
        /// Which source.
        source_name: String,
        /// What the server said.
        reason: String,
    },
    /// The server's certificate is not to be trusted.
    #[error("the certificate of {source_name} was not accepted: {reason}")]
    Certificate {
        /// Which source.
        source_name: String,
        /// What is wrong with it.
        reason: String,
        /// What can be done.
        hint: &'static str,
    },
    /// A query failed.
    #[error("{source_name} refused the query {query}: {reason}")]
    Query {
        /// Which source.
        source_name: String,
        /// The tag of the query.
        query: &'static str,
        /// What the server said.
        reason: String,
    },
    /// More than can be meant.
    #[error("{source_name} sent more for one reading than can be meant (over {bytes} or {rows} rows)")]
    TooMuch {
        /// Which source.
        source_name: String,
        /// As much would have been read.
        bytes: ByteCount,
        /// As many rows.
        rows: u64,
    },
    /// The server is older than the counters.
    #[error("{source_name} is version {version}; iostall reads {oldest} and later")]
    TooOld {
        /// Which source.
        source_name: String,
        /// Its version.
        version: String,
        /// The oldest that is read.
        oldest: &'static str,
    },
    /// A file of the host could not be read.
    #[error(transparent)]
    HostFile(#[from] Unreadable),
    /// The password file could not be read.
    #[error(transparent)]
    PasswordFile(#[from] InputError),
    /// The password's variable is not set.
    #[error("the environment variable {name}, which should hold a password, is not set")]
    PasswordVariable {
        /// Its name.
        name: String,
    },
    /// This program failed where it should not have.
    #[error("iostall itself failed while it read this source")]
    Defect,
    /// TLS could not be set up.
    #[error("cannot set up TLS for {source_name}: {reason}")]
    Tls {
        /// Which source.
        source_name: String,
        /// Why.
        reason: String,
    },
}

/// Longest pause before another try where somebody has to mend something first.
const REFUSED_FOR: Duration = Duration::from_secs(300);
/// Longest pause where the server is in trouble itself.
const TROUBLED_FOR: Duration = Duration::from_secs(30);

impl SourceError {
    /// How long a source that goes on failing like this may be left alone at most; `None`: it is asked at every tick.
    ///
    /// Each try that a server refuses counts against the login, the host or both: policies lock accounts, and
    /// MySQL shuts a host out after a hundred handshakes that broke off. A server that does not answer in time
    /// would only get more to do. Where nobody listens, a try costs nothing, and the first sample after a start
    /// is worth having.
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
            | Self::Defect
            | Self::Tls { .. } => Some(REFUSED_FOR),
            Self::TimedOut { .. } | Self::Query { .. } => Some(TROUBLED_FOR),
            Self::Connect { .. } | Self::HostFile(_) => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::TimedOut { .. } => {
                "--timeout gives it more time; look at what keeps the server from answering".into()
            }
            Self::Connect { source_name, .. } => format!(
                "see whether the server runs, listens at that address and lets the login in; \
                 `iostall collect grants {}` prints what a login needs",
                scheme(source_name)
            ),
            Self::Login { .. } => {
                "see whether login, password and database are right, and the server takes such logins".into()
            }
            Self::Denied { engine, .. } => {
                format!("`iostall collect grants {engine}` prints the statements for an administrator to run")
            }
            Self::NoHistory { .. } => {
                "name the database with the schema iostall, as in sqlserver://USER@HOST/DATABASE".into()
            }
            Self::Certificate { hint, .. } => (*hint).into(),
            Self::Query { source_name, .. } => format!(
                "the server's log says more; `iostall collect grants {}` prints what a login needs",
                scheme(source_name)
            ),
            Self::TooMuch { .. } => {
                "see whether it is the server that was meant; of a large one --database chooses what is read".into()
            }
            Self::TooOld { .. } => {
                "watch the host it runs on instead: `iostall collect run linux:` there".into()
            }
            Self::HostFile(_) => "in a container the host's /proc and /sys must be visible".into(),
            Self::PasswordFile(error) => error.hint().unwrap_or_else(|| {
                "write the password into the first line of that file, readable for this account alone (chmod 600)"
                    .into()
            }),
            Self::PasswordVariable { name } => {
                format!("export {name} before the call, or write ?password-file=PATH or ?password=prompt")
            }
            Self::Defect => {
                "please report it, with what was said on standard error and the server's version".into()
            }
            Self::Tls { .. } => {
                "?ca=FILE names the certificates of the authorities to trust, in PEM form; ?tls=unverified \
                 encrypts without asking who answers; ?tls=off does not encrypt"
                    .into()
            }
        }
    }
}

/// The engine's word at the beginning of a source's name.
fn scheme(source_name: &str) -> &str {
    source_name.split(':').next().unwrap_or_default()
}

/// Which rows to keep. Empty lists keep everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of databases. What is in no database is kept: a server's log, and every device of a host.
    pub databases: Vec<String>,
    /// Parts of names of files, relations or devices.
    pub names: Vec<String>,
}

impl Filter {
    /// Whether a row about `subject` is wanted.
    pub fn keeps(&self, subject: &Subject) -> bool {
        let in_database = self.databases.is_empty()
            || subject.scope.database().is_none_or(|name| self.databases.iter().any(|wanted| wanted == name));
        let named =
            self.names.is_empty() || self.names.iter().any(|part| subject.name.contains(part.as_str()));
        in_database && named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{DeviceRole, Kind, Scope};
    use proptest::prelude::*;

    #[test]
    fn the_advice_is_about_the_engine_that_failed() {
        let error = SourceError::Connect { source_name: "mysql://db1:3306".into(), reason: "refused".into() };
        assert!(error.hint().contains("grants mysql"), "{}", error.hint());
    }

    fn subject(kind: Kind, scope: Scope, name: &str) -> Subject {
        Subject { kind, scope, name: name.into(), identity: "1".into(), volume: None }
    }

    #[test]
    fn a_filter_keeps_named_databases_and_what_belongs_to_none() {
        let filter = Filter { databases: vec!["sales".into()], names: vec![] };
        let within = |scope| subject(Kind::PostgresTable, scope, "t");
        assert!(
            filter.keeps(&within(Scope::Database("sales".into()))) && filter.keeps(&within(Scope::Source))
        );
        assert!(!filter.keeps(&within(Scope::Database("stock".into()))));
    }

    /// Names that databases, roles and control groups may share, so that one is easily taken for another.
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
        /// `--database sales` dropped every disk, partition and control group of `linux:`, because their roles and
        /// paths stood where a database's name stands, and said nothing.
        #[test]
        fn a_filter_on_databases_changes_nothing_but_the_rows_of_databases(
            kind in prop::sample::select(Kind::ALL.to_vec()),
            scope in scope(),
            own_name in name(),
            databases in prop::collection::vec(name(), 0..4),
            names in prop::collection::vec(name(), 0..3),
        ) {
            let subject = subject(kind, scope, &own_name);
            let without = Filter { databases: Vec::new(), names: names.clone() };
            let with = Filter { databases: databases.clone(), names };
            let is_other_database =
                subject.scope.database().is_some_and(|name| !databases.is_empty() && !databases.iter().any(|one| one == name));
            prop_assert_eq!(with.keeps(&subject), without.keeps(&subject) && !is_other_database);
        }
    }
}
