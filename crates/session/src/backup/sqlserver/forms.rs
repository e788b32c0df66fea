//! The same backup in other forms: the well-known maintenance script's parameters, and a job of SQL Server Agent.

use iostall_measure::foreign::shown;
use iostall_model::sqlserver_backup::{
    BackupDevice, BackupKind, BackupStatement, Encryptor, Expiry, Overwrite, StatementCompression, Tail,
    oldest_version,
};
use thiserror::Error;

use super::server::leaf;
use super::trace;
use super::tsql::{self, RestoreCheck, literal};

const POSITION: &str = include_str!("sql/position.sql");
const JOB: &str = include_str!("sql/job.sql");

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FormError {
    pub message: String,
    pub hint: String,
}

impl FormError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

pub fn script(statement: &BackupStatement, read_back: bool, trace_flags: bool) -> String {
    let oldest = oldest_version(statement);
    let mut text = format!("-- Needs SQL Server {oldest} or later.");
    if let Some(bytes) = statement.buffer_bytes() {
        let mib = bytes as f64 / 1_048_576.0;
        text.push_str(&format!(" Its buffers take {mib:.0} MiB of the server's memory"));
        text.push_str(match statement.compression {
            Some(compression) if compression.is_on() => ", and compression up to three times as much.",
            _ => ".",
        });
    }
    text.push('\n');
    if !trace_flags {
        text.push_str(&body(statement, read_back));
        return text;
    }
    let [on, off] = trace::around();
    text.push_str(&format!("{on}\n{}{off}\n", body(statement, read_back)));
    text
}

fn remark(text: &str) -> String {
    format!("-- Caution: {text}.\n")
}

fn body(statement: &BackupStatement, read_back: bool) -> String {
    let backup = tsql::backup(statement);
    if !read_back {
        return backup;
    }
    let checks: Vec<String> = RestoreCheck::ALL
        .into_iter()
        .map(|check| {
            // HEADERONLY lists all backups of the files.
            let position = (check != RestoreCheck::Header).then_some("@position");
            tsql::restore(check, statement, position)
        })
        .collect();
    // A blob holds one backup: there is no place to look for.
    if statement.is_to_url() {
        return format!("{backup}{}", checks.join("\n"));
    }
    let device = statement.devices.first().map_or("", |device| device.name());
    let declared = format!(
        "DECLARE @newest int = (SELECT ISNULL(MAX(b.backup_set_id), 0) FROM msdb.dbo.backupset AS b);\n\
         DECLARE @database sysname = {};\nDECLARE @device nvarchar(260) = {};\nDECLARE @leaf nvarchar(260) = {};\n\
         DECLARE @type char(1) = '{}';\nDECLARE @copy_only bit = {};\n",
        literal(&statement.database),
        literal(device),
        literal(leaf(device)),
        statement.set_type().0,
        u8::from(statement.copy_only),
    );
    format!("{declared}{backup}\n{POSITION}\n{}", checks.join("\n"))
}

/// What is wrong with a statement that runs night after night with the same names.
fn again_and_again(statement: &BackupStatement) -> Result<Option<&'static str>, FormError> {
    let (media, is_url) = (&statement.media, statement.is_to_url());
    if is_url && !media.format {
        return Err(FormError::new(
            "the job would succeed once: the blob is there the second time, and a blob is never appended to",
            "--as maintenance-script names a new file each time; --format overwrites the one backup there is",
        ));
    }
    if statement.encryption.is_some() && !statement.replaces() {
        return Err(FormError::new(
            "the job would succeed once: an encrypted backup cannot be appended to a file that is there",
            "--as maintenance-script names a new file each time; --format overwrites the one backup there is",
        ));
    }
    let word = if statement.is_to_nul() {
        None
    } else if statement.replaces() {
        Some(
            "each run overwrites the only backup in these files while it makes the next, and a run that fails leaves none",
        )
    } else {
        Some(
            "each run appends to the same files, which grow for ever; --as maintenance-script names a new file each time",
        )
    };
    Ok(word)
}

