//! The readers, by where they live.

pub(crate) mod diskspd;
pub(crate) mod source;
pub(crate) mod toml;
pub(crate) mod transfer;
