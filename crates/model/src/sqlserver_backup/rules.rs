//! Rules that a statement must keep whatever the server.

use iostall_measure::ByteCount;

use super::devices::{devices, mirrors, nul};
use super::refusal::{BACKUP, COMPRESSION, ENCRYPTION, IDENTIFIERS, PARTIAL, Refusal, S3, SYSTEM, URL};
use super::statement::{
    BackupDevice, BackupKind, BackupStatement, CompressionAlgorithm, Encryptor, Overwrite,
    StatementCompression, Tail,
};
use super::version::{ServerVersion, needs};

/// Unit and most of MAXTRANSFERSIZE.
const TRANSFER_UNIT: u64 = 65_536;
const TRANSFER_MAX: u64 = 4 << 20;
/// To a block blob, from 2022 on.
const BLOB_TRANSFER_MAX: u64 = 20 << 20;
/// The range of an S3-compatible store, whose parts are one transfer each.
const S3_TRANSFER: std::ops::RangeInclusive<u64> = (5 << 20)..=(20 << 20);
/// The shortest and the longest BLOCKSIZE; every power of two between them is legal.
const BLOCK: std::ops::RangeInclusive<u64> = 512..=65_536;
/// Most characters of a name, a description and a device.
const NAME_MAX: usize = 128;
const DESCRIPTION_MAX: usize = 255;
const DEVICE_MAX: usize = 259;

/// Everything in `statement` that no server accepts, that servers of `version` do not know, or that loses something without
/// being told to. Empty if it may be run.
pub fn refusals(statement: &BackupStatement, version: ServerVersion) -> Vec<Refusal> {
    let mut found = Vec::new();
    names(statement, &mut found);
    devices(statement, &mut found);
    mirrors(statement, &mut found);
    parts(statement, &mut found);
    nul(statement, &mut found);
    urls(statement, &mut found);
    media(statement, &mut found);
    kinds(statement, &mut found);
    transfer(statement, version, &mut found);
    compression(statement, &mut found);
    encryption(statement, &mut found);
    for need in needs(statement).into_iter().filter(|need| need.version > version) {
        found.push(Refusal::new(
            need.page,
            format!("{} came with SQL Server {}, and this one is {version}", need.option, need.version),
            "leave it out",
        ));
    }
    found
}

/// More memory of the server than this for the buffers of one backup is no wish, but a slip.
const BUFFERS_BYTES_MAX: u64 = 4 << 30;

/// What a server accepts, and whoever asked for it may not want.
pub fn cautions(statement: &BackupStatement) -> Vec<Refusal> {
    let mut found = Vec::new();
    if let Some(bytes) = statement.buffer_bytes().filter(|bytes| *bytes > BUFFERS_BYTES_MAX) {
        let message = format!(
            "BUFFERCOUNT times MAXTRANSFERSIZE takes {} of the server's memory outside its buffer pool: where it has less, the backup fails, \
             and may take other work with it",
            ByteCount(bytes)
        );
        found.push(Refusal::new(
            BACKUP,
            message,
            "a few hundred MiB are enough for most devices: `iostall backup tune` measures it",
        ));
    }
    if statement.errors.checksum.is_none() {
        let message = "without CHECKSUM the server does not check its pages while it reads them, and a damaged one is backed up unseen";
        found.push(Refusal::new(
            BACKUP,
            message,
            "add --checksum, or --no-checksum if the server's own setting or its load forbids it",
        ));
    }
    found
}

fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

fn names(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let (set, media) = (&statement.set, &statement.media);
    let encryptor = statement.encryption.as_ref().map(|encryption| match &encryption.encryptor {
        Encryptor::Certificate(name) | Encryptor::AsymmetricKey(name) => name.as_str(),
    });
    let standby = match &statement.log.tail {
        Some(Tail::Standby(file)) => Some(file.as_str()),
        _ => None,
    };
    let texts = [
        ("the database", Some(statement.database.as_str()), NAME_MAX),
        ("NAME", set.name.as_deref(), NAME_MAX),
        ("DESCRIPTION", set.description.as_deref(), DESCRIPTION_MAX),
        ("MEDIANAME", media.name.as_deref(), NAME_MAX),
        ("MEDIADESCRIPTION", media.description.as_deref(), DESCRIPTION_MAX),
        ("CREDENTIAL", statement.credential.as_deref(), NAME_MAX),
        ("the encryptor", encryptor, NAME_MAX),
        ("STANDBY", standby, DEVICE_MAX),
        ("EXPIREDATE", set.expire_date.as_deref(), NAME_MAX),
    ];
    let devices = statement.devices.iter().chain(statement.mirrors.iter().flatten());
    let devices = devices.map(|device| ("a device", Some(device.name()), DEVICE_MAX));
    let parts = statement.parts.files.iter().chain(&statement.parts.filegroups);
    let parts = parts.map(|name| ("FILE or FILEGROUP", Some(name.as_str()), NAME_MAX));
    for (what, text, most) in texts.into_iter().chain(devices).chain(parts) {
        let Some(text) = text else { continue };
        if text.is_empty() {
            found.push(Refusal::new(
                IDENTIFIERS,
                format!("{what} has no name"),
                "give it one, or leave the option out",
            ));
        } else if length(text) > most {
            let message =
                format!("{what} has {} characters, and the server takes {most} at most", length(text));
            found.push(Refusal::new(BACKUP, message, "shorten it"));
        }
        if text.contains('\0') {
            let message = format!("{what} contains the character NUL, which no T-SQL can hold");
            found.push(Refusal::new(IDENTIFIERS, message, "look at how the name came to be"));
        }
    }
}

