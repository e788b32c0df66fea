//! Why a notice was not delivered.

use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeliveryError {
    #[error("{0}")]
    Secret(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unreachable(String),
    /// So many waited already; one message will say how many were left out.
    #[error("too many notices wait for it: {so_far} were left out so far")]
    LeftOut { so_far: u64 },
}

impl DeliveryError {
    /// Of what is left out the first, the tenth and the hundredth are worth a line: one each would be a flood of its own.
    pub fn is_more_of_the_same(&self) -> bool {
        let mut powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        matches!(self, Self::LeftOut { so_far } if powers.all(|power| power != *so_far))
    }
}
