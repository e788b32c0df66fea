//! Writes statements as T-SQL. Every name is quoted, whatever it contains.

use iostall_measure::named;
use iostall_model::sqlserver_backup::{
    BackupDevice, BackupEncryption, BackupKind, BackupParts, BackupStatement, Encryptor, Expiry, Overwrite,
    StatementCompression, Tail,
};

/// `[name]`.
pub(super) fn identifier(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// `N'text'`.
pub(super) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

named! {
    /// What RESTORE reads of a backup without restoring it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum RestoreCheck {
        /// VERIFYONLY: all of it, and its checksums if it has any.
        Verify = "VERIFYONLY",
        /// HEADERONLY: which backups the media set holds.
        Header = "HEADERONLY",
        /// FILELISTONLY: which files of the database a backup holds.
        FileList = "FILELISTONLY",
    }
}

impl RestoreCheck {
    /// Its tag, by which the server's own views show who asked.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Verify => "iostall:restore_verifyonly",
            Self::Header => "iostall:restore_headeronly",
            Self::FileList => "iostall:restore_filelistonly",
        }
    }
}

pub(super) fn backup(statement: &BackupStatement) -> String {
    let what = match statement.kind {
        BackupKind::Full | BackupKind::Differential => "DATABASE",
        BackupKind::Log => "LOG",
    };
    let mut text = format!("BACKUP {what} {}\n", identifier(&statement.database));
    let parts = parts(&statement.parts);
    if !parts.is_empty() {
        text.push_str(&format!("{}\n", parts.join(",\n")));
    }
    text.push_str(&format!("TO {}", devices(&statement.devices)));
    for mirror in &statement.mirrors {
        text.push_str(&format!("\nMIRROR TO {}", devices(mirror)));
    }
    ended(text, &options(statement))
}

fn parts(parts: &BackupParts) -> Vec<String> {
    let read_write = parts.read_write.then(|| "READ_WRITE_FILEGROUPS".to_owned());
    let files = parts.files.iter().map(|name| format!("FILE = {}", literal(name)));
    let filegroups = parts.filegroups.iter().map(|name| format!("FILEGROUP = {}", literal(name)));
    read_write.into_iter().chain(files).chain(filegroups).collect()
}

/// A BACKUP with the time that it took by the server's clock, which counts milliseconds here and whole seconds in the history.
pub(super) fn trial(statement: &BackupStatement) -> String {
    format!(
        "DECLARE @begun datetime2(3) = SYSUTCDATETIME();\n{}SELECT CONVERT(bigint, DATEDIFF(MILLISECOND, @begun, \
         SYSUTCDATETIME())) AS elapsed_ms;\n",
        backup(statement)
    )
}

/// LABELONLY: which media set a file belongs to.
pub(super) fn label(device: &BackupDevice) -> String {
    format!("RESTORE LABELONLY\nFROM {};\n", devices(std::slice::from_ref(device)))
}

/// The RESTORE that checks what `statement` wrote, in the place `position` of its media set: a number, or a variable.
pub(super) fn restore(check: RestoreCheck, statement: &BackupStatement, position: Option<&str>) -> String {
    let mut words = Vec::new();
    // A blob holds one backup, and RESTORE refuses to be told which.
    words.extend(position.filter(|_| !statement.is_to_url()).map(|position| format!("FILE = {position}")));
    // It is an error where the backup has none.
    if check == RestoreCheck::Verify && statement.errors.checksum == Some(true) {
        words.push("CHECKSUM".to_owned());
    }
    words.extend(statement.credential.as_deref().map(|name| format!("CREDENTIAL = {}", literal(name))));
    ended(format!("RESTORE {}\nFROM {}", check.name(), devices(&statement.devices)), &words)
}

pub(super) fn ended(statement: String, words: &[String]) -> String {
    if words.is_empty() {
        return statement + ";\n";
    }
    format!("{statement}\nWITH {};\n", words.join(",\n     "))
}

