//! Why a text is not a source's address, and what to write instead.

use iostall_measure::foreign::{shell_word, shown};
use thiserror::Error;

/// Why a text is not a source's address. None of the messages repeats a password.
#[derive(Debug, Error)]
pub enum AddressError {
    /// It is neither a URL nor a connection string.
    #[error("'{}' is not a source", shown(text))]
    NotUrl {
        /// What was typed, without what may be a password.
        text: String,
    },
    /// No such engine.
    #[error("'{}' cannot be watched", shown(.0))]
    Engine(String),
    /// A password among the arguments would show in every process list and shell history.
    #[error(
        "what was typed for {} holds a password, which everybody on this machine can read",
        shown(source_name)
    )]
    PasswordInUrl {
        /// What it was for.
        source_name: String,
        /// The same without the password, as a URL; `None` where it could not be understood.
        instead: Option<String>,
    },
    /// An unknown part behind the question mark.
    #[error("'{}' is not known in a source's URL", shown(name))]
    Parameter {
        /// Its name.
        name: String,
    },
    /// A value that is none of those offered.
    #[error("{name}={} is not known", shown(value))]
    Value {
        /// Of what.
        name: &'static str,
        /// What was typed.
        value: String,
    },
    /// Certificates to check, and no check.
    #[error("ca= names certificates to trust, and tls={word} checks none")]
    Contradiction {
        /// What was asked beside it.
        word: &'static str,
    },
    /// What cannot be the name of a host.
    #[error("'{}' is not the name of a host", shown(host))]
    Host {
        /// What was typed.
        host: String,
    },
    /// A port that is none.
    #[error("'{}' is not a port", shown(text))]
    Port {
        /// What was typed.
        text: String,
    },
    /// An instance listens on a port that only another service of its host knows.
    #[error("the port of the instance {} is not known", shown(instance))]
    Instance {
        /// Its name.
        instance: String,
    },
    /// A login of Windows or of Azure's directory.
    #[error(
        "iostall logs in with a user and a password of the server, and not with an account of Windows or Azure"
    )]
    Account,
}

impl AddressError {
    /// What to write instead.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::NotUrl { .. } | Self::Engine(_) => {
                "write postgres://USER@HOST/DATABASE, mysql://USER@HOST, sqlserver://USER@HOST or linux:"
            }
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
                "known are password-file, password-env, password=prompt, tls, ca and socket"
            }
            Self::Value { name: "tls", .. } => "write tls=on, tls=off or tls=unverified",
            Self::Value { .. } => "write tls=on, tls=off or tls=unverified in its place",
            Self::Contradiction { .. } => "leave one of the two out: ca=FILE alone encrypts and checks",
            Self::Host { .. } => "write a name or an address, and an IPv6 address of a URL in brackets",
            Self::Port { .. } => "write a number from 1 to 65535",
            Self::Instance { .. } => {
                "name its port, as in sqlserver://USER@HOST:PORT; the server's log has it (Server is listening on)"
            }
            Self::Account => {
                "write sqlserver://USER@HOST/DATABASE?password-file=PATH with a login of SQL Server"
            }
        };
        hint.to_owned()
    }
}
