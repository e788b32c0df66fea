//! SQL Server's own BACKUP: written, run, followed and read back. The server reads the database and writes the files; iostall asks.

mod drill;
mod error;
mod follow;
mod forms;
mod run;
mod server;
mod trace;
mod tsql;
mod tune;
mod verify;

pub use drill::{DrillTarget, SqlServerDrillRequest, drill, drill_script};
pub use error::{ChainError, SqlServerBackupError};
pub use forms::{FormError, agent_job, maintenance_script, script};
pub use run::{SqlServerBackup, SqlServerBackupRequest, run};
pub use tune::{ServerTuneRequest, tune};
pub use verify::{SqlServerVerifyRequest, verify};