fn urls(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let is_url = statement.is_to_url();
    if statement.credential.is_some() && !is_url {
        let message = "CREDENTIAL is only for backups to URL";
        found.push(Refusal::new(BACKUP, message, "leave --credential out, or name a URL with --to"));
    }
    if !is_url {
        return;
    }
    let mut refuse = |is_used: bool, page, option: &str, hint: &str| {
        if is_used {
            found.push(Refusal::new(page, format!("{option} is not possible with a backup to URL"), hint));
        }
    };
    let (media, set, tape) = (&statement.media, &statement.set, &statement.tape);
    refuse(
        set.expiry().is_some(),
        URL,
        "EXPIREDATE or RETAINDAYS",
        "use the retention of the storage account",
    );
    refuse(
        media.overwrite.is_some(),
        URL,
        "INIT or NOINIT",
        "a blob is never appended to: choose a new name, or --format to replace it",
    );
    refuse(media.skip.is_some(), URL, "SKIP or NOSKIP", "leave it out");
    refuse(tape.no_rewind || tape.no_unload, URL, "NOREWIND or NOUNLOAD", "leave it out: it is for tapes");
    if statement.credential.is_none() {
        return;
    }
    let is_s3 = statement.devices.iter().any(BackupDevice::is_s3);
    let mut refuse = |is_used: bool, option: &str| {
        if is_used {
            let message = format!(
                "{option} and CREDENTIAL exclude each other: with a storage key the backup is a page blob"
            );
            let hint = "leave --credential out and use a shared access signature, which makes block blobs";
            found.push(Refusal::new(URL, message, hint));
        }
    };
    refuse(is_s3, "an S3-compatible store");
    refuse(statement.devices.len() > 1, "several stripes");
    refuse(statement.transfer.block_bytes.is_some(), "BLOCKSIZE");
    refuse(statement.transfer.transfer_bytes.is_some(), "MAXTRANSFERSIZE");
}

fn media(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let media = &statement.media;
    if media.format && media.overwrite == Some(Overwrite::Append) {
        let message =
            "FORMAT and NOINIT exclude each other: one replaces the media set, the other appends to it";
        found.push(Refusal::new(
            BACKUP,
            message,
            "leave one of them out; without --format nothing is overwritten",
        ));
    }
    if media.format && media.overwrite == Some(Overwrite::Replace) {
        let message = "FORMAT makes INIT meaningless: it loses what the files hold, expired or not";
        found.push(Refusal::new(
            BACKUP,
            message,
            "leave --init out, or --format to keep what has not expired",
        ));
    }
    if media.format && media.skip == Some(false) {
        let message =
            "FORMAT and NOSKIP exclude each other: FORMAT implies SKIP, so nothing would be checked";
        found.push(Refusal::new(BACKUP, message, "use --init with --noskip to keep what has not expired"));
    }
    if statement.set.expire_date.is_some() && statement.set.retain_days.is_some() {
        let message = "EXPIREDATE and RETAINDAYS exclude each other: the server would use RETAINDAYS alone";
        found.push(Refusal::new(BACKUP, message, "leave one of them out"));
    }
    let is_date = |text: &&str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(date) = statement.set.expire_date.as_deref().filter(|date| !is_date(date)) {
        let message = format!(
            "EXPIREDATE = {date:?} is read by the language of the login, so it is another day to another one"
        );
        found.push(Refusal::new(
            BACKUP,
            message,
            "write year, month and day as 20301231, which every login reads alike",
        ));
    }
    if let Some(percent) = statement.stats.filter(|percent| !(1..=100).contains(percent)) {
        let message = format!("STATS = {percent} is no percentage");
        found.push(Refusal::new(BACKUP, message, "write 1 to 100"));
    }
}

fn kinds(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let is_log = statement.kind == BackupKind::Log;
    if statement.kind == BackupKind::Differential && statement.copy_only {
        let message = "COPY_ONLY has no effect on a differential backup: the server ignores it";
        found.push(Refusal::new(BACKUP, message, "leave --copy-only out, or make a full backup"));
    }
    if !is_log && (statement.log.tail.is_some() || statement.log.no_truncate) {
        let message = "NORECOVERY, STANDBY and NO_TRUNCATE are only for backups of the log";
        found.push(Refusal::new(BACKUP, message, "add --type log, or leave them out"));
    }
    if statement.copy_only && statement.log.tail.is_some() {
        let message = "a tail of the log that leaves the database restoring cannot be COPY_ONLY: the restore needs it in its chain";
        found.push(Refusal::new(BACKUP, message, "leave --copy-only out"));
    }
    let name = statement.database.to_lowercase();
    if name == "tempdb" {
        let message = "tempdb cannot be backed up: it is built again at every start";
        found.push(Refusal::new(SYSTEM, message, "name another database"));
    }
    if name == "master" && statement.kind != BackupKind::Full {
        let message = "of master there are only full backups";
        found.push(Refusal::new(SYSTEM, message, "leave --type out"));
    }
}

