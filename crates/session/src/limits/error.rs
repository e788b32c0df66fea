//! Why nothing can be compared, read or continued.

use std::io;

use iostall_model::volume_log::VolumeLogError;
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};

#[derive(Debug, Error)]
pub(super) enum LimitsError {
    #[error("{what} takes one target")]
    OneTarget { what: &'static str },
    #[error("there is no {target}: only what is there can be read")]
    Missing { target: String },
    #[error("there is no interrupted reading of all of {target} to continue")]
    Nothing { target: String },
    #[error("the newest reading of all of {target}, run {number}, is complete")]
    Complete { target: String, number: u32 },
    #[error("the log of {target} cannot be read")]
    LogUnread { target: String, source: io::Error },
    #[error("{target} is no log of an EBS volume")]
    NoLog { target: String, source: VolumeLogError },
    #[error("the second log is not later than the first one, or the volume was attached again in between")]
    LogsTurned,
    #[error("run {number} cannot be continued: the {what} was {then} and is {now}")]
    Differs { number: u32, what: &'static str, then: String, now: String },
}

impl From<LimitsError> for SessionError {
    fn from(error: LimitsError) -> Self {
        let hint = match error {
            LimitsError::OneTarget { .. } => "give one after the other",
            LimitsError::LogUnread { .. } => {
                "only NVMe volumes of Amazon EBS have one, and only root may read it; `nvme get-log DEVICE --log-id=0xd0 --log-len=4096 \
                 --raw-binary > FILE` saves it"
            }
            LimitsError::NoLog { .. } => {
                "`nvme get-log DEVICE --log-id=0xd0 --log-len=4096 --raw-binary > FILE` saves one"
            }
            LimitsError::LogsTurned => "name the earlier one first",
            LimitsError::Missing { .. } => "`lsblk` lists the devices of this machine",
            LimitsError::Nothing { .. } | LimitsError::Complete { .. } | LimitsError::Differs { .. } => {
                "`iostall runs` lists the stored runs; leave out --resume to start a new one"
            }
        };
        Self::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    }
}
