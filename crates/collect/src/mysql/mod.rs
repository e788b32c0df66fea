//! MariaDB and MySQL: files from the Performance Schema, the redo log and InnoDB from the server's status.
//!
//! MariaDB has no instrument for the redo log, so its I/O comes from the status variables. For asynchronous
//! InnoDB I/O the Performance Schema times the submission, not the completion.

use std::collections::HashMap;
use std::time::Duration;

use iostall_connect::mysql::Login;
use iostall_connect::{Address, Allowance, Secret, SourceError, bounded, runtime};
use iostall_host::{System, Volumes};
use iostall_measure::foreign;
use iostall_model::{
    Counter, Counters, Epoch, Kind, Row, Sample, Scope, Setting, SettingClass, Subject, Warning, WarningCode,
};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::runtime::Runtime;

use crate::remote::{Columns, Plan};
use crate::sample_time;
use crate::settings::{checked, of_row};
use crate::source::Source;

const INSTANCE: &str = include_str!("sql/instance.sql");
const FILES: &str = include_str!("sql/files.sql");
const STATUS: &str = include_str!("sql/status.sql");
const SETTINGS: &str = include_str!("sql/settings.sql");

/// How long the server may take to end the session.
const ENDING: Duration = Duration::from_secs(1);

const TABLE_ACCESS_DENIED: u16 = 1142;
const NO_SUCH_TABLE: u16 = 1146;

pub(crate) struct MysqlSource {
    address: Address,
    login: Login,
    allowance: Allowance,
    limit: Duration,
    runtime: Runtime,
    connection: Option<Conn>,
    volumes: Volumes,
}

impl MysqlSource {
    pub(crate) fn new(address: Address, password: Secret, limit: Duration) -> Result<Self, SourceError> {
        let runtime = runtime(&address)?;
        let (login, allowance) = (Login::new(address.clone(), password)?, Allowance::for_one_reading());
        Ok(Self {
            address,
            login,
            allowance,
            limit,
            runtime,
            connection: None,
            volumes: Volumes::of_system(System::here()),
        })
    }

    /// What `ask` gets over the connection, within the limits. The connection stays open unless that fails.
    fn asked<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut Conn, &Allowance) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let kept = self.connection.take();
        self.allowance.renew();
        let work = async {
            let mut connection = match kept {
                Some(connection) => connection,
                None => self.login.connect().await?,
            };
            let answer = ask(&mut connection, &self.allowance).await;
            // Its own limits say why the driver failed.
            self.allowance.check(&self.address.to_string())?;
            Ok((connection, answer?))
        };
        let (connection, answer) = bounded(&self.runtime, &self.address, self.limit, work)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

impl Source for MysqlSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let address = self.address.clone();
        let (mut sample, host) =
            self.asked(async |connection, allowance| read(&address, connection, allowance).await)?;
        if self.address.is_local() && System::here().is_called(&host) {
            place(&mut sample.rows, &mut self.volumes);
        }
        Ok(sample)
    }

    fn disconnect(&mut self) {
        if let Some(connection) = self.connection.take() {
            // A server that does not answer is left alone.
            let _ =
                self.runtime.block_on(async { tokio::time::timeout(ENDING, connection.disconnect()).await });
        }
    }

    fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
        let address = self.address.clone();
        let fail = failed(&address, "iostall:settings");
        let found = self
            .asked(async |connection, allowance| rows(connection, SETTINGS, allowance).await.map_err(fail))?;
        let mut all = vec![Setting::set("", "engine", "mysql")];
        let setting = |row: &mysql_async::Row| of_row(SettingClass::Setting, None, row.text(0), row.text(1));
        all.extend(found.iter().filter_map(setting));
        Ok(checked(all))
    }
}

fn failed(address: &Address, query: &'static str) -> impl Fn(mysql_async::Error) -> SourceError {
    let source_name = address.to_string();
    move |error| SourceError::Query {
        source_name: source_name.clone(),
        query,
        reason: foreign::said(&error.to_string()),
    }
}

