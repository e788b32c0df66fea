//! What must not be read over anybody's shoulder: tokens, passwords, addresses that are as good as a password.

use std::fmt;
use std::path::PathBuf;

use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;

use crate::delivery_error::DeliveryError;

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
    /// The secret, unless it is in a file that others can read: better said when a collector starts than when the first alert
    /// is not told. A file that is not there yet may come.
    pub(crate) fn unless_open(self) -> Result<Self, String> {
        match &self {
            Self::File(path) if path.is_file() => match SECRET.secret(path) {
                Err(error @ InputError::Readable { .. }) => Err(said(&error)),
                _ => Ok(self),
            },
            _ => Ok(self),
        }
    }

    /// The secret itself.
    pub(crate) fn read(&self) -> Result<String, DeliveryError> {
        match self {
            Self::File(path) => {
                let text = SECRET.secret(path).map_err(|error| DeliveryError::Secret(said(&error)))?;
                Ok(text.lines().next().unwrap_or_default().trim_end().to_owned())
            }
            Self::Environment(name) => std::env::var(name).map_err(|_| {
                DeliveryError::Secret(format!("the environment variable {name} is not set, or not UTF-8"))
            }),
        }
    }
}

fn said(error: &InputError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
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
