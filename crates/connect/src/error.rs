//! What goes wrong with a server: its errors, and what to do about them.

use std::time::Duration;

use iostall_engine::InputError;
use iostall_host::Unreadable;
use iostall_measure::ByteCount;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    #[error("{source_name} did not answer within {limit:?}")]
    TimedOut { source_name: String, limit: Duration },
    #[error("cannot connect to {source_name}: {reason}")]
    Connect { source_name: String, reason: String },
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
    /// A drive's own counters.
    #[error("{source_name}: {reason}")]
    Drive { source_name: String, reason: String, hint: Option<String> },
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
            | Self::Drive { .. }
            | Self::Tls { .. } => Some(REFUSED_FOR),
            Self::TimedOut { .. } | Self::Query { .. } | Self::Token { .. } | Self::Kerberos { .. } => {
                Some(TROUBLED_FOR)
            }
            Self::Connect { .. } | Self::Full { .. } | Self::HostFile(_) => None,
        }
    }

    pub fn hint(&self) -> String {
        if let Self::Connect { reason, .. } | Self::Login { reason, .. } | Self::Query { reason, .. } = self
            && let Some(hint) = pooler_hint(reason)
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
            Self::Drive { hint, .. } => {
                hint.clone().unwrap_or_else(|| "`iostall drive endurance` reads the same by hand".into())
            }
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

fn scheme(source_name: &str) -> &str {
    source_name.split(':').next().unwrap_or_default()
}

/// What only PgBouncer, Pgpool-II or Odyssey says, and what a server says when a pooler gave the connection to another.
const POOLER_WORDS: [&str; 9] = [
    "pgbouncer",
    "unsupported startup parameter",
    "no such database:",
    "no more connections allowed (max_client_conn)",
    "query_wait_timeout",
    "server login has been failing",
    "prepared statement \"s",
    "pgpool",
    "odyssey:",
];

const POOLER_HINT: &str = "this looks like a pooler (PgBouncer or the like): name the PostgreSQL server itself, with its own port. Through a \
                    pooler each reading may reach another server or database, and its counters would mix";

/// What to do where `reason` is a pooler's.
fn pooler_hint(reason: &str) -> Option<&'static str> {
    let reason = reason.to_ascii_lowercase();
    POOLER_WORDS.iter().any(|word| reason.contains(word)).then_some(POOLER_HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_about_the_engine_that_failed() {
        let error = SourceError::Connect { source_name: "mysql://db1:3306".into(), reason: "refused".into() };
        assert!(error.hint().contains("grants mysql"), "{}", error.hint());
    }

    /// Sampling went through PgBouncer because applications did, and failed with a message about prepared statements that
    /// sent the DBA to the wrong place.
    #[test]
    fn what_a_pooler_says_is_recognised_and_what_a_server_says_is_not() {
        for pooler in [
            "db error: FATAL: unsupported startup parameter: options",
            "db error: FATAL: no such database: sales",
            "db error: ERROR: prepared statement \"s0\" does not exist",
            "db error: FATAL: pgbouncer cannot connect to server",
            "FATAL: no more connections allowed (max_client_conn)",
        ] {
            assert!(pooler_hint(pooler).is_some(), "{pooler}");
        }
        for server in [
            "db error: FATAL: database \"sales\" does not exist",
            "db error: FATAL: sorry, too many clients already",
            "db error: FATAL: password authentication failed for user \"mon\"",
            "Connection refused (os error 111)",
        ] {
            assert_eq!(pooler_hint(server), None, "{server}");
        }
    }
}
