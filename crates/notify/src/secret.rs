//! What must not be read over anybody's shoulder: tokens, passwords, addresses that are as good as a password.

use std::fmt;
use std::path::PathBuf;

use iostall_engine::Input;
use iostall_measure::ByteCount;

use crate::channel::DeliveryError;

/// A line, and what somebody noted under it.
const SECRET: Input = Input { what: "secret file", limit: ByteCount(64 << 10) };

/// Where a secret is kept. It is read anew for each delivery, so that it can be changed while the collector runs.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// The first line of a file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
}

impl Secret {
    /// The secret itself.
    pub(crate) fn read(&self) -> Result<String, DeliveryError> {
        match self {
            Self::File(path) => {
                let text = SECRET.secret(path).map_err(|error| {
                    let hint = error.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
                    DeliveryError::Secret(format!("{error}{hint}"))
                })?;
                Ok(text.lines().next().unwrap_or_default().trim_end().to_owned())
            }
            Self::Environment(name) => std::env::var(name).map_err(|_| {
                DeliveryError::Secret(format!("the environment variable {name} is not set, or not UTF-8"))
            }),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Environment(name) => write!(f, "the environment variable {name}"),
        }
    }
}