fn transfer(statement: &BackupStatement, version: ServerVersion, found: &mut Vec<Refusal>) {
    let options = &statement.transfer;
    if let Some(bytes) =
        options.block_bytes.filter(|bytes| !bytes.is_power_of_two() || !BLOCK.contains(bytes))
    {
        let message = format!("BLOCKSIZE = {bytes} is not possible");
        let hint = "write 512, 1024, 2048, 4096, 8192, 16384, 32768 or 65536, or leave it out";
        found.push(Refusal::new(BACKUP, message, hint));
    }
    if options.buffer_count == Some(0) {
        let message = "BUFFERCOUNT = 0 is not possible: a backup needs buffers";
        found.push(Refusal::new(BACKUP, message, "write a positive number, or leave it out"));
    }
    let Some(bytes) = options.transfer_bytes else { return };
    let is_s3 = statement.devices.iter().any(BackupDevice::is_s3);
    let is_unit = bytes > 0 && bytes.is_multiple_of(TRANSFER_UNIT);
    if is_s3 && !(is_unit && S3_TRANSFER.contains(&bytes)) {
        let message = format!("MAXTRANSFERSIZE = {bytes} is not possible for an S3-compatible store");
        found.push(Refusal::new(S3, message, "write a multiple of 64K from 5M to 20M, or leave it out"));
    }
    if is_s3 && !statement.compression.is_some_and(StatementCompression::is_on) {
        let message =
            "MAXTRANSFERSIZE of an S3-compatible store can only be changed together with COMPRESSION";
        found.push(Refusal::new(S3, message, "add --compression on, or leave --max-transfer-size out"));
    }
    let is_large = statement.is_to_url() && version >= ServerVersion::V2022;
    let (most, hint) = if is_large {
        (BLOB_TRANSFER_MAX, "write a multiple of 64K up to 20M, or leave it out")
    } else {
        (
            TRANSFER_MAX,
            "write a multiple of 64K up to 4M (to a blob, from 2022 on, up to 20M), or leave it out",
        )
    };
    if !(is_s3 || is_unit && bytes <= most) {
        let message = format!("MAXTRANSFERSIZE = {bytes} is not possible");
        found.push(Refusal::new(BACKUP, message, hint));
    }
}

fn compression(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    if let Some(StatementCompression::Algorithm(algorithm, Some(_))) = statement.compression
        && algorithm != CompressionAlgorithm::Zstd
    {
        let message = format!("LEVEL is only for ZSTD: {} has no levels", algorithm.name());
        found.push(Refusal::new(
            COMPRESSION,
            message,
            "leave the level out, or write --compression zstd:LEVEL",
        ));
    }
}

fn encryption(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    if statement.encryption.is_some() && statement.media.overwrite == Some(Overwrite::Append) {
        let message =
            "ENCRYPTION and NOINIT exclude each other: an encrypted backup cannot be appended to a media set";
        found.push(Refusal::new(
            ENCRYPTION,
            message,
            "name a new file with --to, or add --format to replace the old one",
        ));
    }
}

fn parts(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let parts = &statement.parts;
    if parts.is_all() {
        return;
    }
    if statement.kind == BackupKind::Log {
        let message = "FILE, FILEGROUP and READ_WRITE_FILEGROUPS are not for backups of the log, which is one for the whole database";
        found.push(Refusal::new(
            BACKUP,
            message,
            "leave them out, or make a full or differential backup of them",
        ));
    }
    if parts.read_write && !parts.files.is_empty() {
        let message =
            "READ_WRITE_FILEGROUPS and FILE exclude each other: a partial backup is of whole filegroups";
        found.push(Refusal::new(
            PARTIAL,
            message,
            "name read-only filegroups with --filegroup, or leave one of them out",
        ));
    }
    if statement.database.eq_ignore_ascii_case("master") {
        let message = "of master there are only backups of all of it";
        found.push(Refusal::new(
            SYSTEM,
            message,
            "leave --file, --filegroup and --read-write-filegroups out",
        ));
    }
    for names in [&parts.files, &parts.filegroups] {
        let folded: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        for (index, name) in
            names.iter().enumerate().filter(|(index, _)| folded[..*index].contains(&folded[*index]))
        {
            let message = format!("{name:?} is named twice (number {})", index + 1);
            found.push(Refusal::new(IDENTIFIERS, message, "name each file and filegroup once"));
        }
    }
}
