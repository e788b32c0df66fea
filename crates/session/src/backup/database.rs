//! Databases as they are named on a command line, such as `postgres://backup@localhost`, `mariadb://backup@localhost` and
//! `sqlite:/srv/shop.db`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_connect::{Address, AddressError, Engine, Secret, SourceError};
use iostall_measure::hinted;
use iostall_model::Identity;
use iostall_model::backup::Through;
use iostall_transfer::backup::create::PreparedSource;
use iostall_transfer::backup::read::OpenSet;
use thiserror::Error;

use super::mariadb::{self, MariadbBackupError, MariadbRequest};
use super::postgres::{self, PostgresBackupError, PostgresRequest};
use super::sqlite::{self, SqliteBackupError, SqliteRequest};
use crate::error::of_use_case;
use crate::identity::identity_of;

const SQLITE: &str = "sqlite:";
/// How long connecting, or waiting for a lock, may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Asks a person for the password of a server; `None` if nobody is there.
pub type AskPassword<'a> = &'a dyn Fn(&str) -> io::Result<Option<String>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseSource {
    Postgres(Box<Address>),
    Mariadb(Box<Address>),
    Sqlite(PathBuf),
}

/// A database with everything that its backup needs to begin: from here on nobody is asked for anything.
#[derive(Debug)]
pub struct ReadyDatabase(Ready);

