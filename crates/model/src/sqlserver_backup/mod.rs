//! SQL Server's own BACKUP: the statement with its options, and what each version and edition accepts.

mod devices;
mod refusal;
mod rules;
mod server;
mod statement;
mod trace;
mod version;

pub use devices::refusal_to_read_back;
pub use refusal::Refusal;
pub use rules::{cautions, refusals};
pub use server::{RecoveryModel, ServerFacts, refusals_of_server, version_of};
pub use statement::{
    BackupDevice, BackupEncryption, BackupKind, BackupParts, BackupSetOptions, BackupStatement,
    CompressionAlgorithm, CompressionLevel, EncryptionAlgorithm, Encryptor, ErrorOptions, Expiry, LogOptions,
    MediaOptions, Overwrite, StatementCompression, Tail, TapeOptions, TransferOptions,
};
pub use trace::{BackupTrace, TraceSetting, TraceStep};
pub use version::{Need, ServerVersion, ServerVersionError, needs, oldest_version};

#[cfg(test)]
mod tests;
