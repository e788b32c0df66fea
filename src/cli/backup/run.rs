//! `iostall backup run`.

use clap::{Args, ValueEnum};
use iostall_measure::ByteCount;
use iostall_model::sqlserver_backup::{
    BackupDevice, BackupEncryption, BackupKind, BackupParts, BackupSetOptions, BackupStatement,
    CompressionAlgorithm, CompressionLevel, EncryptionAlgorithm, Encryptor, ErrorOptions, LogOptions,
    MediaOptions, Overwrite, ServerVersion, StatementCompression, Tail, TapeOptions, TransferOptions,
};

use crate::cli::output::JudgedOutputArgs;

/// What to back up, and how the server does it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall backup run --sqlserver sqlserver://backup@db1 --database sales --to 'E:\\b\\sales.bak' --dry-run\n  \
    iostall backup run --sqlserver sqlserver://backup@db1 --database sales --to 'E:\\b\\1.bak' --compression on --checksum --verify\n  \
    iostall backup run --sqlserver sqlserver://backup@db1 --database sales --to NUL --copy-only    how fast can it be read?\n  \
    iostall backup run --sqlserver sqlserver://backup@db1 --database sales --to 'E:\\b\\sales.bak' --as agent-job\n\n\
    The server reads the database and writes the files: each --to is a path or URL as the server sees it. Without --init or\n\
    --format a file that is there is appended to, never overwritten. Ctrl-C ends the statement on the server with KILL.")]
pub(crate) struct BackupRunArgs {
    /// The server: sqlserver://USER@HOST
    #[arg(long, value_name = "URL", required = true, help_heading = "What")]
    pub(crate) sqlserver: String,
    /// The database
    #[arg(long, value_name = "NAME", required = true, help_heading = "What")]
    pub(crate) database: String,
    /// A file on the server, a URL (https://… of Azure, s3://…) or NUL; repeat it for more stripes, at most 64
    #[arg(long, value_name = "PATH", required = true, help_heading = "What")]
    pub(crate) to: Vec<String>,
    /// full, differential or log
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t = TypeChoice::Full, hide_possible_values = true, help_heading = "What")]
    pub(crate) kind: TypeChoice,
    /// COPY_ONLY: leave the base of differential backups and the chain of log backups as they are
    #[arg(long, help_heading = "What")]
    pub(crate) copy_only: bool,
    /// FILE: only this file of the database, by its logical name; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "What")]
    pub(crate) file: Vec<String>,
    /// FILEGROUP: only this filegroup; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "What")]
    pub(crate) filegroup: Vec<String>,
    /// READ_WRITE_FILEGROUPS: only what can be written, and the read-only ones that --filegroup names
    #[arg(long, help_heading = "What")]
    pub(crate) read_write_filegroups: bool,
    /// Read the backup back afterwards: RESTORE VERIFYONLY, HEADERONLY and FILELISTONLY
    #[arg(long, help_heading = "What")]
    pub(crate) verify: bool,
    /// Show the buffers and steps of the server: trace flags 3605, 3004, 3014, 3212, 3213 of this session only (sysadmin; for tests)
    #[arg(long, conflicts_with = "form", help_heading = "What")]
    pub(crate) trace_flags: bool,
    #[command(flatten)]
    pub(crate) speed: SpeedArgs,
    #[command(flatten)]
    pub(crate) media: MediaArgs,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    #[command(flatten)]
    pub(crate) safety: ErrorArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Print the T-SQL and do nothing else: the server is not asked
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print it in this form and do nothing else: tsql, maintenance-script (parameters of DatabaseBackup) or agent-job
    #[arg(
        long = "as",
        value_name = "FORM",
        value_enum,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub(crate) form: Option<FormChoice>,
    /// The version that printed T-SQL is for: 2008R2, 2012, 2014, 2016, 2017, 2019, 2022 or 2025 [default: the newest]
    #[arg(long = "for", value_name = "VERSION", help_heading = "Output")]
    pub(crate) for_version: Option<ServerVersion>,
    #[command(flatten)]
    pub(crate) output: JudgedOutputArgs,
    /// Do not store the run
    #[arg(long, help_heading = "Output")]
    pub(crate) no_store: bool,
}

