//! SQL Server 2008 R2 to 2022 and Azure SQL: `sys.dm_io_virtual_file_stats` over TDS.
//!
//! Times are whole milliseconds, counted when an I/O completes. The length of an interval comes from the
//! computer's tick
//! counter, read together with the counters.

mod connection;
mod fault;
mod history;

use std::time::Duration;

use iostall_model::{Epoch, Kind, Sample, SampleTime, Warning, WarningCode};
use tiberius::Config;
use tokio::runtime::Runtime;

pub use history::{Batch, History, Position};

use crate::address::Address;
use crate::remote::{self, Value, for_version};
use crate::sample_time;
use crate::secret::Secret;
use crate::source::{Source, SourceError};
use connection::{Columns, Connection, config, connect, query};

const INSTANCE: &str = include_str!("sql/instance.sql");
const FILES: [(u32, &str); 3] = [
    (10, include_str!("sql/files_10.sql")),
    (11, include_str!("sql/files_11.sql")),
    (12, include_str!("sql/files_12.sql")),
];
const FILES_AZURE: &str = include_str!("sql/files_azure.sql");

/// `SERVERPROPERTY('EngineEdition')` of Azure SQL Database.
const EDITION_AZURE_DATABASE: u64 = 5;

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

/// What the instance reports about itself.
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
