//! The readers, by crate.

pub(crate) mod diskspd;
pub(crate) mod fio;
pub(crate) mod postgres;
pub(crate) mod source;
pub(crate) mod toml;
pub(crate) mod transfer;
