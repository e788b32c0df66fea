//! Connections to a server, and what is asked over them.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use tiberius::error::Error;
use tiberius::{Client, ColumnData, Config, QueryItem, QueryStream, ToSql};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use super::access::Access;
use super::{browser, fault};
use crate::address::Address;
use crate::allowance::{Allowance, Metered};
use crate::error::SourceError;
use crate::remote::{self, Value};

/// Azure's gateway sends a client on to the node with its database; nobody is sent on for ever.
const REDIRECTS_MAX: usize = 3;

/// A client, with the limits for its server.
pub struct Connection {
    client: Client<Compat<Metered<TcpStream>>>,
    allowance: Allowance,
}

enum Login {
    Done(Box<Connection>),
    SentOn { host: String, port: u16 },
}

/// Connects to where `address` points, and on to where that server sends us.
pub(super) async fn connect(address: &Address, config: Config) -> Result<Connection, SourceError> {
    let (mut host, mut port) = (address.host.clone(), address.port);
    if let Some(instance) = &address.instance {
        port = browser::port_of(address, instance, browser::PORT).await?;
    }
    for _ in 0..=REDIRECTS_MAX {
        let mut config = config.clone();
        config.host(&host);
        config.port(port);
        match Box::pin(log_in(address, config, &host, port)).await? {
            Login::Done(connection) => return Ok(*connection),
            Login::SentOn { host: to, port: at } => (host, port) = (to, at),
        }
    }
    let reason = format!("it sends its clients on without an end, the last time to {host}:{port}");
    Err(SourceError::Connect { source_name: address.to_string(), reason })
}

async fn log_in(address: &Address, config: Config, host: &str, port: u16) -> Result<Login, SourceError> {
    let stream = remote::reach(host, port).await.map_err(|error| SourceError::Connect {
        source_name: address.to_string(),
        reason: error.to_string(),
    })?;
    let allowance = Allowance::for_one_reading();
    let (stream, let_in) = Metered::new(stream, allowance.clone());
    let connected = Box::pin(Client::connect(config, stream.compat_write())).await;
    allowance.check(&address.to_string())?;
    match connected {
        Ok(client) => {
            let_in.done();
            Ok(Login::Done(Box::new(Connection { client, allowance })))
        }
        Err(Error::Routing { host, port }) => Ok(Login::SentOn { host, port }),
        Err(error) => Err(fault::connecting(address, error)),
    }
}

/// What `work` gives over the connection that was kept, or over a new one where there is none or it has broken meanwhile:
/// firewalls cut those that are idle.
pub async fn with_connection<T>(
    address: &Address,
    access: &Access,
    kept: Option<Connection>,
    mut work: impl AsyncFnMut(&Address, &mut Connection) -> Result<T, SourceError>,
) -> Result<(Connection, T), SourceError> {
    if let Some(mut connection) = kept {
        match work(address, &mut connection).await {
            Err(SourceError::Connect { .. }) => {}
            answer => return answer.map(|answer| (connection, answer)),
        }
    }
    let config = access.config().await?;
    let connected = Box::pin(connect(address, config)).await;
    let mut connection = connected.map_err(|error| access.explain(error))?;
    let answer = work(address, &mut connection).await?;
    Ok((connection, answer))
}

/// The answer of `work`, where it comes within `limit`; `None` means that it did not, and that the connection is of no use
/// any more.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, work).await.ok()
}

pub type Columns = Vec<(String, Value)>;

/// The rows that the statement `text`, which carries `tag`, returns.
pub async fn query(
    address: &Address,
    connection: &mut Connection,
    tag: &'static str,
    text: &str,
) -> Result<Vec<Columns>, SourceError> {
    let Connection { client, allowance } = connection;
    allowance.renew();
    let answer = match client.simple_query(text).await {
        Ok(stream) => rows(stream, allowance).await,
        Err(error) => Err(error),
    };
    allowance.check(&address.to_string())?;
    answer.map_err(|error| fault::asking(address, tag, error))
}

