//! Striped backups: the use cases around them, and running databases as their sources.

pub mod base;
pub mod catalog;
pub mod create;
pub mod database;
pub mod drill;
mod entry;
pub mod figures;
pub mod known;
mod live_files;
pub mod lock_for;
pub mod mariadb;
mod others;
pub mod postgres;
pub mod prune;
pub mod rebuild;
pub mod restore;
mod set;
pub mod source;
pub mod sqlite;
pub mod sqlserver;
pub mod tablespaces;
pub mod tune;
pub mod tune_restore;
pub mod verify;
pub mod wal;
