//! Opens a source by its address.

use std::time::Duration;

use iostall_connect::{Address, Engine, Secret, SourceError};

use crate::linux::LinuxSource;
use crate::mysql::MysqlSource;
use crate::postgres::PostgresSource;
use crate::smart::SmartSource;
use crate::source::Source;
use crate::sqlserver::SqlServerSource;

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
