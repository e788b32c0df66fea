//! What sources behind a network share: a private runtime, a bound on time, and rows from named columns.

use std::time::Duration;

use iostall_model::{Counter, Counters, Kind, Row, Subject};
use tokio::runtime::{Builder, Runtime};

use crate::address::Address;
use crate::source::SourceError;

/// A runtime of one thread, the caller's: nothing asynchronous leaves this crate.
pub(crate) fn runtime(address: &Address) -> Result<Runtime, SourceError> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| SourceError::Connect { source_name: address.to_string(), reason: error.to_string() })
}

/// Runs `work` to its end or to `limit`, whichever comes first.
pub(crate) fn bounded<T>(
    runtime: &Runtime,
    address: &Address,
    limit: Duration,
    work: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, SourceError> {
    runtime
        .block_on(async { tokio::time::timeout(limit, work).await })
        .unwrap_or_else(|_| Err(SourceError::TimedOut { source_name: address.to_string(), limit }))
}

/// One column of a result, whatever driver read it.
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Missing,
}

/// A row from columns named after what they hold: `database`, `name`, `identity`, `volume`, `age_ms`, and every
/// [`Counter`] by its name. A missing counter stays absent. The queries give these names, so that they alone say
/// what a version's columns mean.
pub(crate) fn row(kind: Kind, columns: impl Iterator<Item = (String, Value)>) -> Row {
    let mut subject =
        Subject { kind, database: String::new(), name: String::new(), identity: String::new(), volume: None };
    let (mut counters, mut age_ms) = (Counters::new(), None);
    for (column, value) in columns {
        match (column.as_str(), value) {
            ("database", Value::Text(text)) => subject.database = text,
            ("name", Value::Text(text)) => subject.name = text,
            ("identity", Value::Text(text)) => subject.identity = text,
            ("volume", Value::Text(text)) => subject.volume = Some(text),
            ("age_ms", Value::Number(number)) => age_ms = Some(number),
            (counter, Value::Number(number)) => {
                if let Some(counter) = Counter::ALL.into_iter().find(|known| known.name() == counter) {
                    counters.set(counter, number);
                }
            }
            _ => {}
        }
    }
    Row { subject, counters, age_ms }
}

/// The newest of the texts keyed by the first version they are for that `version` is not too old for.
pub(crate) fn for_version(texts: &[(u32, &'static str)], version: u32) -> Option<&'static str> {
    texts.iter().filter(|(since, _)| *since <= version).max_by_key(|(since, _)| *since).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_text_that_is_not_too_new_is_taken() {
        let texts = [(18, "c"), (12, "a"), (16, "b")];
        assert_eq!(for_version(&texts, 17), Some("b"));
        assert_eq!(for_version(&texts, 99), Some("c"));
        assert_eq!(for_version(&texts, 11), None);
    }

    #[test]
    fn a_missing_value_is_not_a_zero() {
        let columns = [
            ("name".to_owned(), Value::Text("a".into())),
            ("reads".to_owned(), Value::Number(3)),
            ("writes".to_owned(), Value::Missing),
        ];
        let row = row(Kind::PostgresIo, columns.into_iter());
        assert_eq!(row.counters.get(Counter::Reads), Some(3));
        assert_eq!(row.counters.get(Counter::Writes), None);
    }
}
