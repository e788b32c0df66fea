//! SQL Server 2008 R2 to 2022 and Azure SQL: `sys.dm_io_virtual_file_stats` over TDS.
//!
//! Whole milliseconds, counted when an I/O completes. The length of an interval comes from the computer's own
//! tick counter, read with the counters.

mod fault;
mod history;

use std::io;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use iostall_model::{Epoch, Kind, Sample, SampleTime, Warning, WarningCode};
use tiberius::{AuthMethod, Client, ColumnData, Config, EncryptionLevel, QueryItem, QueryStream, ToSql};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

pub use history::{Batch, History, Position};

use crate::address::{Address, Tls};
use crate::allowance::{Allowance, Metered};
use crate::remote::{self, Value, for_version};
use crate::sample_time;
use crate::secret::Secret;
use crate::source::{Source, SourceError};
use crate::tls;

const INSTANCE: &str = include_str!("sql/instance.sql");
const FILES: [(u32, &str); 3] = [
    (10, include_str!("sql/files_10.sql")),
    (11, include_str!("sql/files_11.sql")),
    (12, include_str!("sql/files_12.sql")),
];
const FILES_AZURE: &str = include_str!("sql/files_azure.sql");

/// `SERVERPROPERTY('EngineEdition')` of Azure SQL Database.
const EDITION_AZURE_DATABASE: u64 = 5;

/// A client, and what its server may send.
struct Connection {
    client: Client<Compat<Metered<TcpStream>>>,
    allowance: Allowance,
}

/// A SQL Server instance, or an Azure SQL database.
pub(crate) struct SqlServerSource {
    address: Address,
    config: Config,
    limit: Duration,
    runtime: Runtime,
    connection: Option<Connection>,
}

impl SqlServerSource {
    pub(crate) fn new(address: Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let (runtime, config) = (remote::runtime(&address)?, config(&address, password)?);
        Ok(Self { address, config, limit, runtime, connection: None })
    }
}

/// Certificates are read once and not at each connection.
fn config(address: &Address, password: &Secret) -> Result<Config, SourceError> {
    let mut config = Config::new();
    config.host(&address.host);
    config.port(address.port);
    config.application_name("iostall");
    // From another database the query would be parsed at that database's compatibility level.
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

impl Source for SqlServerSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let kept = self.connection.take();
        let work = async {
            let mut connection = match kept {
                Some(connection) => connection,
                None => Box::pin(connect(&self.address, self.config.clone())).await?,
            };
            let sample = read(&self.address, &mut connection).await?;
            Ok((connection, sample))
        };
        let (connection, sample) = remote::bounded(&self.runtime, &self.address, self.limit, work)?;
        self.connection = Some(connection);
        Ok(sample)
    }
}

async fn connect(address: &Address, config: Config) -> Result<Connection, SourceError> {
    let refused = |error: io::Error| SourceError::Connect {
        source_name: address.to_string(),
        reason: error.to_string(),
    };
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(refused)?;
    // Requests are small and answers are waited for: nothing is won by gathering them.
    stream.set_nodelay(true).map_err(refused)?;
    let allowance = Allowance::new();
    let (stream, let_in) = Metered::new(stream, allowance.clone());
    let connected = Box::pin(Client::connect(config, stream.compat_write())).await;
    allowance.check(&address.to_string())?;
    let client = connected.map_err(|error| fault::connecting(address, error))?;
    let_in.done();
    Ok(Connection { client, allowance })
}

/// A result as named columns, apart from the driver.
type Columns = Vec<(String, Value)>;

async fn query(
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
async fn query_with(
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

/// The rows of a result, as many as are allowed.
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

/// A handle is a pattern of bits; anything else below zero would be damage, and is left out.
fn whole(name: &str, number: i64) -> Value {
    if name == "handle" {
        return Value::Number(number.cast_unsigned());
    }
    u64::try_from(number).map_or(Value::Missing, Value::Number)
}

async fn read(address: &Address, connection: &mut Connection) -> Result<Sample, SourceError> {
    let instance = query(address, connection, "iostall:instance", INSTANCE).await?;
    let instance = Instance::from_columns(instance.into_iter().next().unwrap_or_default());
    let is_azure_database = instance.edition == EDITION_AZURE_DATABASE;
    let text = if is_azure_database { Some(FILES_AZURE) } else { for_version(&FILES, instance.version) };
    let Some(text) = text else {
        return Err(SourceError::TooOld {
            source_name: address.to_string(),
            version: instance.version.to_string(),
            oldest: "SQL Server 2008 R2",
        });
    };
    let files = query(address, connection, "iostall:files", text).await?;
    Ok(sample(instance, files, is_azure_database))
}

/// What the instance says of itself.
#[derive(Debug, Default)]
struct Instance {
    version: u32,
    edition: u64,
    name: String,
    now_ms: u64,
    start_ms: u64,
    sees_definitions: bool,
}

impl Instance {
    fn from_columns(columns: Columns) -> Self {
        let mut instance = Self::default();
        for (column, value) in columns {
            match (column.as_str(), value) {
                ("version", Value::Number(number)) => instance.version = u32::try_from(number).unwrap_or(0),
                ("edition", Value::Number(number)) => instance.edition = number,
                ("now_ms", Value::Number(number)) => instance.now_ms = number,
                ("start_ms", Value::Number(number)) => instance.start_ms = number,
                ("sees_definitions", Value::Number(number)) => instance.sees_definitions = number == 1,
                ("instance", Value::Text(text)) => instance.name = text,
                _ => {}
            }
        }
        instance
    }
}

fn sample(instance: Instance, files: Vec<Columns>, is_azure_database: bool) -> Sample {
    let taken = SampleTime {
        clock: format!("ticks of {}", instance.name),
        clock_ns: instance.now_ms.saturating_mul(1_000_000),
        ..sample_time::now()
    };
    let start = instance.start_ms.to_string();
    let epoch = Epoch {
        instance: instance.name,
        version: instance.version,
        process_start: start.clone(),
        counters_since: vec![start],
        uptime_s: None,
    };
    let rows = files.into_iter().map(|file| remote::row(Kind::SqlServerFile, file.into_iter())).collect();
    let mut warnings = Vec::new();
    if !instance.sees_definitions && !is_azure_database {
        warnings.push(
            Warning::new(
                WarningCode::MissingGrant,
                "the login lacks VIEW ANY DEFINITION: files have numbers instead of names",
            )
            .hint("iostall collect grants sqlserver prints the statements for an administrator to run"),
        );
    }
    Sample { taken, epoch, rows, warnings }
}

#[cfg(test)]
mod tests;
