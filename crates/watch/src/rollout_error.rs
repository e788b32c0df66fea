//! Errors of pushing releases from a centre.

use iostall_store::{RepositoryError, StoreError};
use thiserror::Error;

use crate::release_error::ReleaseError;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RolloutError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error("no server whose agent has asked has these labels")]
    NoServers,
    #[error("another push wants something of {server}")]
    Busy { server: String },
    #[error("there is no push {push}")]
    NoPush { push: u64 },
    #[error("push {push} does not wait for a server {server:?}")]
    NotAwaited { push: u64, server: String },
    #[error("push {push} is {state}, and cannot be ended")]
    NotRunning { push: u64, state: String },
    #[error("push {push} is {state}, and cannot be undone")]
    NotUndone { push: u64, state: String },
    #[error("this permit is for another release than that of push {push}")]
    OtherPermit { push: u64 },
    #[error("{text:?} is no label")]
    Label { text: String },
    #[error("{text:?} is no list of rings")]
    Rings { text: String },
    #[error("{text:?} is neither a number nor a share")]
    FailedMax { text: String },
}

impl From<RepositoryError> for RolloutError {
    fn from(error: RepositoryError) -> Self {
        Self::Store(error.into())
    }
}

impl RolloutError {
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Store(error) => return error.hint(),
            Self::Release(error) => return error.hint(),
            Self::NoServers => "`iostall fleet agent` on a server asks, and its policy says its labels",
            Self::Busy { .. } | Self::NoPush { .. } => "`iostall fleet push status` lists what goes on",
            Self::NotAwaited { .. } => {
                "`iostall fleet push status` with its number lists its servers, and what they do"
            }
            Self::NotUndone { .. } | Self::NotRunning { .. } => {
                "`iostall fleet push status` says how far it is"
            }
            Self::OtherPermit { .. } => "`iostall fleet release undo` makes one for the release of this push",
            Self::Label { .. } => "write a name and a value, such as role=standby",
            Self::Rings { .. } => "write how many servers each ring reaches, such as 1,10%,100%",
            Self::FailedMax { .. } => "write how many servers may fail, such as 3 or 2%",
        };
        Some(hint.to_owned())
    }
}
