//! `iostall backup` end to end.

mod create;
mod keep;
mod plan;
mod restore;
mod tune;
