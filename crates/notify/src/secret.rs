//! Secrets: tokens, passwords, and addresses that work like a password.

use std::fmt;
use std::path::PathBuf;

use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;

use crate::delivery_error::DeliveryError;

/// One line, possibly with notes below it.
const SECRET: Input = Input { what: "secret file", limit: ByteCount(64 << 10) };

/// Where a secret is stored. It is read for each delivery, so that it can be changed while the collector
/// runs.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    File(PathBuf),
    Environment(String),
}

impl Secret {
    /// The secret, unless it is in a file that others can read: better to report that at startup than to fail
    /// at the first alert. A file that does not exist yet may still be created.
    pub(crate) fn unless_open(self) -> Result<Self, String> {
        match &self {
            Self::File(path) if path.is_file() => match SECRET.secret(path) {
                Err(error @ InputError::Readable { .. }) => Err(said(&error)),
                _ => Ok(self),
            },
            _ => Ok(self),
        }
    }

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