/// The sample, and the name of the host that the server runs on.
async fn read(
    address: &Address,
    connection: &mut Conn,
    allowance: &Allowance,
) -> Result<(Sample, String), SourceError> {
    let fail = |query: &'static str| failed(address, query);
    let taken = sample_time::now();
    let instance = rows(connection, INSTANCE, allowance).await.map_err(fail("iostall:instance"))?;
    let instance = instance.into_iter().next().and_then(|row| mysql_async::from_row_opt(row).ok());
    let (version, host, instance, has_schema): (String, String, String, bool) = instance.unwrap_or_default();
    let status: HashMap<String, String> = rows(connection, STATUS, allowance)
        .await
        .map_err(fail("iostall:status"))?
        .into_iter()
        .filter_map(|row| mysql_async::from_row_opt(row).ok())
        .collect();
    let mut warnings = status_warnings(&status);
    let mut rows = vec![redo(&status), innodb(&status)];
    if has_schema {
        match self::rows(connection, FILES, allowance).await {
            Ok(found) => rows.extend(files(&found)),
            Err(mysql_async::Error::Server(error))
                if error.code == TABLE_ACCESS_DENIED || error.code == NO_SUCH_TABLE =>
            {
                warnings.push(missing_grant(&error.message));
            }
            Err(error) => return Err(fail("iostall:files")(error)),
        }
    } else {
        warnings.push(schema_off());
    }
    let epoch = Epoch {
        instance,
        version: version_number(&version),
        uptime_s: number(&status, "Uptime"),
        ..Epoch::default()
    };
    Ok((Sample { taken, epoch, rows, warnings }, host))
}

/// The rows of a result, within the limits. The driver does not expose its socket, so bytes are counted as
/// rows come out.
async fn rows(
    connection: &mut Conn,
    text: &'static str,
    allowance: &Allowance,
) -> Result<Vec<mysql_async::Row>, mysql_async::Error> {
    let mut result = connection.query_iter(text).await?;
    let mut rows = Vec::new();
    while let Some(row) = result.next().await? {
        allowance.take_row()?;
        allowance.take_bytes(size(&row))?;
        rows.push(row);
    }
    Ok(rows)
}

fn size(row: &mysql_async::Row) -> u64 {
    let bytes = |index| match row.as_ref(index) {
        Some(mysql_async::Value::Bytes(bytes)) => bytes.len() as u64,
        _ => 0,
    };
    (0..row.len()).map(bytes).sum()
}

fn files(found: &[mysql_async::Row]) -> Vec<Row> {
    let Some(first) = found.first() else { return Vec::new() };
    let names: Vec<_> = first.columns_ref().iter().map(mysql_async::Column::name_str).collect();
    let plan = Plan::of(names.iter().map(AsRef::as_ref));
    found.iter().map(|row| plan.row(Kind::MysqlFile, row)).collect()
}

/// Assigns the files of a server on this host to volumes, each by its own directory: a table may be in a
/// different one than the server's.
fn place(rows: &mut [Row], volumes: &mut Volumes) {
    volumes.refresh();
    for subject in
        rows.iter_mut().map(|row| &mut row.subject).filter(|subject| subject.kind == Kind::MysqlFile)
    {
        let own = subject
            .name
            .rsplit_once('/')
            .map(|(directory, _)| directory)
            .filter(|path| path.starts_with('/'));
        let directory = own.or(subject.volume.as_deref());
        if let Some(volume) = directory.and_then(|directory| volumes.of(directory)) {
            subject.volume = Some(volume);
        }
    }
}

/// `10.11.19-MariaDB-log` as 1011: the part that decides what the columns mean.
fn version_number(text: &str) -> u32 {
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    major * 100 + minor
}

fn number(status: &HashMap<String, String>, name: &str) -> Option<u64> {
    status.get(name)?.parse().ok()
}

