//! Connections to the databases of a server.

use std::io;
use std::time::Duration;

use iostall_measure::foreign;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect as _};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::messages::{Inside, Messages};
use crate::address::{Address, Tls};
use crate::allowance::{Allowance, Metered};
use crate::error::SourceError;
use crate::remote;
use crate::secret::Secret;
use crate::tls;

#[derive(Clone)]
pub struct Login {
    pub name: String,
    pub allowance: Allowance,
    pub(super) address: Address,
    config: Config,
    /// The settings once more, as statements.
    first_words: String,
    tls: Option<MakeRustlsConnect>,
}

/// A local or a network connection.
pub(super) type Socket = Box<dyn Stream>;

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Where the names in our SQL are looked up. Who owns a database sets the path of all who connect to it, and who owns a schema on
/// the path has his functions and views called under our login: so it is the server's own catalog alone, and what is elsewhere is
/// called by its schema.
const SEARCH_PATH: &str = "pg_catalog,pg_temp";

impl Login {
    /// Logs in as `address` says, only to read. `limit` is the timeout of every statement.
    pub fn new(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let settings = [("default_transaction_read_only", "on")];
        Self::with(address, password, limit, &settings, Allowance::for_one_reading())
    }

    /// Logs in to a database that iostall keeps its own data in. `limit` is the timeout of every statement. The server compiles none:
    /// for a report that runs for a second it would take two.
    pub fn to_write(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let settings = [("default_transaction_read_only", "off"), ("jit", "off")];
        Self::with(address, password, limit, &settings, Allowance::without_limit())
    }

    /// Every session begins with these settings, the path and the timeout.
    fn with(
        address: &Address,
        password: &Secret,
        limit: Duration,
        settings: &[(&str, &str)],
        allowance: Allowance,
    ) -> Result<Self, SourceError> {
        let limit = limit.as_millis().to_string();
        // The owner of a database may set all of them for whoever comes: a path, a role that may do nothing.
        let always = [("search_path", SEARCH_PATH), ("role", "none"), ("statement_timeout", &limit)];
        let all = || always.iter().chain(settings);
        let options: Vec<String> = all().map(|(name, value)| format!("-c {name}={value}")).collect();
        let first_words =
            all().map(|(name, value)| format!("SET {name} = {value};")).collect::<Vec<_>>().concat();
        let mut config = Config::new();
        config
            .user(&address.user)
            .dbname(if address.database.is_empty() { "postgres" } else { &address.database })
            .application_name("iostall")
            .ssl_mode(if address.tls == Tls::Off { SslMode::Disable } else { SslMode::Require })
            .options(options.join(" "));
        if !password.is_empty() {
            config.password(password.reveal());
        }
        // Read once and not for every connection: there may be one per database and second.
        let tls = tls::client(address)?.map(MakeRustlsConnect::new);
        let (name, address) = (address.to_string(), address.clone());
        Ok(Self { name, allowance, address, config, first_words, tls })
    }

    /// Connects to the database of the URL, or to `database`. The task drives the connection whenever this
    /// thread waits, and ends after the client is dropped.
    pub async fn connect(&self, database: Option<&str>) -> Result<(Client, JoinHandle<()>), SourceError> {
        let refused = |error: tokio_postgres::Error| self.refused(&error);
        let socket = self.socket().await.map_err(|error| self.unreachable(&error))?;
        let (stream, let_in) = Metered::new(socket, self.allowance.clone());
        let mut config = self.config.clone();
        if let Some(database) = database {
            config.dbname(database);
        }
        // A broken connection is reported by the query that fails.
        let (client, connection) = match self.tls.clone() {
            None => {
                let stream = Messages::new(stream, self.allowance.clone());
                let (client, connection) = config.connect_raw(stream, NoTls).await.map_err(refused)?;
                (client, tokio::spawn(async { drop(connection.await) }))
            }
            Some(mut tls) => {
                let tls = MakeTlsConnect::<Metered<Socket>>::make_tls_connect(&mut tls, &self.address.host);
                let tls = tls.map_err(|error| self.unreachable(&error))?;
                let tls = Inside::new(tls, self.allowance.clone());
                let (client, connection) = config.connect_raw(stream, tls).await.map_err(refused)?;
                (client, tokio::spawn(async { drop(connection.await) }))
            }
        };
        let_in.done();
        // What begins a session beats what ALTER DATABASE and ALTER ROLE say; a pooler may leave it out without a word.
        client.batch_execute(&self.first_words).await.map_err(refused)?;
        Ok((client, connection))
    }

