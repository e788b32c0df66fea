//! PostgreSQL 12 to 18: `pg_stat_io`, the log, checkpoints and databases over one connection, and the
//! relations of every database over a connection of its own.
//!
//! PostgreSQL has no per-file latency: only blocks per relation, time per backend, and the device's own time
//! from the host. The queries for each version are in `*.sql`, named after the first version they apply to.

mod databases;
mod queries;
mod settings;

use std::time::Duration;

use iostall_connect::postgres::Login;
use iostall_connect::{Address, Secret, SourceError};
use iostall_host::{System, Volumes};
use iostall_model::{Epoch, Row, Sample, Setting, Warning, WarningCode};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use self::databases::Databases;
use self::queries::{DIRECTORY, INSTANCE, PLACE, RELATIONS, SERVER, TIMING, VERSION};
use crate::sample_time;
use crate::source::{Filter, Source};

const OLDEST: u32 = 12;
/// How long the server may take to end the session.
const ENDING: Duration = Duration::from_secs(1);

pub(crate) struct PostgresSource {
    address: Address,
    limit: Duration,
    runtime: Runtime,
    server: Server,
    volumes: Volumes,
}

struct Server {
    login: Login,
    client: Option<Client>,
    connection: Option<JoinHandle<()>>,
    databases: Databases,
    wanted: Filter,
}

impl PostgresSource {
    pub(crate) fn new(address: Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let runtime = iostall_connect::runtime(&address)?;
        let login = Login::new(&address, password, limit)?;
        let server = Server {
            login,
            client: None,
            connection: None,
            databases: Databases::default(),
            wanted: Filter::default(),
        };
        Ok(Self { address, limit, runtime, server, volumes: Volumes::of_system(System::here()) })
    }
}

impl Source for PostgresSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let (mut sample, backend) =
            iostall_connect::bounded(&self.runtime, &self.address, self.limit, self.server.read())?;
        if self.address.is_local() && System::here().runs(backend, "postgres") {
            place(&mut sample.rows, &mut self.volumes);
        }
        Ok(sample)
    }

    fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
        iostall_connect::bounded(&self.runtime, &self.address, self.limit, self.server.settings())
    }

    fn narrow(&mut self, filter: &Filter) {
        self.server.databases.narrow(&filter.databases);
        self.server.wanted = filter.clone();
    }

    fn disconnect(&mut self) {
        self.server.client = None;
        if let Some(connection) = self.server.connection.take() {
            // It ends while somebody waits for it, and not before.
            let _ = self.runtime.block_on(async { tokio::time::timeout(ENDING, connection).await });
        }
    }
}

impl Server {
    /// A sample, and the pid of the backend that answered.
    async fn read(&mut self) -> Result<(Sample, i32), SourceError> {
        self.login.allowance.renew();
        let answer = self.read_all().await;
        self.login.allowance.check(&self.login.name)?;
        answer
    }

    async fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
        self.login.allowance.renew();
        let client = self.client().await?;
        let version = version(&self.login, &client).await?;
        let settings = settings::read(&self.login, &client, version).await;
        self.login.allowance.check(&self.login.name)?;
        self.client = Some(client);
        settings
    }

    /// The connection that was kept, or a new one.
    async fn client(&mut self) -> Result<Client, SourceError> {
        if let Some(client) = self.client.take().filter(|client| !client.is_closed()) {
            return Ok(client);
        }
        let (client, connection) = self.login.connect(None).await?;
        self.connection = Some(connection);
        Ok(client)
    }

    async fn read_all(&mut self) -> Result<(Sample, i32), SourceError> {
        let client = self.client().await?;
        let answer = self.ask(&client).await?;
        self.client = Some(client);
        Ok(answer)
    }

    async fn ask(&mut self, client: &Client) -> Result<(Sample, i32), SourceError> {
        let login = &self.login;
        let version = version(login, client).await?;
        let taken = sample_time::now();
        let mut warnings = Vec::new();
        let mut epoch = Epoch { version, ..Epoch::default() };
        if let Some(row) = INSTANCE.ask(login, client, version).await?.first() {
            epoch.instance = INSTANCE.column(login, row, "instance")?;
            epoch.process_start = INSTANCE.column(login, row, "process_start")?;
            let marks: Vec<Option<String>> = INSTANCE.column(login, row, "marks")?;
            epoch.counters_since = marks.into_iter().flatten().collect();
            let timed = |name| INSTANCE.column(login, row, name);
            warnings = setting_warnings(version, timed("io_timing")?, timed("wal_timing")?);
            if INSTANCE.column(login, row, "is_superuser")? {
                warnings.push(too_many_rights(login.user()));
            }
        }
        for row in TIMING.ask(login, client, version).await? {
            let name = |column| -> Result<Option<String>, SourceError> {
                let bytes: Option<&[u8]> = TIMING.column(login, &row, column)?;
                Ok(bytes.map(queries::readable))
            };
            let is_on = TIMING.column(login, &row, "is_on")?;
            let (database, role) = (name("database")?, name("role")?);
            warnings.push(timed_apart(database.as_deref(), role.as_deref(), is_on));
        }
        let wanted = SERVER.iter().filter(|one| self.wanted.has_kind((one.kind)(version)));
        let mut rows = queries::rows(wanted, login, client, version).await?;
        let mut backend = 0;
        if RELATIONS.iter().any(|one| self.wanted.has_kind((one.kind)(version))) {
            let relations;
            (relations, backend) = self.relations(client, version, taken.clock_ns, &mut warnings).await?;
            rows.extend(relations);
        }
        Ok((Sample { taken, epoch, rows, warnings }, backend))
    }

    /// The relations of all wanted databases, and the pid of the backend that answered.
    async fn relations(
        &mut self,
        client: &Client,
        version: u32,
        now_ns: u64,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Vec<Row>, i32), SourceError> {
        let login = &self.login;
        let (mut rows, mut backend, mut directory) = (Vec::new(), 0, None);
        if let Some(row) = PLACE.ask(login, client, version).await?.first() {
            backend = PLACE.column(login, row, "backend")?;
            directory = data_directory(login, client, version, row).await?;
            if directory.is_none() {
                warnings.push(place_unknown());
            }
            if self.databases.wants(&queries::readable(PLACE.column(login, row, "database")?)) {
                rows.extend(queries::rows(&RELATIONS, login, client, version).await?);
            }
        }
        let (others, refusals) = self.databases.read(login, client, version, now_ns).await?;
        rows.extend(others);
        warnings.extend(refusals);
        for row in rows.iter_mut().filter(|row| row.subject.volume.is_none()) {
            row.subject.volume.clone_from(&directory);
        }
        Ok((rows, backend))
    }
}

