//! Poolers in front of a server: what they say when they are asked for what only a server has.

/// What only PgBouncer, Pgpool-II or Odyssey says, and what a server says when a pooler gave the connection to another.
const WORDS: [&str; 9] = [
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

const HINT: &str = "this looks like a pooler (PgBouncer or the like): name the PostgreSQL server itself, with its own port. Through a \
                    pooler each reading may reach another server or database, and its counters would mix";

/// What to do where `reason` is a pooler's.
pub(crate) fn hint(reason: &str) -> Option<&'static str> {
    let reason = reason.to_ascii_lowercase();
    WORDS.iter().any(|word| reason.contains(word)).then_some(HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(hint(pooler).is_some(), "{pooler}");
        }
        for server in [
            "db error: FATAL: database \"sales\" does not exist",
            "db error: FATAL: sorry, too many clients already",
            "db error: FATAL: password authentication failed for user \"mon\"",
            "Connection refused (os error 111)",
        ] {
            assert_eq!(hint(server), None, "{server}");
        }
    }
}
