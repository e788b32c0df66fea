//! Striped backups: the use cases around them, and running databases as their sources.

pub mod base;
pub mod catalog;
pub mod create;
mod damage;
pub mod database;
pub mod drill;
pub mod figures;
pub mod known;
pub mod postgres;
pub mod prune;
pub mod rebuild;
pub mod restore;
mod set_warnings;
pub mod sqlite;
pub mod sqlserver;
pub mod tablespaces;
pub mod tune;
pub mod verify;
