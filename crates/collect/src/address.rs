//! What a source is called: a URL without secrets.

mod error;
mod pairs;
mod parts;
mod pasted;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use iostall_measure::foreign::without_passwords;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

use self::parts::Parts;
use self::pasted::Unknown;

pub use self::error::AddressError;

/// The engines that can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Microsoft SQL Server and Azure SQL.
    SqlServer,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// The Linux host iostall runs on.
    Linux,
}

impl Engine {
    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::SqlServer => "sqlserver",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Linux => "linux",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::SqlServer => 1433,
            Self::Postgres => 5432,
            Self::Mysql => 3306,
            Self::Linux => 0,
        }
    }
}

impl FromStr for Engine {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text {
            "sqlserver" | "mssql" => Ok(Self::SqlServer),
            "postgres" | "postgresql" => Ok(Self::Postgres),
            "mysql" | "mariadb" => Ok(Self::Mysql),
            "linux" => Ok(Self::Linux),
            _ => Err(AddressError::Engine(text.to_owned())),
        }
    }
}

/// Where the password comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PasswordFrom {
    /// There is none.
    #[default]
    Nowhere,
    /// The first line of this file.
    File(PathBuf),
    /// This environment variable.
    Environment(String),
    /// The person at the terminal.
    Prompt,
}

/// How the connection is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Not at all: loopback addresses and Unix sockets by default.
    Off,
    /// Encrypted, and the server's certificate checked against the system's authorities: everything else by
    /// default.
    Verify,
    /// Encrypted, and the certificate checked against the authorities in this PEM file.
    VerifyWith(PathBuf),
    /// Encrypted; whoever answers is believed.
    Unverified,
}

/// A source's address, as typed in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What kind of server.
    pub engine: Engine,
    /// Host name, address or the directory of a Unix socket (PostgreSQL) or the socket itself (MySQL).
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Login.
    pub user: String,
    /// Database to connect to; empty: the engine's own default.
    pub database: String,
    /// Where the password comes from.
    pub password: PasswordFrom,
    /// How the connection is protected.
    pub tls: Tls,
}

impl Address {
    /// Whether it is this machine, reached without a network.
    pub fn is_local(&self) -> bool {
        self.is_socket() || matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "::1")
    }

    /// Whether the host is the path of a Unix socket.
    pub fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// Whether nothing of a connection string that was not understood went into a name.
    fn has_no_password(&self) -> bool {
        let certificates = match &self.tls {
            Tls::VerifyWith(path) => path.to_string_lossy(),
            Tls::Off | Tls::Verify | Tls::Unverified => "".into(),
        };
        [self.host.as_str(), &self.user, &self.database, &certificates]
            .into_iter()
            .all(|name| without_passwords(name) == name)
    }

    /// The address as a URL without a password, for whoever typed something else.
    fn url(&self) -> String {
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
        if self.port != self.engine.default_port() {
            url.push_str(&format!(":{}", self.port));
        }
        if !self.database.is_empty() {
            url.push_str(&format!("/{}", encoded(&self.database)));
        }
        match &self.tls {
            Tls::Verify if self.is_local() => settings.push("tls=on".to_owned()),
            Tls::Off if !self.is_local() => settings.push("tls=off".to_owned()),
            Tls::Unverified => settings.push("tls=unverified".to_owned()),
            Tls::VerifyWith(ca) => settings.push(format!("ca={}", encoded(&ca.to_string_lossy()))),
            Tls::Off | Tls::Verify => {}
        }
        if settings.is_empty() { url } else { format!("{url}?{}", settings.join("&")) }
    }
}

/// What stands for itself in any part of a URL.
const BEYOND_WORDS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

impl FromStr for Address {
    type Err = AddressError;

    /// Reads a URL, or a connection string as other programs have it. What holds a password is refused without repeating
    /// it, however little else of it can be read.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let parsed = pasted::read(text).unwrap_or_else(|| {
            let url = Url::parse(text).map_err(|_| AddressError::NotUrl { text: text.to_owned() });
            url.and_then(|url| of_url(&url, Unknown::Refused))
        });
        let had_password = parsed.as_ref().is_ok_and(|(_, parts)| parts.had_password);
        let address = parsed.and_then(|(engine, parts)| parts.finish(engine));
        let kept = without_passwords(text);
        match address {
            Ok(address) if (had_password || kept != text) && address.has_no_password() => {
                let (source_name, instead) = (address.to_string(), Some(address.url()));
                Err(AddressError::PasswordInUrl { source_name, instead })
            }
            Ok(address) if kept == text => Ok(address),
            Err(AddressError::NotUrl { .. }) if kept == text => {
                Err(AddressError::NotUrl { text: without_login(text) })
            }
            Err(error @ (AddressError::Account | AddressError::Contradiction { .. })) => Err(error),
            // What it says may be a part of the password that was not recognised as one.
            _ if kept != text => {
                Err(AddressError::PasswordInUrl { source_name: kept.into_owned(), instead: None })
            }
            Ok(_) => Err(AddressError::PasswordInUrl { source_name: "this source".into(), instead: None }),
            Err(error) => Err(error),
        }
    }
}

/// What a URL says.
fn of_url(url: &Url, unknown: Unknown) -> Result<(Engine, Parts), AddressError> {
    let engine: Engine = url.scheme().parse()?;
    let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let mut parts = Parts {
        // A URL needs brackets around an IPv6 address; nothing else takes them.
        host: url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned()),
        port: url.port(),
        user: decode(url.username()),
        database: decode(url.path().trim_start_matches('/')),
        had_password: url.password().is_some(),
        ..Parts::default()
    };
    for (name, value) in url.query_pairs() {
        if !parts.apply(&name, &value)? && unknown == Unknown::Refused {
            return Err(AddressError::Parameter { name: name.into_owned() });
        }
    }
    Ok((engine, parts))
}

/// What was typed, without what may be a login where there is no scheme to say so.
fn without_login(text: &str) -> String {
    if let Some((scheme, rest)) = text.split_once("://") {
        // Behind a colon is a port, or a password whose host was forgotten.
        let is_port =
            |text: &str| text.split(['/', '?']).next().is_some_and(|port| port.parse::<u64>().is_ok());
        return match rest.split_once(':') {
            Some((user, after)) if !rest.contains(['@', '[']) && !is_port(after) => {
                format!("{scheme}://{user}:…")
            }
            _ => text.to_owned(),
        };
    }
    match (text.rsplit_once('@'), text.split_once(':')) {
        (Some((login, rest)), Some((user, _))) if login.contains(':') => {
            format!("{user}:…@{rest}")
        }
        _ => text.to_owned(),
    }
}

/// The name under which the source's history is kept: no password, no transport, nothing that changes.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.engine == Engine::Linux {
            return f.write_str("linux:");
        }
        write!(f, "{}://", self.engine.scheme())?;
        match (self.is_socket(), self.engine) {
            // Servers of one host share a directory: the port is in the name of the socket.
            (true, Engine::Postgres) if self.port != self.engine.default_port() => {
                write!(f, "{}:{}", self.host, self.port)?;
            }
            (true, _) => write!(f, "{}", self.host)?,
            (false, _) if self.host.contains(':') => write!(f, "[{}]:{}", self.host, self.port)?,
            (false, _) => write!(f, "{}:{}", self.host, self.port)?,
        }
        if self.database.is_empty() { Ok(()) } else { write!(f, "/{}", self.database) }
    }
}

#[cfg(test)]
mod tests;
