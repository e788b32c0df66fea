//! A BACKUP statement, option by option. What is `None` is left to the server.

use std::fmt;

use iostall_measure::named;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupStatement {
    pub database: String,
    pub kind: BackupKind,
    pub copy_only: bool,
    /// What of the database, if not all of it.
    pub parts: BackupParts,
    /// TO: the stripes, in their order.
    pub devices: Vec<BackupDevice>,
    /// MIRROR TO: the same again on other devices, as many each.
    pub mirrors: Vec<Vec<BackupDevice>>,
    /// CREDENTIAL: the storage key of an Azure account, for a page blob.
    pub credential: Option<String>,
    pub set: BackupSetOptions,
    pub media: MediaOptions,
    pub transfer: TransferOptions,
    pub compression: Option<StatementCompression>,
    pub encryption: Option<BackupEncryption>,
    pub errors: ErrorOptions,
    pub log: LogOptions,
    pub tape: TapeOptions,
    /// STATS, in percent.
    pub stats: Option<u8>,
}

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum BackupKind {
        #[default]
        Full = "full",
        /// What has changed since the last full backup.
        Differential = "differential",
        /// The log since the last backup of the log.
        Log = "log",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupParts {
    /// FILE: logical names.
    pub files: Vec<String>,
    pub filegroups: Vec<String>,
    /// READ_WRITE_FILEGROUPS: all that can be written; with `filegroups` these too, which are read-only ones then.
    pub read_write: bool,
}

/// Where a stripe goes, seen from the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupDevice {
    Disk(String),
    /// A blob of Azure, or an object of an S3-compatible store.
    Url(String),
    /// Nothing is kept.
    Nul,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupSetOptions {
    pub name: Option<String>,
    pub description: Option<String>,
    /// EXPIREDATE, as the server reads dates.
    pub expire_date: Option<String>,
    pub retain_days: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiry<'a> {
    Date(&'a str),
    Days(u32),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaOptions {
    /// INIT or NOINIT.
    pub overwrite: Option<Overwrite>,
    pub format: bool,
    /// SKIP (`true`) or NOSKIP.
    pub skip: Option<bool>,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// What happens to the backups that a file already holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// NOINIT: they stay, and this one is appended.
    Append,
    /// INIT: they are gone.
    Replace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferOptions {
    /// BLOCKSIZE.
    pub block_bytes: Option<u64>,
    pub buffer_count: Option<u32>,
    /// MAXTRANSFERSIZE.
    pub transfer_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementCompression {
    /// NO_COMPRESSION.
    Off,
    /// With the server's default algorithm.
    On,
    Algorithm(CompressionAlgorithm, Option<CompressionLevel>),
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CompressionAlgorithm {
        MsXpress = "MS_XPRESS",
        /// Intel QuickAssist, in a card or in software.
        QatDeflate = "QAT_DEFLATE",
        Zstd = "ZSTD",
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CompressionLevel {
        Low = "LOW",
        Medium = "MEDIUM",
        High = "HIGH",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupEncryption {
    pub algorithm: EncryptionAlgorithm,
    pub encryptor: Encryptor,
}

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EncryptionAlgorithm {
        Aes128 = "AES_128",
        Aes192 = "AES_192",
        #[default]
        Aes256 = "AES_256",
        TripleDes3Key = "TRIPLE_DES_3KEY",
    }
}

/// What the key of a backup is encrypted with. Both are in `master`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryptor {
    Certificate(String),
    AsymmetricKey(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorOptions {
    /// CHECKSUM (`true`) or NO_CHECKSUM.
    pub checksum: Option<bool>,
    /// CONTINUE_AFTER_ERROR (`true`) or STOP_ON_ERROR.
    pub continue_after_error: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    pub tail: Option<Tail>,
    pub no_truncate: bool,
}

/// In which state a backup of the log's tail leaves the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// NORECOVERY: RESTORING.
    Restoring,
    /// STANDBY: to be read, with what was undone in this file.
    Standby(String),
}

/// Options of tapes, which scripts carry along for disks too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapeOptions {
    pub no_rewind: bool,
    pub no_unload: bool,
}

impl BackupParts {
    pub fn is_all(&self) -> bool {
        self.files.is_empty() && self.filegroups.is_empty() && !self.read_write
    }
}

impl BackupDevice {
    /// The device that `text` names: `NUL` in any of its spellings, a URL, or else a file.
    pub fn of(text: &str) -> Self {
        match text.split_once("://") {
            _ if is_nul(text) => Self::Nul,
            Some((scheme, _)) if ["http", "https", "s3"].contains(&scheme.to_ascii_lowercase().as_str()) => {
                Self::Url(text.to_owned())
            }
            _ => Self::Disk(text.to_owned()),
        }
    }

    /// Whether this is no file but a device of the server's system: a tape, a pipe, a disk, or a name that Windows keeps for one in every
    /// directory and with every ending.
    pub(super) fn is_of_the_system(&self) -> bool {
        const KEPT: [&str; 7] = ["nul", "con", "prn", "aux", "conin$", "conout$", "clock$"];
        let Self::Disk(path) = self else { return false };
        let plain = slashed(path);
        if plain.starts_with("//./") || plain.starts_with("//?/globalroot") || plain.starts_with("/dev/") {
            return true;
        }
        let is_windows = path.contains(['\\', ':']) || !path.contains('/');
        let leaf = plain.rsplit('/').next().unwrap_or_default();
        let stem = leaf.split(['.', ':']).next().unwrap_or_default().trim_end();
        let is_port = |kind: &str| {
            stem.strip_prefix(kind)
                .is_some_and(|number| number.chars().count() == 1 && number.contains(is_port_number))
        };
        is_windows && (KEPT.contains(&stem) || is_port("com") || is_port("lpt"))
    }

    /// As in the statement, and in `backupmediafamily`.
    pub fn name(&self) -> &str {
        match self {
            Self::Disk(name) | Self::Url(name) => name,
            Self::Nul => "NUL",
        }
    }

    pub fn is_s3(&self) -> bool {
        matches!(self, Self::Url(url) if url.to_ascii_lowercase().starts_with("s3://"))
    }

    pub fn is_url(&self) -> bool {
        matches!(self, Self::Url(_))
    }
}

/// In lower case, without space around it, and with one kind of slash.
fn slashed(path: &str) -> String {
    path.trim().to_lowercase().replace('\\', "/")
}

fn is_port_number(letter: char) -> bool {
    matches!(letter, '1'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}')
}

/// Windows drops spaces and full stops at the end of a name; SQL Server on Linux takes `/dev/null` for NUL.
fn is_nul(text: &str) -> bool {
    let plain = slashed(text);
    let device = ["//./", "//?/"].iter().find_map(|start| plain.strip_prefix(start)).unwrap_or(&plain);
    if ["nul", "null:"].contains(&device) || device.trim_end_matches([' ', '.', ':']) == "nul" {
        return true;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in plain.split('/').filter(|part| !["", "."].contains(part)) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    text.trim().starts_with('/') && parts == ["dev", "null"]
}

impl BackupSetOptions {
    /// What the statement says of it; RETAINDAYS counts where both are there.
    pub fn expiry(&self) -> Option<Expiry<'_>> {
        let days = self.retain_days.map(Expiry::Days);
        days.or(self.expire_date.as_deref().map(Expiry::Date))
    }
}

impl fmt::Display for StatementCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let typed = |name: &str| name.to_ascii_lowercase().replace('_', "-");
        match self {
            Self::Off => f.pad("off"),
            Self::On => f.pad("on"),
            Self::Algorithm(algorithm, None) => f.pad(&typed(algorithm.name())),
            Self::Algorithm(algorithm, Some(level)) => {
                f.pad(&format!("{}:{}", typed(algorithm.name()), typed(level.name())))
            }
        }
    }
}

impl StatementCompression {
    pub fn is_on(self) -> bool {
        self != Self::Off
    }
}

impl BackupStatement {
    /// What the server calls a backup of this sort: `type` in `msdb.dbo.backupset`, and `BackupType` of HEADERONLY.
    pub fn set_type(&self) -> (&'static str, u64) {
        let is_of_files = !self.parts.files.is_empty() || !self.parts.filegroups.is_empty();
        match self.kind {
            BackupKind::Log => ("L", 2),
            BackupKind::Full if self.parts.read_write => ("P", 7),
            BackupKind::Full if is_of_files => ("F", 4),
            BackupKind::Full => ("D", 1),
            BackupKind::Differential if self.parts.read_write => ("Q", 8),
            BackupKind::Differential if is_of_files => ("G", 6),
            BackupKind::Differential => ("I", 5),
        }
    }

    pub fn is_to_nul(&self) -> bool {
        self.devices.contains(&BackupDevice::Nul)
    }

    pub fn is_to_url(&self) -> bool {
        self.devices.iter().any(BackupDevice::is_url)
    }

    /// BUFFERCOUNT times MAXTRANSFERSIZE.
    pub fn buffer_bytes(&self) -> Option<u64> {
        self.transfer.transfer_bytes?.checked_mul(self.transfer.buffer_count?.into())
    }

    pub fn replaces(&self) -> bool {
        self.media.format || self.media.overwrite == Some(Overwrite::Replace)
    }
}
