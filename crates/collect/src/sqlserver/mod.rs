//! SQL Server 2008 R2 to 2022 and Azure SQL: `sys.dm_io_virtual_file_stats` over TDS.
//!
//! Times are whole milliseconds, counted when an I/O completes. The length of an interval comes from the
//! computer's tick counter, read together with the counters. The ages of backups come from `msdb`, read now and then.

mod asking;
mod backups;
mod history;
mod names;
mod settings;
mod volumes;

use std::time::Duration;

use iostall_connect::sqlserver::{Access, Columns, Connection, query, with_connection};
use iostall_connect::{Address, Secret, SourceError, Value, bounded, runtime};
use iostall_host::System;
use iostall_model::device::Placement;
use iostall_model::{Epoch, Kind, Sample, SampleTime, Setting, Warning, WarningCode};
use tokio::runtime::Runtime;

pub use history::{Batch, History, Position};

use crate::remote::{self, for_version};
use crate::sample_time;
use crate::settings::checked;
use crate::source::{Filter, Source};
use backups::Backups;
use names::Names;
use volumes::Volumes;

const INSTANCE: &str = include_str!("sql/instance.sql");
const FILES: [(u32, &str); 2] =
    [(10, include_str!("sql/files_10.sql")), (12, include_str!("sql/files_12.sql"))];
const FILES_AZURE: &str = include_str!("sql/files_azure.sql");

/// `SERVERPROPERTY('EngineEdition')` of Azure SQL Database, and of the same in Fabric.
const EDITIONS_AZURE_DATABASE: [u64; 2] = [5, 12];

/// Longer than a statement about settings takes where nothing hangs: histories of years are slow.
const SETTING_PATIENCE: Duration = Duration::from_secs(5);
/// What a reading of all settings may take: they are read beside the samples, by one thread for all sources.
const SETTINGS_PATIENCE: Duration = Duration::from_secs(25);

/// The first version with volume statistics in every build.
const VERSION_WITH_VOLUMES: u32 = 11;

pub(crate) struct SqlServerSource {
    address: Address,
    access: Access,
    limit: Duration,
    runtime: Runtime,
    connection: Option<Connection>,
    names: Names,
    volumes: Volumes,
    backups: Backups,
    wants_backups: bool,
}

impl SqlServerSource {
    pub(crate) fn new(address: Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let (runtime, access) = (runtime(&address)?, Access::new(&address, password, limit)?);
        Ok(Self {
            address,
            access,
            limit,
            runtime,
            connection: None,
            names: Names::default(),
            volumes: Volumes::new(),
            backups: Backups::default(),
            wants_backups: true,
        })
    }
}

impl Source for SqlServerSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let Self { address, access, limit, runtime, connection, names, volumes, backups, wants_backups } =
            self;
        let kept = connection.take();
        let work = async {
            let (mut connection, reading) = with_connection(address, access, kept, read).await?;
            let Reading { mut sample, sees_definitions, has_volumes, has_history, process } = reading;
            let now_ns = iostall_host::since_boot_ns();
            let mut is_usable = true;
            // Azure SQL Database has names and counters of one database, and no master.
            if has_history {
                is_usable = names.ask(address, &mut connection, now_ns, *limit).await;
                sample.warnings.extend(names.put(&mut sample.rows, now_ns));
            }
            if !sees_definitions && sample.rows.iter().any(names::is_nameless) {
                sample.warnings.push(nameless());
            }
            if has_volumes && is_usable {
                is_usable = volumes.ask(address, &mut connection, &sample.rows, now_ns, *limit).await;
            }
            let is_here = address.is_local() && process.is_some_and(|id| System::here().runs(id, "sqlservr"));
            volumes.place(&mut sample.rows, is_here);
            sample.warnings.extend(volumes.warning());
            if has_history && *wants_backups {
                // After names or a volume that hung there is no connection to ask on until the next reading.
                is_usable = is_usable && backups.ask(address, &mut connection, now_ns, *limit).await;
                sample.rows.extend_from_slice(backups.rows());
                sample.warnings.extend(backups.warning());
            }
            Ok((is_usable.then_some(connection), sample))
        };
        let (usable, sample) = bounded(runtime, address, *limit, work)?;
        *connection = usable;
        Ok(sample)
    }

    fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
        let Self { address, access, limit, runtime, connection, .. } = self;
        let (kept, each) = (connection.take(), SETTING_PATIENCE.min(*limit / 2));
        let whole = SETTINGS_PATIENCE.min(*limit * 5 / 2);
        // What is begun last has its connection and its answer still before it.
        let begins_ns = u64::try_from(whole.saturating_sub(each * 2).as_nanos()).unwrap_or(u64::MAX);
        let until_ns = iostall_host::since_boot_ns().saturating_add(begins_ns);
        let work = settings::read(address, access, kept, each, until_ns);
        let (all, usable) = bounded(runtime, address, whole, work)?;
        *connection = usable;
        Ok(checked(all))
    }

    fn narrow(&mut self, filter: &Filter) {
        self.wants_backups = filter.has_kind(Kind::SqlServerBackup);
    }

    fn disconnect(&mut self) {
        self.connection = None;
    }

    fn placements(&self) -> Vec<Placement> {
        self.volumes.placements()
    }
}

