//! Why a text is not the address of a source, and what to write instead.

use iostall_measure::foreign::{shell_word, shown};
use thiserror::Error;

/// Why a text is not the address of a source. No message repeats a password.
#[derive(Debug, Error)]
pub enum AddressError {
    #[error("'{}' is not a source", shown(text))]
    NotUrl {
        /// The typed text without a possible password.
        text: String,
    },
    #[error("'{}' cannot be watched", shown(.0))]
    Engine(String),
    /// A password among the arguments would be visible in process lists and shell history.
    #[error(
        "the address of {} contains a password, which every user of this machine can see",
        shown(source_name)
    )]
    PasswordInUrl {
        source_name: String,
        /// The same address without the password, as a URL; `None` if it could not be parsed.
        instead: Option<String>,
    },
    #[error("smart: needs the whole path of a device, a file or a directory, and no host")]
    Place,
    #[error("'{}' is not known in a source's URL", shown(name))]
    Parameter { name: String },
    #[error("{name}={} is not known", shown(value))]
    Value { name: &'static str, value: String },
    /// Certificates to check, and no check.
    #[error("ca= names trusted certificates, but tls={word} verifies none")]
    Contradiction { word: &'static str },
    /// Encryption that is asked for and that there is not.
    #[error(
        "what goes through the socket {} of MySQL is not encrypted, and the address asks for TLS (tls= or ca=)",
        shown(socket)
    )]
    SocketTls { socket: String },
    /// It ends a text in the protocols of databases, and what follows would be read as something else.
    #[error("the {part} of a source contains a NUL (%00), and no server has such a name")]
    Nul { part: &'static str },
    #[error("'{}' is not the name of a host", shown(host))]
    Host { host: String },
    #[error("'{}' is not a port", shown(text))]
    Port { text: String },
    #[error("'{}' is not the name of an instance", shown(instance))]
    Instance { instance: String },
    /// A login that cannot be, or that contradicts itself.
    #[error("{what}")]
    Auth { what: &'static str, hint: &'static str },
}

impl AddressError {
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::NotUrl { .. } | Self::Engine(_) => {
                "write postgres://USER@HOST/DATABASE, mysql://USER@HOST, sqlserver://USER@HOST, linux: or smart:/dev/nvme0"
            }
            Self::Place => "write smart:/dev/nvme0, or smart:/var/lib/smart for saved documents",
            Self::PasswordInUrl { instead: Some(url), .. } => {
                let separator = if url.contains('?') { '&' } else { '?' };
                let url = shell_word(&format!("{url}{separator}password-file=PATH"));
                return format!(
                    "write {url} with the password in that file (chmod 600), or password-env=NAME, or password=prompt"
                );
            }
            Self::PasswordInUrl { instead: None, .. } => {
                "put it in a file (chmod 600) and write ?password-file=PATH, or ?password-env=NAME, or ?password=prompt"
            }
            Self::Parameter { .. } => {
                "known are password-file, password-env, password=prompt, tls, ca, socket and instance; for SQL Server \
                 also auth, token-file, token-env, token-command, tenant and authority"
            }
            Self::Value { name: "auth", .. } => {
                "write auth=sql, auth=integrated, auth=entra, auth=managed-identity or auth=service-principal"
            }
            Self::Value { name: "authority", .. } => {
                "write the https address of Entra, such as authority=https://login.microsoftonline.us"
            }
            Self::Value { name: "tls", .. } => "write tls=on, tls=off or tls=unverified",
            Self::Value { .. } => "write tls=on, tls=off or tls=unverified instead",
            Self::Contradiction { .. } => "leave one of the two out: ca=FILE alone encrypts and verifies",
            Self::SocketTls { .. } => {
                "leave out tls= and ca=: nothing leaves this machine through a socket; or leave out socket= to go over TCP with TLS"
            }
            Self::Nul { .. } => "leave out %00",
            Self::Host { .. } => "write a name or an address, and an IPv6 address of a URL in brackets",
            Self::Port { .. } => "write a number from 1 to 65535",
            Self::Instance { .. } => {
                "write sqlserver://USER@HOST/DATABASE?instance=NAME, or its port: sqlserver://USER@HOST:PORT"
            }
            Self::Auth { hint, .. } => hint,
        };
        hint.to_owned()
    }
}