pub(super) fn devices(devices: &[BackupDevice]) -> String {
    let one = |device: &BackupDevice| match device {
        BackupDevice::Disk(path) => format!("DISK = {}", literal(path)),
        BackupDevice::Url(url) => format!("URL = {}", literal(url)),
        BackupDevice::Nul => "DISK = N'NUL'".to_owned(),
    };
    devices.iter().map(one).collect::<Vec<_>>().join(",\n   ")
}

fn options(statement: &BackupStatement) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |is_used: bool, word: &str| {
        if is_used {
            words.push(word.to_owned());
        }
    };
    add(statement.kind == BackupKind::Differential, "DIFFERENTIAL");
    add(statement.copy_only, "COPY_ONLY");
    add(statement.media.format, "FORMAT");
    add(statement.media.overwrite == Some(Overwrite::Replace), "INIT");
    add(statement.media.overwrite == Some(Overwrite::Append), "NOINIT");
    add(statement.media.skip == Some(true), "SKIP");
    add(statement.media.skip == Some(false), "NOSKIP");
    add(statement.tape.no_rewind, "NOREWIND");
    add(statement.tape.no_unload, "NOUNLOAD");
    add(statement.errors.checksum == Some(true), "CHECKSUM");
    add(statement.errors.checksum == Some(false), "NO_CHECKSUM");
    add(statement.errors.continue_after_error == Some(true), "CONTINUE_AFTER_ERROR");
    add(statement.errors.continue_after_error == Some(false), "STOP_ON_ERROR");
    add(statement.log.no_truncate, "NO_TRUNCATE");
    words.extend(statement.log.tail.as_ref().map(|tail| match tail {
        Tail::Restoring => "NORECOVERY".to_owned(),
        Tail::Standby(file) => format!("STANDBY = {}", literal(file)),
    }));
    words.extend(statement.compression.map(compression));
    words.extend(statement.encryption.as_ref().map(encryption));
    words.extend(texts(statement));
    words.extend(numbers(statement));
    words
}

fn compression(compression: StatementCompression) -> String {
    match compression {
        StatementCompression::Off => "NO_COMPRESSION".to_owned(),
        StatementCompression::On => "COMPRESSION".to_owned(),
        StatementCompression::Algorithm(algorithm, level) => {
            let level = level.map(|level| format!(", LEVEL = {}", level.name())).unwrap_or_default();
            format!("COMPRESSION (ALGORITHM = {}{level})", algorithm.name())
        }
    }
}

fn encryption(encryption: &BackupEncryption) -> String {
    let encryptor = match &encryption.encryptor {
        Encryptor::Certificate(name) => format!("SERVER CERTIFICATE = {}", identifier(name)),
        Encryptor::AsymmetricKey(name) => format!("SERVER ASYMMETRIC KEY = {}", identifier(name)),
    };
    format!("ENCRYPTION (ALGORITHM = {}, {encryptor})", encryption.algorithm.name())
}

fn texts(statement: &BackupStatement) -> Vec<String> {
    let (set, media) = (&statement.set, &statement.media);
    let expiry = set.expiry().map(|expiry| match expiry {
        Expiry::Date(date) => format!("EXPIREDATE = {}", literal(date)),
        Expiry::Days(days) => format!("RETAINDAYS = {days}"),
    });
    let named = [
        ("CREDENTIAL", &statement.credential),
        ("NAME", &set.name),
        ("DESCRIPTION", &set.description),
        ("MEDIANAME", &media.name),
        ("MEDIADESCRIPTION", &media.description),
    ];
    let named = named
        .into_iter()
        .filter_map(|(option, text)| Some(format!("{option} = {}", literal(text.as_ref()?))));
    named.chain(expiry).collect()
}

fn numbers(statement: &BackupStatement) -> Vec<String> {
    let transfer = &statement.transfer;
    let all = [
        ("BLOCKSIZE", transfer.block_bytes),
        ("BUFFERCOUNT", transfer.buffer_count.map(u64::from)),
        ("MAXTRANSFERSIZE", transfer.transfer_bytes),
        ("STATS", statement.stats.map(u64::from)),
    ];
    all.into_iter().filter_map(|(option, number)| Some(format!("{option} = {}", number?))).collect()
}

#[cfg(test)]
mod tests;