struct Reading {
    sample: Sample,
    sees_definitions: bool,
    has_volumes: bool,
    /// Azure SQL Database has no msdb.
    has_history: bool,
    process: Option<i32>,
}

async fn read(address: &Address, connection: &mut Connection) -> Result<Reading, SourceError> {
    let instance = query(address, connection, "iostall:instance", INSTANCE).await?;
    let instance = Instance::from_columns(instance.into_iter().next().unwrap_or_default());
    let is_azure_database = EDITIONS_AZURE_DATABASE.contains(&instance.edition);
    let text = if is_azure_database { Some(FILES_AZURE) } else { for_version(&FILES, instance.version) };
    let Some(text) = text else {
        return Err(SourceError::TooOld {
            source_name: address.to_string(),
            version: instance.version.to_string(),
            oldest: "SQL Server 2008 R2",
        });
    };
    let files = query(address, connection, "iostall:files", text).await?;
    let has_volumes = instance.version >= VERSION_WITH_VOLUMES && !is_azure_database;
    let process = instance.process;
    let sees_definitions = instance.sees_definitions || is_azure_database;
    Ok(Reading {
        sample: sample(instance, files),
        sees_definitions,
        has_volumes,
        has_history: !is_azure_database,
        process,
    })
}

#[derive(Debug, Default)]
struct Instance {
    version: u32,
    edition: u64,
    name: String,
    now_ms: u64,
    start_ms: u64,
    sees_definitions: bool,
    process: Option<i32>,
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
                ("process_id", Value::Number(number)) => instance.process = i32::try_from(number).ok(),
                ("sees_definitions", Value::Number(number)) => instance.sees_definitions = number == 1,
                ("instance", Value::Text(text)) => instance.name = text,
                _ => {}
            }
        }
        instance
    }
}

fn sample(instance: Instance, files: Vec<Columns>) -> Sample {
    let taken = SampleTime {
        clock: format!("ticks of {}", instance.name),
        clock_ns: clock_ms(instance.now_ms, &files).saturating_mul(1_000_000),
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
    Sample { taken, epoch, rows, warnings: Vec::new() }
}

fn nameless() -> Warning {
    let message = "the login lacks VIEW ANY DEFINITION: files are listed by number instead of name";
    Warning::new(WarningCode::MissingGrant, message)
        .hint("iostall collect grants sqlserver prints the statements for an administrator to run")
}

/// When the counters were read, on the computer's clock, which showed `now_ms` just before. Before 2016 the time in the
/// rows has only the lower 32 bits of that clock.
fn clock_ms(now_ms: u64, files: &[Columns]) -> u64 {
    let read_ms = files.iter().flatten().find_map(|(name, value)| match value {
        Value::Number(number) if name == "sample_ms" => Some(*number),
        _ => None,
    });
    let Some(read_ms) = read_ms else { return now_ms };
    // The two readings are seconds apart, so the difference of their lower bits is the difference.
    let lower = |ms: u64| u32::try_from(ms & u64::from(u32::MAX)).unwrap_or(0);
    let difference = lower(read_ms).wrapping_sub(lower(now_ms)).cast_signed();
    now_ms.saturating_add_signed(i64::from(difference))
}

#[cfg(test)]
mod tests;
