//! MariaDB and MySQL: files from the Performance Schema, the redo log and InnoDB from the server's status.
//!
//! MariaDB has no instrument for the redo log, so its I/O comes from the status variables. For asynchronous
//! InnoDB I/O the Performance Schema times the submission, not the completion.

use std::collections::HashMap;
use std::time::Duration;

use iostall_connect::mysql::{Conn, Login, MysqlError, Row as Answered, query_error};
use iostall_connect::{Address, Allowance, Secret, SourceError, bounded, runtime};
use iostall_host::{System, Volumes};
use iostall_measure::foreign;
use iostall_model::{
    Counter, Counters, Epoch, Kind, Row, Sample, Scope, Setting, SettingClass, Subject, Warning, WarningCode,
};
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
        let setting = |row: &Answered| of_row(SettingClass::Setting, None, row.text(0), row.text(1));
        all.extend(found.iter().filter_map(setting));
        Ok(checked(all))
    }
}

fn failed(address: &Address, query: &'static str) -> impl Fn(MysqlError) -> SourceError {
    move |error| query_error(address, query, &error)
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
    let text = |index| instance.first().and_then(|row| row.text(index)).unwrap_or_default();
    let (version, host, epoch) = (text(0), text(1), text(2));
    let has_schema = instance.first().and_then(|row| row.number(3)) == Some(1);
    let status: HashMap<String, String> = rows(connection, STATUS, allowance)
        .await
        .map_err(fail("iostall:status"))?
        .into_iter()
        .filter_map(|row| Some((row.text(0)?, row.text(1)?)))
        .collect();
    let mut warnings = status_warnings(&status);
    let mut rows = vec![redo(&status), innodb(&status)];
    if has_schema {
        match self::rows(connection, FILES, allowance).await {
            Ok(found) => rows.extend(files(&found)),
            Err(MysqlError::Server { code: TABLE_ACCESS_DENIED | NO_SUCH_TABLE, message }) => {
                warnings.push(missing_grant(&message));
            }
            Err(error) => return Err(fail("iostall:files")(error)),
        }
    } else {
        warnings.push(schema_off());
    }
    let epoch = Epoch {
        instance: epoch,
        version: version_number(&version),
        uptime_s: number(&status, "Uptime"),
        ..Epoch::default()
    };
    Ok((Sample { taken, epoch, rows, warnings }, host))
}

/// The rows of a result, within the limits.
async fn rows(
    connection: &mut Conn,
    text: &'static str,
    allowance: &Allowance,
) -> Result<Vec<Answered>, MysqlError> {
    let take = |row: &Answered| {
        allowance.take_row()?;
        allowance.take_bytes(row.size_bytes())
    };
    connection.query_within(text, take).await.map(|answer| answer.rows)
}

fn files(found: &[Answered]) -> Vec<Row> {
    let Some(first) = found.first() else { return Vec::new() };
    let plan = Plan::of(first.names().iter().map(String::as_str));
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
impl Columns for Answered {
    fn text(&self, index: usize) -> Option<String> {
        self.text(index)
    }

    fn number(&self, index: usize) -> Option<u64> {
        self.number(index)
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
