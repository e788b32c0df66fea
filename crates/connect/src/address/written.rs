//! An address, and how it is written.

use std::fmt;
use std::path::PathBuf;

use iostall_measure::foreign::without_passwords;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Engine;
use super::auth::{Auth, Entra};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PasswordFrom {
    #[default]
    Nowhere,
    File(PathBuf),
    Environment(String),
    /// Typed at the terminal.
    Prompt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Not encrypted: the default for loopback addresses and Unix sockets.
    Off,
    /// Encrypted, with the server's certificate verified by the system's authorities: the default for
    /// everything else.
    Verify,
    /// Encrypted, with the certificate verified by the authorities in this PEM file.
    VerifyWith(PathBuf),
    /// Encrypted, without verifying the certificate.
    Unverified,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub engine: Engine,
    /// Host name, address, the directory of a Unix socket (PostgreSQL) or the socket itself (MySQL).
    pub host: String,
    pub port: u16,
    /// A named instance of SQL Server whose port the host's SQL Server Browser knows.
    pub instance: Option<String>,
    pub user: String,
    /// Database to connect to; empty for the server's default.
    pub database: String,
    pub password: PasswordFrom,
    pub auth: Auth,
    pub tls: Tls,
}

impl Address {
    pub fn is_local(&self) -> bool {
        self.is_socket() || matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1")
    }

    pub fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    pub(crate) fn account(&self) -> String {
        let user = &self.user;
        match &self.auth {
            Auth::Password => user.clone(),
            Auth::Integrated => "Kerberos ticket".to_owned(),
            Auth::Entra(Entra::Token(_)) => "access token".to_owned(),
            Auth::Entra(Entra::ManagedIdentity) => format!("managed identity {user}").trim_end().to_owned(),
            Auth::Entra(Entra::ServicePrincipal { .. }) => format!("service principal {user}"),
        }
    }

    /// Whether no unparsed part of a connection string ended up in a name.
    pub(super) fn has_no_password(&self) -> bool {
        let certificates = match &self.tls {
            Tls::VerifyWith(path) => path.to_string_lossy(),
            Tls::Off | Tls::Verify | Tls::Unverified => "".into(),
        };
        let settings = self.auth.settings();
        let settings = settings.iter().map(|(_, value)| value.as_str());
        [self.host.as_str(), &self.user, &self.database, &certificates]
            .into_iter()
            .chain(settings)
            .all(|name| without_passwords(name) == name)
    }

    /// The address as a URL without a password, to suggest to the user.
    pub(super) fn url(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, BEYOND_WORDS).to_string();
        let mut url = format!("{}://", self.engine.scheme());
        if !self.user.is_empty() {
            url.push_str(&format!("{}@", encoded(&self.user)));
        }
        let mut settings = Vec::new();
        if self.is_socket() {
            url.push_str("localhost");
            settings.push(format!("socket={}", encoded(&self.host)));
        } else {
            let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
            url.push_str(&host);
        }
        if let Some(instance) = &self.instance {
            settings.push(format!("instance={}", encoded(instance)));
        } else if self.port != self.engine.default_port() {
            url.push_str(&format!(":{}", self.port));
        }
        if !self.database.is_empty() {
            url.push_str(&format!("/{}", encoded(&self.database)));
        }
        settings
            .extend(self.auth.settings().iter().map(|(name, value)| format!("{name}={}", encoded(value))));
        match &self.tls {
            Tls::Verify if self.auth.sends_token() => {}
            Tls::Verify if self.is_local() => settings.push("tls=on".to_owned()),
            Tls::Off if !self.is_local() => settings.push("tls=off".to_owned()),
            Tls::Unverified => settings.push("tls=unverified".to_owned()),
            Tls::VerifyWith(ca) => settings.push(format!("ca={}", encoded(&ca.to_string_lossy()))),
            Tls::Off | Tls::Verify => {}
        }
        if settings.is_empty() { url } else { format!("{url}?{}", settings.join("&")) }
    }
}

/// Characters that need no escaping in any part of a URL.
const BEYOND_WORDS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The name under which the source's history is kept: no password, no transport, nothing that changes.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.engine.is_this_host() {
            return write!(f, "{}:", self.engine.scheme());
        }
        if self.engine == Engine::Smart {
            return write!(f, "{}:{}", self.engine.scheme(), self.database);
        }
        write!(f, "{}://", self.engine.scheme())?;
        match (self.is_socket(), self.engine) {
            // Servers on one host share a socket directory; the port is part of the socket's name.
            (true, Engine::Postgres) if self.port != self.engine.default_port() => {
                write!(f, "{}:{}", self.host, self.port)?;
            }
            (true, _) => write!(f, "{}", self.host)?,
            (false, Engine::SqlServer) if self.instance.is_some() => {
                write!(f, "{}\\{}", self.host, self.instance.as_deref().unwrap_or_default())?;
            }
            (false, _) if self.host.contains(':') => write!(f, "[{}]:{}", self.host, self.port)?,
            (false, _) => write!(f, "{}:{}", self.host, self.port)?,
        }
        if self.database.is_empty() { Ok(()) } else { write!(f, "/{}", self.database) }
    }
}