/// A job of SQL Server Agent, without a schedule.
pub fn agent_job(statement: &BackupStatement, read_back: bool) -> Result<String, FormError> {
    let word = again_and_again(statement)?;
    let command = body(statement, read_back);
    if command.contains("$(") {
        return Err(FormError::new(
            "a name contains $(, which SQL Server Agent would replace by a value of its own",
            "rename it, or use --as tsql in a job step of another kind",
        ));
    }
    let name = format!("iostall: {} backup of {}", statement.kind.name(), statement.database);
    let cut: String = name.chars().take(100).collect();
    let declared = format!(
        "DECLARE @name sysname = {};\nDECLARE @command nvarchar(max) = {};\n",
        literal(&cut),
        literal(&command)
    );
    let said = word.map(remark).unwrap_or_default();
    Ok(format!("{said}{declared}{JOB}"))
}

/// The parameters of `DatabaseBackup`.
pub fn maintenance_script(statement: &BackupStatement, read_back: bool) -> Result<String, FormError> {
    let (databases, places) = (script_database(&statement.database)?, script_places(statement)?);
    let missing = without_parameter(statement);
    if !missing.is_empty() {
        let message = format!("the maintenance script has no parameter for {}", missing.join(", "));
        return Err(FormError::new(message, "leave it out, or use --as tsql"));
    }
    let mut all = vec![("Databases", databases)];
    all.extend(places);
    all.extend(script_words(statement, read_back));
    all.extend(script_numbers(statement));
    let all: Vec<String> = all.into_iter().map(|(name, value)| format!("    @{name} = {value}")).collect();
    Ok(format!(
        "-- DatabaseBackup of Ola Hallengren's maintenance solution, for {}. It names the files itself: of --to only the\n\
         -- directories count. Older releases do not know all parameters.\nEXECUTE dbo.DatabaseBackup\n{};\n",
        shown(&statement.database),
        all.join(",\n")
    ))
}

/// Commas, percent signs and minus signs have a meaning in the list of databases.
fn script_database(name: &str) -> Result<String, FormError> {
    const GROUPS: [&str; 4] =
        ["SYSTEM_DATABASES", "USER_DATABASES", "ALL_DATABASES", "AVAILABILITY_GROUP_DATABASES"];
    let is_special = name.contains([',', '%', '[', ']', '\n', '\r'])
        || name.starts_with('-')
        || name.trim() != name
        || GROUPS.iter().any(|group| name.eq_ignore_ascii_case(group));
    if is_special {
        let message = format!("the maintenance script would not take {name:?} for the name of one database");
        return Err(FormError::new(message, "use --as tsql"));
    }
    Ok(literal(name))
}

/// Directories and the number of files in all of them.
fn script_places(statement: &BackupStatement) -> Result<Vec<(&'static str, String)>, FormError> {
    let mut places: Vec<(String, usize)> = Vec::new();
    let mut add = |place: String| match places.iter_mut().find(|(known, _)| *known == place) {
        Some((_, files)) => *files += 1,
        None => places.push((place, 1)),
    };
    for device in &statement.devices {
        match device {
            BackupDevice::Nul => add("NUL".to_owned()),
            BackupDevice::Disk(name) | BackupDevice::Url(name) => add(directory(name)?.to_owned()),
        }
    }
    if places.iter().any(|(place, _)| place.contains(',')) {
        return Err(FormError::new(
            "a directory has a comma in its name, which separates directories",
            "use --as tsql",
        ));
    }
    if places.iter().any(|(_, files)| *files != places[0].1) {
        let message =
            "the maintenance script puts equally many files into each directory, and here they differ";
        return Err(FormError::new(message, "name as many files with --to in each directory"));
    }
    let option = if statement.is_to_url() { "URL" } else { "Directory" };
    let joined: Vec<&str> = places.iter().map(|(place, _)| place.as_str()).collect();
    let joined = literal(&joined.join(","));
    Ok(vec![(option, joined), ("NumberOfFiles", statement.devices.len().to_string())])
}

fn directory(path: &str) -> Result<&str, FormError> {
    let end = path.rfind(['/', '\\']).filter(|end| *end > 0);
    end.map(|end| &path[..end]).ok_or_else(|| {
        let message = format!("{path:?} has no directory, and the maintenance script wants one");
        FormError::new(message, r"name a whole path with --to, such as E:\backup\sales.bak")
    })
}