fn status_row(kind: Kind, name: &str, counters: &Counters) -> Row {
    let subject = Subject {
        kind,
        scope: Scope::Source,
        name: name.to_owned(),
        identity: name.to_owned(),
        volume: None,
    };
    Row { subject, counters: *counters, age_ms: None }
}

fn redo(status: &HashMap<String, String>) -> Row {
    let counters = Counters::new()
        .with_opt(Counter::Writes, number(status, "Innodb_log_writes"))
        .with_opt(Counter::WriteBytes, number(status, "Innodb_os_log_written"))
        .with_opt(Counter::Syncs, number(status, "Innodb_os_log_fsyncs"));
    status_row(Kind::MysqlRedo, "redo log", &counters)
}

fn innodb(status: &HashMap<String, String>) -> Row {
    let counters = Counters::new()
        .with_opt(Counter::Reads, number(status, "Innodb_data_reads"))
        .with_opt(Counter::ReadBytes, number(status, "Innodb_data_read"))
        .with_opt(Counter::Writes, number(status, "Innodb_data_writes"))
        .with_opt(Counter::WriteBytes, number(status, "Innodb_data_written"))
        .with_opt(Counter::Syncs, number(status, "Innodb_data_fsyncs"));
    status_row(Kind::MysqlInnodb, "innodb", &counters)
}

/// The text protocol sends everything as text; signed sums are never negative.
impl Columns for mysql_async::Row {
    fn text(&self, index: usize) -> Option<String> {
        match self.as_ref(index)? {
            mysql_async::Value::Bytes(bytes) => Some(match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => String::from_utf8_lossy(bytes).into_owned(),
            }),
            _ => None,
        }
    }

    fn number(&self, index: usize) -> Option<u64> {
        match self.as_ref(index)? {
            mysql_async::Value::UInt(number) => Some(*number),
            mysql_async::Value::Int(number) => u64::try_from(*number).ok(),
            mysql_async::Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
            _ => None,
        }
    }
}

fn schema_off() -> Warning {
    Warning::new(
        WarningCode::SettingOff,
        "performance_schema is off: there are no counters per file, only for InnoDB as a whole and its redo log",
    )
    .hint(
        "write performance_schema=ON into the [mysqld] section of the server's configuration and restart it",
    )
}

fn missing_grant(message: &str) -> Warning {
    Warning::new(WarningCode::MissingGrant, format!("files cannot be read: {}", foreign::said(message)))
        .hint("iostall collect grants mysql prints the statements for an administrator to run")
}

fn status_warnings(status: &HashMap<String, String>) -> Vec<Warning> {
    ["Performance_schema_file_instances_lost", "Performance_schema_file_handles_lost"]
        .into_iter()
        .filter_map(|name| Some((name, number(status, name).filter(|lost| *lost > 0)?)))
        .map(|(name, lost)| {
            Warning::new(
                WarningCode::CountersLost,
                format!("{name} is {lost}: that many files are not counted"),
            )
            .hint("raise performance_schema_max_file_instances and performance_schema_max_file_handles")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_decides_the_meaning_is_major_and_minor() {
        assert_eq!(version_number("10.11.19-MariaDB-0+deb12u1"), 1011);
        assert_eq!(version_number("8.4.2"), 804);
        assert_eq!(version_number(""), 0);
    }

    #[test]
    fn a_status_that_is_not_there_is_absent_and_not_zero() {
        let status = HashMap::from([("Innodb_log_writes".to_owned(), "7".to_owned())]);
        let row = redo(&status);
        assert_eq!(row.counters.get(Counter::Writes), Some(7));
        assert_eq!(row.counters.get(Counter::Syncs), None);
    }

    #[test]
    fn files_the_server_lost_are_said() {
        let status = HashMap::from([("Performance_schema_file_instances_lost".to_owned(), "3".to_owned())]);
        assert_eq!(status_warnings(&status)[0].code, WarningCode::CountersLost);
        assert!(status_warnings(&HashMap::new()).is_empty());
    }
}
