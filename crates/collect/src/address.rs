//! What a source is called: a URL without secrets.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;

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

/// Why a text is not a source's address.
#[derive(Debug, Error)]
pub enum AddressError {
    /// It is not a URL.
    #[error("{text:?} is not a source")]
    NotUrl {
        /// What was typed.
        text: String,
    },
    /// No such engine.
    #[error("{0:?} cannot be watched")]
    Engine(String),
    /// A password in the URL would show in every process list and shell history.
    #[error("the URL of {host} holds a password, which everybody on this machine can read")]
    PasswordInUrl {
        /// The host it was for.
        host: String,
    },
    /// An unknown part behind the question mark.
    #[error("{name:?} is not known in a source's URL")]
    Parameter {
        /// Its name.
        name: String,
    },
    /// A value that is none of those offered.
    #[error("tls={value} is not known")]
    TlsValue {
        /// What was typed.
        value: String,
    },
}

impl AddressError {
    /// What to write instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotUrl { .. } | Self::Engine(_) => {
                "write postgres://USER@HOST/DATABASE, mysql://USER@HOST, sqlserver://USER@HOST or linux:"
            }
            Self::PasswordInUrl { .. } => {
                "put it in a file and write ?password-file=PATH, or ?password-env=NAME, or ?password=prompt"
            }
            Self::Parameter { .. } => {
                "known are password-file, password-env, password=prompt, tls, ca and socket"
            }
            Self::TlsValue { .. } => "write tls=on, tls=off or tls=unverified",
        }
    }
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

    fn apply(&mut self, name: &str, value: &str) -> Result<(), AddressError> {
        match name {
            "password-file" => self.password = PasswordFrom::File(value.into()),
            "password-env" => self.password = PasswordFrom::Environment(value.to_owned()),
            "password" if value == "prompt" => self.password = PasswordFrom::Prompt,
            "password" => return Err(AddressError::PasswordInUrl { host: self.host.clone() }),
            "socket" => value.clone_into(&mut self.host),
            "ca" => self.tls = Tls::VerifyWith(value.into()),
            "tls" => {
                self.tls = match value {
                    "on" => Tls::Verify,
                    "off" => Tls::Off,
                    "unverified" => Tls::Unverified,
                    _ => return Err(AddressError::TlsValue { value: value.to_owned() }),
                }
            }
            _ => return Err(AddressError::Parameter { name: name.to_owned() }),
        }
        Ok(())
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let url = Url::parse(text).map_err(|_| AddressError::NotUrl { text: without_password(text) })?;
        let engine: Engine = url.scheme().parse()?;
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        // A URL needs brackets around an IPv6 address; nothing else takes them.
        let host = url.host_str().unwrap_or("localhost").trim_matches(['[', ']']).to_owned();
        if url.password().is_some() {
            return Err(AddressError::PasswordInUrl { host });
        }
        let mut address = Self {
            engine,
            host,
            port: url.port().unwrap_or(engine.default_port()),
            user: decode(url.username()),
            database: decode(url.path().trim_start_matches('/')),
            password: PasswordFrom::Nowhere,
            tls: Tls::Verify,
        };
        let names_tls = url.query_pairs().any(|(name, _)| name == "tls" || name == "ca");
        for (name, value) in url.query_pairs() {
            address.apply(&name, &value)?;
        }
        if !names_tls && address.is_local() {
            address.tls = Tls::Off;
        }
        Ok(address)
    }
}

/// What was typed, without what may be a password: it is about to be shown.
fn without_password(text: &str) -> String {
    let Some((login, rest)) = text.rsplit_once('@') else { return text.to_owned() };
    let begin = login.find("://").map_or(0, |place| place + 3);
    match login[begin..].find(':') {
        Some(colon) => format!("{}:…@{rest}", &login[..begin + colon]),
        None => text.to_owned(),
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
mod tests {
    use super::*;

    #[test]
    fn a_url_says_who_where_and_how() {
        let address: Address = "postgres://mon%40corp@db1:5433/sales?password-file=/etc/pw".parse().unwrap();
        assert_eq!(address.user, "mon@corp");
        assert_eq!((address.host.as_str(), address.port), ("db1", 5433));
        assert_eq!(address.password, PasswordFrom::File("/etc/pw".into()));
        assert_eq!(address.tls, Tls::Verify, "a network is not trusted by default");
        assert_eq!(address.to_string(), "postgres://db1:5433/sales");
    }

    #[test]
    fn a_password_in_the_url_is_refused_without_repeating_it() {
        for text in ["mysql://u:hunter2@db1/", "sqlserver://u@db1?password=hunter2"] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.hint().contains("password-file"), "{}", error.hint());
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        // Nor is it where the rest is no URL.
        for text in ["mysql://u:hunter2@db1:99999/", "u:hunter2@db1", "mysql://u:hunter2@:x@[db1/"] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let error = "mysql://u@db1:99999".parse::<Address>().unwrap_err().to_string();
        assert!(error.contains("u@db1:99999"), "{error}");
    }

    #[test]
    fn an_ipv6_address_has_brackets_in_names_and_none_in_connections() {
        let address: Address = "postgres://mon@[::1]:5433/x".parse().unwrap();
        assert_eq!((address.host.as_str(), address.tls.clone()), ("::1", Tls::Off));
        assert_eq!(address.to_string(), "postgres://[::1]:5433/x");
    }

    /// Debian runs several clusters with one directory of sockets: they had one history.
    #[test]
    fn two_servers_with_sockets_in_one_directory_have_names_of_their_own() {
        let name = |url: &str| url.parse::<Address>().unwrap().to_string();
        assert_eq!(name("postgres://u@localhost/x?socket=/run/postgresql"), "postgres:///run/postgresql/x");
        assert_eq!(
            name("postgres://u@localhost:5433/x?socket=/run/postgresql"),
            "postgres:///run/postgresql:5433/x"
        );
    }

    #[test]
    fn loopback_and_sockets_are_local_and_need_no_encryption() {
        let socket: Address = "postgres://mon@localhost/sales?socket=/run/postgresql".parse().unwrap();
        assert!(socket.is_socket() && socket.tls == Tls::Off);
        let kept: Address = "mysql://mon@127.0.0.1?tls=unverified".parse().unwrap();
        assert_eq!(kept.tls, Tls::Unverified);
        assert_eq!(kept.port, 3306);
    }

    #[test]
    fn the_host_itself_is_a_source() {
        assert_eq!("linux:".parse::<Address>().unwrap().to_string(), "linux:");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(matches!("oracle://x".parse::<Address>(), Err(AddressError::Engine(_))));
        assert!(matches!("db1".parse::<Address>(), Err(AddressError::NotUrl { .. })));
        assert!(matches!("mysql://x?tsl=on".parse::<Address>(), Err(AddressError::Parameter { .. })));
        assert!(matches!("mysql://x?tls=maybe".parse::<Address>(), Err(AddressError::TlsValue { .. })));
    }
}