fn without_parameter(statement: &BackupStatement) -> Vec<&'static str> {
    let missing = [
        (!statement.mirrors.is_empty(), "MIRROR TO"),
        (!statement.parts.files.is_empty() || !statement.parts.filegroups.is_empty(), "FILE or FILEGROUP"),
        (statement.media.name.is_some(), "MEDIANAME"),
        (statement.media.description.is_some(), "MEDIADESCRIPTION"),
        (statement.media.skip.is_some(), "SKIP or NOSKIP"),
        (statement.tape.no_rewind || statement.tape.no_unload, "NOREWIND or NOUNLOAD"),
        (statement.errors.continue_after_error.is_some(), "CONTINUE_AFTER_ERROR or STOP_ON_ERROR"),
        (statement.log.no_truncate, "NO_TRUNCATE"),
        (matches!(statement.log.tail, Some(Tail::Standby(_))), "STANDBY"),
    ];
    missing.into_iter().filter(|(is_used, _)| *is_used).map(|(_, option)| option).collect()
}

fn yes(is_so: bool) -> String {
    literal(if is_so { "Y" } else { "N" })
}

fn script_words(statement: &BackupStatement, read_back: bool) -> Vec<(&'static str, String)> {
    let kind = match statement.kind {
        BackupKind::Full => "FULL",
        BackupKind::Differential => "DIFF",
        BackupKind::Log => "LOG",
    };
    let mut words = vec![("BackupType", literal(kind))];
    let mut add = |is_used: bool, name, value: String| {
        if is_used {
            words.push((name, value));
        }
    };
    add(statement.parts.read_write, "ReadWriteFileGroups", yes(true));
    add(read_back, "Verify", yes(true));
    add(statement.copy_only, "CopyOnly", yes(true));
    add(statement.media.overwrite == Some(Overwrite::Replace), "Init", yes(true));
    add(statement.media.format, "Format", yes(true));
    add(statement.log.tail.is_some(), "NoRecovery", yes(true));
    if let Some(checksum) = statement.errors.checksum {
        add(true, "CheckSum", yes(checksum));
    }
    if let Some(compression) = statement.compression {
        add(true, "Compress", yes(compression.is_on()));
    }
    if let Some(StatementCompression::Algorithm(algorithm, level)) = statement.compression {
        add(true, "CompressionAlgorithm", literal(algorithm.name()));
        let level = level.map(|level| literal(level.name()));
        add(level.is_some(), "CompressionLevel", level.unwrap_or_default());
    }
    if let Some(encryption) = &statement.encryption {
        add(true, "Encrypt", yes(true));
        add(true, "EncryptionAlgorithm", literal(encryption.algorithm.name()));
        match &encryption.encryptor {
            Encryptor::Certificate(name) => add(true, "ServerCertificate", literal(name)),
            Encryptor::AsymmetricKey(name) => add(true, "ServerAsymmetricKey", literal(name)),
        }
    }
    let texts = [
        ("BackupSetName", &statement.set.name),
        ("Description", &statement.set.description),
        ("Credential", &statement.credential),
    ];
    words.extend(texts.into_iter().filter_map(|(name, text)| Some((name, literal(text.as_ref()?)))));
    words
}

fn script_numbers(statement: &BackupStatement) -> Vec<(&'static str, String)> {
    let transfer = &statement.transfer;
    let numbers = [
        ("BlockSize", transfer.block_bytes),
        ("BufferCount", transfer.buffer_count.map(u64::from)),
        ("MaxTransferSize", transfer.transfer_bytes),
        ("Stats", statement.stats.map(u64::from)),
    ];
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name, number?.to_string())));
    let expiry = statement.set.expiry().map(|expiry| match expiry {
        Expiry::Date(date) => ("ExpireDate", literal(date)),
        Expiry::Days(days) => ("RetainDays", days.to_string()),
    });
    numbers.chain(expiry).collect()
}

#[cfg(test)]
mod tests;
