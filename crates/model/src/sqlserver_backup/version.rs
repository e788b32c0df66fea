//! Versions of SQL Server.

use std::str::FromStr;

use iostall_measure::named;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::refusal::{BACKUP, COMPRESSION, ENCRYPTION, S3, URL};
use super::statement::{BackupDevice, BackupStatement, CompressionAlgorithm, StatementCompression};

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum ServerVersion {
        #[serde(rename = "2008 R2")]
        V2008R2 = "2008 R2",
        #[serde(rename = "2012")]
        V2012 = "2012",
        #[serde(rename = "2014")]
        V2014 = "2014",
        #[serde(rename = "2016")]
        V2016 = "2016",
        #[serde(rename = "2017")]
        V2017 = "2017",
        #[serde(rename = "2019")]
        V2019 = "2019",
        #[serde(rename = "2022")]
        V2022 = "2022",
        #[serde(rename = "2025")]
        #[default]
        V2025 = "2025",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no version of SQL Server: write 2008R2, 2012, 2014, 2016, 2017, 2019, 2022 or 2025")]
pub struct ServerVersionError(String);

impl ServerVersion {
    /// From the first number of `ProductVersion`; `None` before 2008. A version that is newer than all of these is taken for the newest.
    pub fn of_major(major: u32) -> Option<Self> {
        match major {
            ..10 => None,
            10 => Some(Self::V2008R2),
            11 => Some(Self::V2012),
            12 => Some(Self::V2014),
            13 => Some(Self::V2016),
            14 => Some(Self::V2017),
            15 => Some(Self::V2019),
            16 => Some(Self::V2022),
            17.. => Some(Self::V2025),
        }
    }
}

impl FromStr for ServerVersion {
    type Err = ServerVersionError;

    fn from_str(text: &str) -> Result<Self, ServerVersionError> {
        let plain = |text: &str| text.replace([' ', '-', '_'], "").to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|version| plain(version.name()) == plain(text));
        found.ok_or_else(|| ServerVersionError(text.to_owned()))
    }
}

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
