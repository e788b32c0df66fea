//! One command per file (or folder). Commands never import each other.

pub(crate) mod alerts;
pub(crate) mod backup;
pub(crate) mod collect;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod copy;
pub(crate) mod diskspd;
pub(crate) mod drive;
pub(crate) mod fsync;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod matrix;
pub(crate) mod profile;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod top;
pub(crate) mod verify;
pub(crate) mod write;
