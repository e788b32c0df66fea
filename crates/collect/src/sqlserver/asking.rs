//! Questions beside the counters: seldom, with a time limit each, and without an answer the sample is whole all the same.

use std::time::Duration;

use iostall_connect::sqlserver::{Columns, Connection, query, within};
use iostall_connect::{Address, SourceError};

pub(super) struct Unanswered {
    pub(super) reason: String,
    pub(super) is_denied: bool,
    /// Whether the connection is still of use.
    pub(super) is_usable: bool,
}

/// The rows of `statement`, which is a tag and a text. `late` says what may be the matter where nothing comes in time.
pub(super) async fn ask(
    address: &Address,
    connection: &mut Connection,
    (tag, text): (&'static str, &'static str),
    limit: Duration,
    late: &str,
) -> Result<Vec<Columns>, Unanswered> {
    match within(limit, query(address, connection, tag, text)).await {
        Some(Ok(found)) => Ok(found),
        Some(Err(error)) => Err(Unanswered {
            is_denied: matches!(error, SourceError::Denied { .. }),
            is_usable: !matches!(error, SourceError::Connect { .. }),
            reason: error.to_string(),
        }),
        None => Err(Unanswered {
            reason: format!("no answer within {limit:?}{late}"),
            is_denied: false,
            is_usable: false,
        }),
    }
}
