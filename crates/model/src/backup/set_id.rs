//! The id of a stripe set.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::bytes::{from_hex, write_hex};
use crate::spelling::as_text;

/// The id of a stripe set: 16 random bytes, which stand in every stripe and in every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub [u8; 16]);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not the id of a stripe set: it has 32 hexadecimal digits")]
pub struct SetIdError(String);

impl fmt::Display for SetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl FromStr for SetId {
    type Err = SetIdError;

    fn from_str(text: &str) -> Result<Self, SetIdError> {
        from_hex(text).map(Self).ok_or_else(|| SetIdError(text.to_owned()))
    }
}

as_text!(SetId);