    /// Encrypts `socket`, on which the server has agreed to that; the same without if the address asks for none.
    pub(super) async fn encrypted(&self, socket: Socket) -> Result<Socket, SourceError> {
        let Some(mut tls) = self.tls.clone() else { return Ok(socket) };
        let tls = MakeTlsConnect::<Socket>::make_tls_connect(&mut tls, &self.address.host);
        let tls = tls.map_err(|error| self.unreachable(&error))?;
        match tls.connect(socket).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => {
                let reason = foreign::said(&error.to_string());
                Err(tls::connect_error(self.name.clone(), reason, &error))
            }
        }
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The password; empty if there is none.
    pub(super) fn password(&self) -> &[u8] {
        self.config.get_password().unwrap_or_default()
    }

    pub(super) fn unreachable(&self, error: &dyn std::error::Error) -> SourceError {
        let reason = foreign::said(&error.to_string());
        SourceError::Connect { source_name: self.name.clone(), reason }
    }

    pub(super) async fn socket(&self) -> io::Result<Socket> {
        if self.address.is_socket() {
            let path = format!("{}/.s.PGSQL.{}", self.address.host, self.address.port);
            return Ok(Box::new(UnixStream::connect(path).await?));
        }
        Ok(Box::new(remote::reach(&self.address.host, self.address.port).await?))
    }

    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    fn refused(&self, error: &tokio_postgres::Error) -> SourceError {
        let (source_name, reason) = (self.name.clone(), explain(error));
        if error.code().is_some_and(|state| state.code() == FULL) {
            return SourceError::Full { source_name, reason };
        }
        if is_about_login(error) {
            let user = self.user().to_owned();
            return SourceError::Login { source_name, user, reason };
        }
        match tls::connect_error(source_name, reason, error) {
            SourceError::Connect { source_name, reason } if error.to_string() == TLS => {
                SourceError::Tls { source_name, reason }
            }
            other => other,
        }
    }
}

/// SQL states about the login, its password, its database or its right to connect: retrying is useless.
pub(super) const LOGIN: [&str; 5] = ["28000", "28P01", "3D000", "42501", "55000"];
/// SQLSTATE when the server, the database or the role has reached its session limit.
pub(super) const FULL: &str = "53300";
/// The driver's messages if it has no password, or no authentication method that the server accepts.
const LOGIN_HERE: [&str; 2] = ["invalid configuration", "authentication error"];
/// The driver's message if the server does not support our encryption.
const TLS: &str = "error performing TLS handshake";

/// Whether the server, or the driver beforehand, rejected the login.
fn is_about_login(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(state) => LOGIN.contains(&state.code()),
        None => LOGIN_HERE.contains(&error.to_string().as_str()),
    }
}

pub(super) const DENIED: &str = "42501";

pub(super) fn is_denied(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|state| state.code() == DENIED)
}

/// The driver's message is "db error"; the actual error is its cause.
pub fn explain(error: &tokio_postgres::Error) -> String {
    foreign::said(&match error.as_db_error() {
        Some(db_error) => db_error.message().to_owned(),
        None => std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenant's view was read and his function called, because the path was that of his database.
    #[test]
    fn every_login_looks_names_up_in_the_catalog_alone_from_its_first_statement_on() {
        let address: Address = "postgres://iostall@db1/sales".parse().unwrap();
        for login in [Login::new, Login::to_write] {
            let login = login(&address, &Secret::default(), Duration::from_secs(10)).unwrap();
            let options = login.config.get_options().unwrap();
            assert!(options.contains("-c search_path=pg_catalog,pg_temp"), "{options}");
            assert!(login.first_words.starts_with("SET search_path = pg_catalog,pg_temp;"));
            assert!(login.first_words.contains("SET statement_timeout = 10000;"));
        }
    }
}
