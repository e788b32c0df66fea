//! A connection, and the results of its queries.

use std::io;

use futures_util::TryStreamExt as _;
use tiberius::{AuthMethod, Client, ColumnData, Config, EncryptionLevel, QueryItem, QueryStream, ToSql};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use super::fault;
use crate::address::{Address, Tls};
use crate::allowance::{Allowance, Metered};
use crate::remote::Value;
use crate::secret::Secret;
use crate::source::SourceError;
use crate::tls;

/// A client, with the limits for its server.
pub(super) struct Connection {
    client: Client<Compat<Metered<TcpStream>>>,
    allowance: Allowance,
}

/// Read once and not for every connection.
pub(super) fn config(address: &Address, password: &Secret) -> Result<Config, SourceError> {
    let mut config = Config::new();
    config.host(&address.host);
    config.port(address.port);
    config.application_name("iostall");
    // In another database the query would be parsed at that database's compatibility level.
    config.database(if address.database.is_empty() { "master" } else { &address.database });
    config.authentication(AuthMethod::sql_server(&address.user, password.reveal()));
    match &address.tls {
        Tls::Off => config.encryption(EncryptionLevel::NotSupported),
        Tls::Verify => config.encryption(EncryptionLevel::Required),
        Tls::VerifyWith(_) => {
            config.encryption(EncryptionLevel::Required);
            for certificate in tls::authorities(address)? {
                config.trust_cert_ca_bundle(certificate.to_vec());
            }
        }
        Tls::Unverified => {
            config.encryption(EncryptionLevel::Required);
            config.trust_cert();
        }
    }
    Ok(config)
}

pub(super) async fn connect(address: &Address, config: Config) -> Result<Connection, SourceError> {
    let refused = |error: io::Error| SourceError::Connect {
        source_name: address.to_string(),
        reason: error.to_string(),
    };
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(refused)?;
    // Requests are small and wait for their answers, so delaying them gains nothing.
    stream.set_nodelay(true).map_err(refused)?;
    let allowance = Allowance::new();
    let (stream, let_in) = Metered::new(stream, allowance.clone());
    let connected = Box::pin(Client::connect(config, stream.compat_write())).await;
    allowance.check(&address.to_string())?;
    let client = connected.map_err(|error| fault::connecting(address, error))?;
    let_in.done();
    Ok(Connection { client, allowance })
}

/// A result row as named columns, independent of the driver.
pub(super) type Columns = Vec<(String, Value)>;

pub(super) async fn query(
    address: &Address,
    connection: &mut Connection,
    tag: &'static str,
    text: &'static str,
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
pub(super) async fn query_with(
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

/// The rows of a result, within the limits.
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
                _ => Value::Missing,
            };
            (name, value)
        })
        .collect()
}

/// A handle is a bit pattern; any other negative number is damage and left out.
pub(super) fn whole(name: &str, number: i64) -> Value {
    if name == "handle" {
        return Value::Number(number.cast_unsigned());
    }
    u64::try_from(number).map_or(Value::Missing, Value::Number)
}
