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
    #[error("the log of {target} cannot be read")]
    LogUnread { target: String, source: io::Error },
    #[error("{target} is no log of an EBS volume")]
    NoLog { target: String, source: VolumeLogError },
    #[error("the second log is not later than the first one, or the volume was attached again in between")]
    LogsTurned,
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
        };
        Self::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    }
}
