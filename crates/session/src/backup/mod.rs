//! Striped backups.

pub mod create;
