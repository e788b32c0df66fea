//! Connections to the databases of one server.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, Tls};
use crate::secret::Secret;
use crate::source::SourceError;
use crate::tls;

/// What it takes to connect to any database of a server.
#[derive(Clone)]
pub(super) struct Login {
    /// The source's name, for messages.
    pub(super) name: String,
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Login {
    pub(super) fn new(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let mut config = Config::new();
        config
            .host(&address.host)
            .port(address.port)
            .user(&address.user)
            .dbname(if address.database.is_empty() { "postgres" } else { &address.database })
            .application_name("iostall")
            .connect_timeout(limit)
            .ssl_mode(if address.tls == Tls::Off { SslMode::Disable } else { SslMode::Require })
            .options(format!(
                "-c statement_timeout={} -c default_transaction_read_only=on",
                limit.as_millis()
            ));
        if !password.is_empty() {
            config.password(password.reveal());
        }
        // Certificates are read once and not at each connection: there may be one a database and a second.
        let tls = tls::client(address)?.map(MakeRustlsConnect::new);
        Ok(Self { name: address.to_string(), config, tls })
    }

    /// Connects to the database of the URL, or to `database`. The task moves the connection whenever this thread
    /// waits, and ends after the client is dropped.
    pub(super) async fn connect(
        &self,
        database: Option<&str>,
    ) -> Result<(Client, JoinHandle<()>), SourceError> {
        let refused = |error: tokio_postgres::Error| self.refused(&error);
        let mut config = self.config.clone();
        if let Some(database) = database {
            config.dbname(database);
        }
        // What ends a connection is said by the query that it fails.
        match self.tls.clone() {
            None => {
                let (client, connection) = config.connect(NoTls).await.map_err(refused)?;
                Ok((client, tokio::spawn(async { drop(connection.await) })))
            }
            Some(tls) => {
                let (client, connection) = config.connect(tls).await.map_err(refused)?;
                Ok((client, tokio::spawn(async { drop(connection.await) })))
            }
        }
    }

    fn refused(&self, error: &tokio_postgres::Error) -> SourceError {
        let (source_name, reason) = (self.name.clone(), explain(error));
        if is_about_login(error) {
            let user = self.config.get_user().unwrap_or_default().to_owned();
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

/// States in which a server names what is wrong with the login, its password, its database or its right to enter
/// that: it was understood, and to ask again is of no use.
const LOGIN: [&str; 5] = ["28000", "28P01", "3D000", "42501", "55000"];
/// What the driver says where it has no password or no method that the server takes.
const LOGIN_HERE: [&str; 2] = ["invalid configuration", "authentication error"];
/// What it says where the server does not encrypt, or not as we do.
const TLS: &str = "error performing TLS handshake";

/// Whether the server, or the driver before it asked, knows that this login does not get in.
fn is_about_login(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(state) => LOGIN.contains(&state.code()),
        None => LOGIN_HERE.contains(&error.to_string().as_str()),
    }
}

/// The driver says "db error"; what happened is in the cause.
pub(super) fn explain(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db_error) => db_error.message().to_owned(),
        None => std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string),
    }
}
