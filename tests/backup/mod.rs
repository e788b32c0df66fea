//! `iostall backup` end to end.

mod at_once;
mod attacks;
mod create;
mod device;
mod drill;
mod drill_postgres;
mod increments;
mod keep;
mod keys;
mod killed;
mod objects;
mod plan;
mod relations;
mod restore;
mod sqlserver;
mod sqlserver_tune;
mod sqlserver_verify;
mod traps;
mod tune;