/// Options that set the speed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Speed")]
pub(crate) struct SpeedArgs {
    /// BLOCKSIZE: 512 to 64K, a power of two
    #[arg(long, value_name = "SIZE", requires = "sqlserver")]
    pub(crate) block_size: Option<ByteCount>,
    /// BUFFERCOUNT: buffers of one transfer each
    #[arg(long, value_name = "N", requires = "sqlserver")]
    pub(crate) buffer_count: Option<u32>,
    /// MAXTRANSFERSIZE: a multiple of 64K up to 4M; to a blob up to 20M (2022), 5M to 20M for s3://
    #[arg(long, value_name = "SIZE", requires = "sqlserver")]
    pub(crate) max_transfer_size: Option<ByteCount>,
    /// on, off, ms-xpress, qat-deflate (2022), zstd or zstd:low, zstd:medium, zstd:high (2025) [default: the server's]
    #[arg(long, value_name = "HOW", value_parser = compression, requires = "sqlserver")]
    pub(crate) compression: Option<StatementCompression>,
}

/// Options of the media set.
#[derive(Debug, Args)]
#[command(next_help_heading = "Media set")]
pub(crate) struct MediaArgs {
    /// INIT: replace the backups that the files hold, if they have expired
    #[arg(long)]
    pub(crate) init: bool,
    /// NOINIT: append to the files, as without either
    #[arg(long, conflicts_with = "init")]
    pub(crate) noinit: bool,
    /// FORMAT: make a new media set and lose everything that the files hold
    #[arg(long)]
    pub(crate) format: bool,
    /// SKIP: do not check what has expired
    #[arg(long)]
    pub(crate) skip: bool,
    /// NOSKIP: check it, as without either
    #[arg(long, conflicts_with = "skip")]
    pub(crate) noskip: bool,
    /// NOREWIND, for tapes; disks ignore it
    #[arg(long)]
    pub(crate) norewind: bool,
    /// NOUNLOAD, for tapes; disks ignore it
    #[arg(long)]
    pub(crate) nounload: bool,
    /// MIRROR TO: write the same again to this file; as many as --to has, or two or three times as many (Enterprise)
    #[arg(long, value_name = "PATH")]
    pub(crate) mirror_to: Vec<String>,
    /// MEDIANAME
    #[arg(long, value_name = "NAME")]
    pub(crate) media_name: Option<String>,
    /// MEDIADESCRIPTION
    #[arg(long, value_name = "TEXT")]
    pub(crate) media_description: Option<String>,
}

/// Options of the backup set.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backup set")]
pub(crate) struct SetArgs {
    /// NAME of the backup set
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// DESCRIPTION of the backup set
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// EXPIREDATE, such as 20301231
    #[arg(long, value_name = "DATE")]
    pub(crate) expire_date: Option<String>,
    /// RETAINDAYS
    #[arg(long, value_name = "N")]
    pub(crate) retain_days: Option<u32>,
    /// STATS: print a line after every N percent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) stats: Option<u8>,
}

/// Options for damaged pages, and against readers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Safety")]
pub(crate) struct ErrorArgs {
    /// CHECKSUM: check each page, and write a checksum over the backup
    #[arg(long)]
    pub(crate) checksum: bool,
    /// NO_CHECKSUM, where the server's default is the other
    #[arg(long, conflicts_with = "checksum")]
    pub(crate) no_checksum: bool,
    /// CONTINUE_AFTER_ERROR: go on after damaged pages
    #[arg(long)]
    pub(crate) continue_after_error: bool,
    /// ENCRYPTION with certificate:NAME or key:NAME of master (2014)
    #[arg(long, value_name = "WITH", value_parser = encryptor)]
    pub(crate) encrypt_with: Option<Encryptor>,
    /// aes-128, aes-192, aes-256 or triple-des-3key
    #[arg(long, value_name = "HOW", default_value = "aes-256", value_parser = algorithm, requires = "encrypt_with")]
    pub(crate) encrypt_algorithm: EncryptionAlgorithm,
    /// CREDENTIAL with the storage key of an Azure account, for page blobs (2012)
    #[arg(long, value_name = "NAME")]
    pub(crate) credential: Option<String>,
}

/// Options of BACKUP LOG.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// NORECOVERY: back up the tail of the log and leave the database RESTORING
    #[arg(long)]
    pub(crate) norecovery: bool,
    /// STANDBY: the same, with the database readable; what was undone goes into this file
    #[arg(long, value_name = "FILE", conflicts_with = "norecovery")]
    pub(crate) standby: Option<String>,
    /// NO_TRUNCATE: try it whatever the state of the database
    #[arg(long)]
    pub(crate) no_truncate: bool,
}

/// What is backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypeChoice {
    Full,
    #[value(alias = "diff")]
    Differential,
    Log,
}

/// What is printed instead of being run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormChoice {
    Tsql,
    MaintenanceScript,
    AgentJob,
}

impl BackupRunArgs {
    /// What to print, if nothing is to be run.
    pub(crate) fn printed(&self) -> Option<FormChoice> {
        self.form.or(self.dry_run.then_some(FormChoice::Tsql))
    }