/// The same with values for `@P1`, `@P2` and so on.
pub async fn query_with(
    address: &Address,
    connection: &mut Connection,
    tag: &'static str,
    text: &'static str,
    values: &[&dyn ToSql],
) -> Result<Vec<Columns>, SourceError> {
    let Connection { client, allowance } = connection;
    allowance.renew();
    let answer = match client.query(text, values).await {
        Ok(stream) => rows(stream, allowance).await,
        Err(error) => Err(error),
    };
    allowance.check(&address.to_string())?;
    answer.map_err(|error| fault::asking(address, tag, error))
}

async fn rows(
    mut stream: QueryStream<'_>,
    allowance: &Allowance,
) -> Result<Vec<Columns>, tiberius::error::Error> {
    let mut rows = Vec::new();
    while let Some(item) = stream.try_next().await? {
        if let QueryItem::Row(row) = item {
            allowance.take_row()?;
            rows.push(columns(row));
        }
    }
    Ok(rows)
}

fn columns(row: tiberius::Row) -> Columns {
    let names: Vec<String> = row.columns().iter().map(|column| column.name().to_owned()).collect();
    names
        .into_iter()
        .zip(row)
        .map(|(name, data)| {
            let value = match data {
                ColumnData::I64(Some(number)) => whole(&name, number),
                ColumnData::String(Some(text)) => Value::Text(text.into_owned()),
                // RESTORE names the types of its columns itself.
                ColumnData::U8(Some(number)) => Value::Number(number.into()),
                ColumnData::I16(Some(number)) => whole(&name, number.into()),
                ColumnData::I32(Some(number)) => whole(&name, number.into()),
                ColumnData::Guid(Some(id)) => Value::Text(id.to_string()),
                ColumnData::Bit(Some(bit)) => Value::Number(bit.into()),
                ColumnData::Numeric(Some(number)) if number.scale() == 0 => large(number.value()),
                ColumnData::DateTime(Some(at)) => {
                    date_time(at.days(), at.seconds_fragments()).map_or(Value::Missing, Value::Text)
                }
                _ => Value::Missing,
            };
            (name, value)
        })
        .collect()
}

/// A position in a log has up to 25 digits: what is too large for a number is a text.
fn large(number: i128) -> Value {
    match (u64::try_from(number), number >= 0) {
        (Ok(number), _) => Value::Number(number),
        (Err(_), true) => Value::Text(number.to_string()),
        (Err(_), false) => Value::Missing,
    }
}

/// A `datetime`, in the server's own time and whole seconds: days since 1900 and parts of 1/300 s.
fn date_time(days: i32, fragments: u32) -> Option<String> {
    let midnight = jiff::civil::date(1900, 1, 1).at(0, 0, 0, 0);
    let span = jiff::Span::new().try_days(days);
    let at = span
        .and_then(|span| span.try_seconds(i64::from(fragments / 300)))
        .and_then(|span| midnight.checked_add(span));
    at.ok().map(|at| at.to_string())
}

/// A handle is a bit pattern, `sample_ms` has only 32 bits before 2016, and time zones lie on both sides of UTC: the reader of these
/// turns them into signed numbers again. Any other negative number would be
/// corrupt and is left out.
pub fn whole(name: &str, number: i64) -> Value {
    if matches!(name, "handle" | "sample_ms" | "TimeZone") {
        return Value::Number(number.cast_unsigned());
    }
    u64::try_from(number).map_or(Value::Missing, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_in_a_log_is_not_lost_for_its_digits() {
        assert!(matches!(large(41_000_000_012_800_037), Value::Number(41_000_000_012_800_037)));
        let Value::Text(digits) = large(9_999_900_000_012_800_037_i128 * 10) else { panic!("a number") };
        assert_eq!(digits, "99999000000128000370");
        assert!(matches!(large(-1), Value::Missing));
    }

    /// RESTORE HEADERONLY says when a backup was made in a type of its own, and each was shown as of no time.
    #[test]
    fn a_moment_is_text_that_sorts() {
        assert_eq!(date_time(0, 0), Some("1900-01-01T00:00:00".into()));
        assert_eq!(date_time(46_168, 300 * (3 * 3600 + 4) + 299), Some("2026-05-28T03:00:04".into()));
        assert_eq!(date_time(i32::MAX, 0), None);
    }
}
