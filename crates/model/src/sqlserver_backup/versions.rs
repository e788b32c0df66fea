//! Which version each option came with.

use super::refusal::{BACKUP, COMPRESSION, ENCRYPTION, S3, URL};
use super::statement::{BackupDevice, BackupStatement, CompressionAlgorithm, StatementCompression};
use super::version::ServerVersion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    pub version: ServerVersion,
    pub option: &'static str,
    /// Where Microsoft documents it.
    pub page: &'static str,
}

/// What of `statement` is newer than 2008 R2.
pub fn needs(statement: &BackupStatement) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut add = |is_used: bool, version, option, page| {
        if is_used {
            needs.push(Need { version, option, page });
        }
    };
    let (is_url, is_s3) = (statement.is_to_url(), statement.devices.iter().any(BackupDevice::is_s3));
    add(is_url, ServerVersion::V2012, "TO URL", BACKUP);
    add(statement.credential.is_some(), ServerVersion::V2012, "CREDENTIAL", BACKUP);
    let is_sas = is_url && !is_s3 && statement.credential.is_none();
    add(is_sas, ServerVersion::V2016, "TO URL without CREDENTIAL (a shared access signature)", URL);
    let is_striped = is_url && statement.devices.len() > 1;
    add(is_striped, ServerVersion::V2016, "TO URL with several stripes", BACKUP);
    add(is_s3, ServerVersion::V2022, "TO URL of an S3-compatible store", S3);
    add(statement.encryption.is_some(), ServerVersion::V2014, "ENCRYPTION", ENCRYPTION);
    if let Some(StatementCompression::Algorithm(algorithm, level)) = statement.compression {
        add(true, ServerVersion::V2022, "COMPRESSION (ALGORITHM)", BACKUP);
        let is_zstd = algorithm == CompressionAlgorithm::Zstd;
        add(is_zstd, ServerVersion::V2025, "COMPRESSION (ALGORITHM = ZSTD)", COMPRESSION);
        add(level.is_some(), ServerVersion::V2025, "LEVEL of COMPRESSION", COMPRESSION);
    }
    needs
}

pub fn oldest_version(statement: &BackupStatement) -> ServerVersion {
    needs(statement).iter().map(|need| need.version).max().unwrap_or(ServerVersion::V2008R2)
}