    pub(crate) fn statement(&self) -> BackupStatement {
        BackupStatement {
            database: self.database.clone(),
            kind: match self.kind {
                TypeChoice::Full => BackupKind::Full,
                TypeChoice::Differential => BackupKind::Differential,
                TypeChoice::Log => BackupKind::Log,
            },
            copy_only: self.copy_only,
            parts: BackupParts {
                files: self.file.clone(),
                filegroups: self.filegroup.clone(),
                read_write: self.read_write_filegroups,
            },
            devices: devices(&self.to),
            mirrors: self.media.mirror_to.chunks(self.to.len().max(1)).map(devices).collect(),
            credential: self.safety.credential.clone(),
            set: BackupSetOptions {
                name: self.set.name.clone(),
                description: self.set.description.clone(),
                expire_date: self.set.expire_date.clone(),
                retain_days: self.set.retain_days,
            },
            media: self.media.options(),
            transfer: self.speed.options(),
            compression: self.speed.compression,
            encryption: self
                .safety
                .encrypt_with
                .clone()
                .map(|encryptor| BackupEncryption { algorithm: self.safety.encrypt_algorithm, encryptor }),
            errors: ErrorOptions {
                checksum: chosen(self.safety.checksum, self.safety.no_checksum),
                continue_after_error: self.safety.continue_after_error.then_some(true),
            },
            log: LogOptions {
                tail: (self.log.standby.clone().map(Tail::Standby))
                    .or(self.log.norecovery.then_some(Tail::Restoring)),
                no_truncate: self.log.no_truncate,
            },
            tape: TapeOptions { no_rewind: self.media.norewind, no_unload: self.media.nounload },
            stats: self.set.stats,
        }
    }
}

impl SpeedArgs {
    pub(super) fn options(&self) -> TransferOptions {
        TransferOptions {
            block_bytes: self.block_size.map(ByteCount::bytes),
            buffer_count: self.buffer_count,
            transfer_bytes: self.max_transfer_size.map(ByteCount::bytes),
        }
    }
}

impl MediaArgs {
    fn options(&self) -> MediaOptions {
        MediaOptions {
            overwrite: match (self.init, self.noinit) {
                (true, _) => Some(Overwrite::Replace),
                (false, true) => Some(Overwrite::Append),
                (false, false) => None,
            },
            format: self.format,
            skip: chosen(self.skip, self.noskip),
            name: self.media_name.clone(),
            description: self.media_description.clone(),
        }
    }
}

fn devices(texts: &[String]) -> Vec<BackupDevice> {
    texts.iter().map(|text| BackupDevice::of(text)).collect()
}

/// An option and its opposite, of which at most one is given.
fn chosen(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

fn compression(text: &str) -> Result<StatementCompression, String> {
    let of = |algorithm| Ok(StatementCompression::Algorithm(algorithm, None));
    let zstd = |level| Ok(StatementCompression::Algorithm(CompressionAlgorithm::Zstd, Some(level)));
    match text.to_ascii_lowercase().replace('_', "-").as_str() {
        "on" | "yes" => Ok(StatementCompression::On),
        "off" | "no" | "none" => Ok(StatementCompression::Off),
        "ms-xpress" => of(CompressionAlgorithm::MsXpress),
        "qat-deflate" => of(CompressionAlgorithm::QatDeflate),
        "zstd" => of(CompressionAlgorithm::Zstd),
        "zstd:low" => zstd(CompressionLevel::Low),
        "zstd:medium" => zstd(CompressionLevel::Medium),
        "zstd:high" => zstd(CompressionLevel::High),
        _ => {
            Err("write on, off, ms-xpress, qat-deflate, zstd, zstd:low, zstd:medium or zstd:high".to_owned())
        }
    }
}

fn encryptor(text: &str) -> Result<Encryptor, String> {
    match text.split_once(':') {
        Some(("certificate", name)) if !name.is_empty() => Ok(Encryptor::Certificate(name.to_owned())),
        Some(("key", name)) if !name.is_empty() => Ok(Encryptor::AsymmetricKey(name.to_owned())),
        _ => Err("write certificate:NAME or key:NAME, as it is called in master".to_owned()),
    }
}

fn algorithm(text: &str) -> Result<EncryptionAlgorithm, String> {
    match text.to_ascii_lowercase().replace('_', "-").as_str() {
        "aes-128" => Ok(EncryptionAlgorithm::Aes128),
        "aes-192" => Ok(EncryptionAlgorithm::Aes192),
        "aes-256" => Ok(EncryptionAlgorithm::Aes256),
        "triple-des-3key" => Ok(EncryptionAlgorithm::TripleDes3Key),
        _ => Err("write aes-128, aes-192, aes-256 or triple-des-3key".to_owned()),
    }
}
