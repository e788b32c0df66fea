//! Reads the cumulative I/O counters of databases and hosts.
//!
//! A [`Source`] returns one complete [`Sample`](iostall_model::Sample) at a time. `watch` decides when to
//! read, and `iostall_model::delta` computes differences.

pub mod grants;
mod identifier;
mod linux;
mod mysql;
mod postgres;
mod remote;
mod sample_time;
mod settings;
pub mod smart;
pub mod source;
mod sqlserver;

use std::time::Duration;

use linux::LinuxSource;
use mysql::MysqlSource;
use postgres::PostgresSource;
use smart::SmartSource;
use sqlserver::SqlServerSource;

pub use iostall_connect::{Address, AddressError, Engine, Secret, SourceError, address};
pub use source::{Filter, Source};
pub use sqlserver::{Batch, History, Position};

/// Opens a source without connecting: the first reading connects. `limit` is the timeout of every reading.
pub fn open(address: Address, password: Secret, limit: Duration) -> Result<Box<dyn Source>, SourceError> {
    Ok(match address.engine {
        Engine::Linux => Box::new(LinuxSource::new()),
        Engine::Smart => Box::new(SmartSource::new(&address, limit)),
        Engine::Postgres => Box::new(PostgresSource::new(address, &password, limit)?),
        Engine::Mysql => Box::new(MysqlSource::new(address, password, limit)?),
        Engine::SqlServer => Box::new(SqlServerSource::new(address, &password, limit)?),
    })
}
