//! `iostall backup` end to end.

mod create;
mod drill;
mod drill_postgres;
mod keep;
mod plan;
mod restore;
mod sqlserver;
mod tune;