/// The server's data directory, as far as the login may see it: from its row of [`PLACE`] or from a function.
async fn data_directory(
    login: &Login,
    client: &Client,
    version: u32,
    place: &tokio_postgres::Row,
) -> Result<Option<String>, SourceError> {
    if !PLACE.column::<bool>(login, place, "has_function")? {
        let directory: Option<&[u8]> = PLACE.column(login, place, "directory")?;
        return Ok(directory.map(queries::readable));
    }
    let answer = DIRECTORY.ask(login, client, version).await?;
    let Some(row) = answer.first() else { return Ok(None) };
    let directory: Option<&[u8]> = DIRECTORY.column(login, row, "directory")?;
    Ok(directory.map(queries::readable))
}

/// Assigns the relations of a server on this host to volumes.
fn place(rows: &mut [Row], volumes: &mut Volumes) {
    volumes.refresh();
    for place in rows.iter_mut().filter_map(|row| row.subject.volume.as_mut()) {
        if let Some(volume) = volumes.of(place) {
            *place = volume;
        }
    }
}

/// The major version, which selects every other query.
async fn version(login: &Login, client: &Client) -> Result<u32, SourceError> {
    let rows = VERSION.ask(login, client, OLDEST).await?;
    let version: i32 = match rows.first() {
        Some(row) => VERSION.column(login, row, "version")?,
        None => 0,
    };
    match u32::try_from(version) {
        Ok(version) if version >= OLDEST => Ok(version),
        _ => Err(SourceError::TooOld {
            source_name: login.name.clone(),
            version: version.to_string(),
            oldest: "PostgreSQL 12",
        }),
    }
}

/// Without the directory, files outside named tablespaces belong to no volume.
fn place_unknown() -> Warning {
    Warning::new(
        WarningCode::MissingGrant,
        "the login may not read the data directory's path: tables and indexes outside named tablespaces cannot be assigned to a volume",
    )
    .hint("`iostall collect grants postgres` prints a function that reveals this path and no other setting")
}

fn too_many_rights(user: &str) -> Warning {
    let message = format!("the login {user} is a superuser, which nothing that is read needs");
    Warning::new(WarningCode::TooManyRights, message)
        .hint("`iostall collect grants postgres` prints a login with fewer rights; name that one in the URL")
}

fn setting_warnings(version: u32, io_timing: bool, wal_timing: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !io_timing {
        warnings.push(
            Warning::new(
                WarningCode::SettingOff,
                "track_io_timing is off: the stall of reads, writes and syncs of data files is not measured",
            )
            .hint("ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf(); pg_test_timing measures its overhead"),
        );
    }
    if !wal_timing {
        warnings.push(
            Warning::new(
                WarningCode::SettingOff,
                "track_wal_io_timing is off: the stall of the write-ahead log is not measured",
            )
            .hint("ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf()"),
        );
    }
    if version < 16 {
        warnings.push(Warning::new(
            WarningCode::NotCounted,
            "before PostgreSQL 16 there is no pg_stat_io: I/O by kind of backend is not counted",
        ));
    }
    warnings
}

/// Warns if a database or a role overrides the timing setting, which affects the stall of all.
fn timed_apart(database: Option<&str>, role: Option<&str>, is_on: bool) -> Warning {
    let of = match (database, role) {
        (None, None) => "all roles".to_owned(),
        (Some(database), None) => format!("database {database}"),
        (None, Some(role)) => format!("role {role}"),
        (Some(database), Some(role)) => format!("role {role} in database {database}"),
    };
    let (word, rest) = if is_on { ("on", "the others") } else { ("off", "them") };
    let message = format!(
        "track_io_timing is {word} for {of} alone: the stall of backends and databases lacks what {rest} waited for"
    );
    Warning::new(WarningCode::SettingOff, message)
        .hint("ALTER DATABASE or ALTER ROLE ... RESET track_io_timing gives it the server's setting again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_is_said() {
        assert!(setting_warnings(18, true, true).is_empty());
        let warnings = setting_warnings(15, false, false);
        assert_eq!(warnings.len(), 3);
        assert!(warnings[0].message.contains("track_io_timing"));
    }
}