#[derive(Debug)]
enum Ready {
    Postgres { address: Box<Address>, password: Secret, through: Option<Through> },
    Mariadb(Box<MariadbRequest>),
    Sqlite { path: PathBuf, scratch: PathBuf },
}

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum DatabaseSourceError {
        #[error(transparent)]
        Address(#[from] error: AddressError) => error.hint(),
        #[error("{} is no source of a backup: only the files of PostgreSQL, MariaDB and SQLite can be read while they are in use", engine.scheme())]
        Engine { engine: Engine } => "back up its files while it is stopped, or a snapshot of its volume",
        #[error("{} is no PostgreSQL", engine.scheme())]
        NoPostgres { engine: Engine } => "write postgres://USER@HOST",
        #[error("{} is no SQL Server", engine.scheme())]
        NoSqlServer { engine: Engine }
            => "write sqlserver://USER@HOST; `iostall backup create` backs up PostgreSQL, MariaDB and SQLite",
        #[error(transparent)]
        Password(error: SourceError) => error.hint(),
        #[error("cannot ask for the password of {name}")]
        Terminal { name: String, source: io::Error } => "write ?password-file=PATH behind the address",
        #[error("the password of {name} is to be typed, and there is no terminal")]
        NoTerminal { name: String } => "write ?password-file=PATH behind the address",
        #[error(transparent)]
        Postgres(#[from] error: PostgresBackupError) => error.hint(),
        #[error(transparent)]
        Mariadb(#[from] error: MariadbBackupError) => error.hint(),
        #[error(transparent)]
        Sqlite(#[from] error: SqliteBackupError) => error.hint().map(ToOwned::to_owned),
    }
}

of_use_case!(DatabaseSourceError);

impl DatabaseSourceError {
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Postgres(error) => error.is_cancelled(),
            Self::Mariadb(error) => error.is_cancelled(),
            Self::Sqlite(error) => error.is_cancelled(),
            Self::Address(_)
            | Self::Engine { .. }
            | Self::NoPostgres { .. }
            | Self::NoSqlServer { .. }
            | Self::Password(_)
            | Self::Terminal { .. }
            | Self::NoTerminal { .. } => false,
        }
    }
}

impl DatabaseSource {
    /// The database that `text` names; `None` if it is none, but a file.
    pub fn parse(text: &str) -> Result<Option<Self>, DatabaseSourceError> {
        if let Some(path) = text.strip_prefix(SQLITE) {
            return Ok(Some(Self::Sqlite(path.into())));
        }
        if !text.contains("://") {
            return Ok(None);
        }
        let address: Address = match text.parse() {
            Err(AddressError::Engine(_)) => return Ok(None),
            address => address?,
        };
        match address.engine {
            Engine::Postgres => Ok(Some(Self::Postgres(Box::new(address)))),
            Engine::Mysql => Ok(Some(Self::Mariadb(Box::new(address)))),
            engine @ (Engine::SqlServer | Engine::Linux | Engine::Smart) => {
                Err(DatabaseSourceError::Engine { engine })
            }
        }
    }

    /// Asks for the password of a server. A file will be copied to the directory `scratch`; the programs of a server that reads
    /// its own files are in `engine_dir`, or where distributions have them. The files of a PostgreSQL are read as `through` says.
    pub fn ready(
        self,
        scratch: &Path,
        engine_dir: Option<&Path>,
        through: Option<Through>,
        ask: AskPassword<'_>,
    ) -> Result<ReadyDatabase, DatabaseSourceError> {
        Ok(ReadyDatabase(match self {
            Self::Sqlite(path) => Ready::Sqlite { path, scratch: scratch.to_owned() },
            Self::Postgres(address) => {
                let password = password(&address, ask)?;
                Ready::Postgres { address, password, through }
            }
            Self::Mariadb(address) => {
                let password = password(&address, ask)?;
                let engine_dir = engine_dir.map(Path::to_owned);
                let request = MariadbRequest { address: *address, password, engine_dir, limit: LIMIT };
                Ready::Mariadb(Box::new(request))
            }
        }))
    }
}

impl ReadyDatabase {
    pub fn named(&self) -> String {
        match &self.0 {
            Ready::Sqlite { path, .. } => format!("{SQLITE}{}", path.display()),
            Ready::Postgres { address, .. } => address.to_string(),
            Ready::Mariadb(request) => request.address.to_string(),
        }
    }

    /// What it is, however it was named. A server is asked.
    pub fn identity(&self) -> Result<Identity, DatabaseSourceError> {
        match &self.0 {
            Ready::Sqlite { path, .. } => Ok(identity_of(path).unwrap_or(Identity::Unnamed)),
            Ready::Mariadb(request) => Ok(mariadb::identity(request)?),
            Ready::Postgres { address, password, through } => {
                let (address, password) = ((**address).clone(), password.clone());
                Ok(postgres::identity(&postgres_request(address, password, *through, None))?)
            }
        }
    }

    /// Begins to back it up: a server is put into backup mode, and a file is copied. Both end when the result is dropped. Ends
    /// early once `cancel` is set. A server that makes increments itself makes one on `base`.
    pub fn prepare(
        self,
        base: Option<&Arc<OpenSet>>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<PreparedSource, DatabaseSourceError> {
        let is_cancelled: &dyn Fn() -> bool = &|| cancel.load(Ordering::Relaxed);
        match self.0 {
            Ready::Mariadb(request) => Ok(mariadb::prepare(&request, cancel)?),
            Ready::Sqlite { path, scratch } => {
                let request = SqliteRequest { path: &path, scratch: &scratch, limit: LIMIT, is_cancelled };
                Ok(sqlite::prepare(&request)?)
            }
            Ready::Postgres { address, password, through } => {
                let request = postgres_request(*address, password, through, base.cloned());
                Ok(postgres::prepare(&request, cancel)?)
            }
        }
    }
}

fn postgres_request(
    address: Address,
    password: Secret,
    through: Option<Through>,
    base: Option<Arc<OpenSet>>,
) -> PostgresRequest {
    PostgresRequest { address, password, limit: LIMIT, fast_checkpoint: true, through, base }
}

pub fn server_of(
    text: &str,
    ask: AskPassword<'_>,
    logs_in: bool,
) -> Result<(Address, Secret), DatabaseSourceError> {
    let address: Address = text.parse()?;
    if address.engine != Engine::SqlServer {
        return Err(DatabaseSourceError::NoSqlServer { engine: address.engine });
    }
    let password = if logs_in { password(&address, ask)? } else { Secret::default() };
    Ok((address, password))
}

pub fn postgres_of(text: &str, ask: AskPassword<'_>) -> Result<(Address, Secret), DatabaseSourceError> {
    let address: Address = text.parse()?;
    if address.engine != Engine::Postgres {
        return Err(DatabaseSourceError::NoPostgres { engine: address.engine });
    }
    let password = password(&address, ask)?;
    Ok((address, password))
}

fn password(address: &Address, ask: AskPassword<'_>) -> Result<Secret, DatabaseSourceError> {
    if let Some(secret) = Secret::of(&address.password).map_err(DatabaseSourceError::Password)? {
        return Ok(secret);
    }
    let name = address.to_string();
    match ask(&name) {
        Ok(Some(typed)) => Ok(Secret::typed(typed)),
        Ok(None) => Err(DatabaseSourceError::NoTerminal { name }),
        Err(source) => Err(DatabaseSourceError::Terminal { name, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_databases_are_known_by_their_schemes_and_everything_else_is_a_file() {
        let parse = |text: &str| DatabaseSource::parse(text);
        assert_eq!(parse("sqlite:/srv/a b.db").unwrap(), Some(DatabaseSource::Sqlite("/srv/a b.db".into())));
        let server = parse("postgres://backup@localhost:5433").unwrap();
        let Some(DatabaseSource::Postgres(address)) = server else { panic!("{server:?}") };
        assert_eq!((address.port, address.user.as_str()), (5433, "backup"));
        for file in ["/srv/data", "-", "postgres", "sqlite", "a:b", "ftp://db1/x"] {
            assert_eq!(parse(file).unwrap(), None, "{file}");
        }
        for server in ["mysql://u@db1", "mariadb://u@db1"] {
            assert!(matches!(parse(server).unwrap(), Some(DatabaseSource::Mariadb(_))), "{server}");
        }
        let error = parse("sqlserver://u@db1").unwrap_err();
        assert!(error.to_string().starts_with("sqlserver is no source of a backup"), "{error}");
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let error = DatabaseSource::parse("postgres://backup:geheim@localhost").unwrap_err();
        assert!(!error.to_string().contains("geheim"), "{error}");
    }

    #[test]
    fn a_database_of_sqlite_is_copied_and_the_copy_goes_with_its_source() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shop.db");
        std::fs::write(&path, "no database").unwrap();
        let ask = |_: &str| Ok(None);
        let ready = DatabaseSource::Sqlite(path.clone()).ready(directory.path(), None, None, &ask).unwrap();
        assert_eq!(ready.named(), format!("sqlite:{}", path.display()));
        let error = ready.prepare(None, &Arc::default()).err().unwrap();
        assert!(!error.is_cancelled());
        assert!(error.to_string().contains("is not a database of SQLite"), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "the copy was left behind");
    }
}
