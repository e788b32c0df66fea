use iostall_model::sqlserver_backup::{BackupEncryption, EncryptionAlgorithm, TransferOptions};

use super::*;

fn to(devices: &[&str]) -> BackupStatement {
    BackupStatement {
        database: "sales".into(),
        devices: devices.iter().map(|text| BackupDevice::of(text)).collect(),
        ..BackupStatement::default()
    }
}

#[test]
fn a_script_says_which_version_it_needs_and_what_its_buffers_take() {
    let mut statement = to(&[r"E:\b\1.bak"]);
    statement.errors.checksum = Some(true);
    assert!(
        script(&statement, false, false)
            .starts_with("-- Needs SQL Server 2008 R2 or later.\nBACKUP DATABASE [sales]\n")
    );
    statement.transfer = TransferOptions {
        buffer_count: Some(64),
        transfer_bytes: Some(4 << 20),
        ..TransferOptions::default()
    };
    statement.compression = Some(StatementCompression::On);
    let text = script(&statement, false, false);
    assert!(text.contains("256 MiB of the server's memory, and compression up to three times"), "{text}");
}

/// The story: a backup was appended to a file, and the VERIFYONLY behind it read the first backup in the file, of last week.
#[test]
fn an_appended_backup_is_verified_in_its_own_place() {
    let text = script(&to(&[r"E:\b\1.bak"]), true, false);
    assert!(text.contains("DECLARE @database sysname = N'sales';"), "{text}");
    assert!(
        text.contains("RESTORE VERIFYONLY\nFROM DISK = N'E:\\b\\1.bak'\nWITH FILE = @position;"),
        "{text}"
    );
    assert!(text.contains("RESTORE HEADERONLY\nFROM DISK = N'E:\\b\\1.bak';"), "{text}");
}

/// The story: a log backup ended between the backup and the look at the history, and the place of that one was verified.
#[test]
fn what_is_verified_is_known_by_what_was_written_and_not_by_when() {
    let mut statement = to(&[r"E:\b\1.bak"]);
    statement.copy_only = true;
    let text = script(&statement, true, false);
    let (before, after) = text.split_once("BACKUP DATABASE").unwrap();
    for part in ["@newest int", "@leaf nvarchar(260) = N'1.bak'", "@type char(1) = 'D'", "@copy_only bit = 1"]
    {
        assert!(before.contains(part), "{part}: {text}");
    }
    assert!(after.contains("b.type = @type") && after.contains("backupmediafamily"), "{text}");
    let blob = script(&to(&["https://a/b/1.bak"]), true, false);
    assert!(blob.contains("VERIFYONLY") && !blob.contains("DECLARE"), "{blob}");
}

/// The story: the job was tried once, and failed on each of the following nights, or filled the disk.
#[test]
fn a_job_that_can_succeed_once_is_refused_and_one_that_grows_or_overwrites_says_so() {
    let refused = |statement: &BackupStatement| {
        let error = agent_job(statement, false).unwrap_err();
        assert!(error.message.contains("once") && error.hint.contains("--format"), "{error:?}");
    };
    let mut blob = to(&["https://a/b/1.bak"]);
    refused(&blob);
    blob.media.format = true;
    agent_job(&blob, false).unwrap();
    let mut file = to(&[r"E:\b\1.bak"]);
    assert!(agent_job(&file, false).unwrap().contains("grow for ever"));
    file.encryption = Some(BackupEncryption {
        algorithm: EncryptionAlgorithm::Aes256,
        encryptor: Encryptor::Certificate("b".into()),
    });
    refused(&file);
    file.media.overwrite = Some(Overwrite::Replace);
    assert!(agent_job(&file, false).unwrap().contains("overwrites the only backup"));
}

#[test]
fn the_maintenance_script_gets_its_own_parameters() {
    let mut statement = to(&[r"E:\b\1.bak", r"F:\b\2.bak", r"E:\b\3.bak", r"F:\b\4.bak"]);
    statement.compression = Some(StatementCompression::On);
    statement.transfer =
        TransferOptions { block_bytes: Some(65_536), buffer_count: Some(64), transfer_bytes: Some(1 << 20) };
    statement.encryption = Some(BackupEncryption {
        algorithm: EncryptionAlgorithm::Aes256,
        encryptor: Encryptor::Certificate("o'brien".into()),
    });
    let text = maintenance_script(&statement, true).unwrap();
    for line in [
        "@Databases = N'sales'",
        r"@Directory = N'E:\b,F:\b'",
        "@NumberOfFiles = 4",
        "@BackupType = N'FULL'",
        "@Verify = N'Y'",
        "@Compress = N'Y'",
        "@ServerCertificate = N'o''brien'",
        "@BlockSize = 65536",
        "@BufferCount = 64",
        "@MaxTransferSize = 1048576;",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// The story: a database called `-archive` excluded itself from the list of databases.
#[test]
fn what_the_maintenance_script_would_read_otherwise_is_refused() {
    let refused = |statement: &BackupStatement, words: &str| {
        let error = maintenance_script(statement, false).unwrap_err();
        assert!(error.message.contains(words) && !error.hint.is_empty(), "{error:?}");
    };
    for name in ["-archive", "a,b", "sales%", "USER_DATABASES", " sales", "[sales]"] {
        refused(&BackupStatement { database: name.into(), ..to(&[r"E:\b\1.bak"]) }, "name of one database");
    }
    refused(&to(&["sales.bak"]), "no directory");
    refused(&to(&[r"E:\b\1.bak", r"E:\b\2.bak", r"F:\b\3.bak"]), "equally many files");
    let mut statement = to(&[r"E:\b\1.bak"]);
    statement.media.name = Some("tapes".into());
    statement.log.no_truncate = true;
    refused(&statement, "MEDIANAME, NO_TRUNCATE");
}

/// The story: the Agent took `$(ESCAPE_NONE(JOBID))` in the name of a database for a token of its own.
#[test]
fn a_job_quotes_its_statement_and_refuses_the_agents_own_tokens() {
    let mut statement = to(&[r"E:\it's\1.bak"]);
    let text = agent_job(&statement, false).unwrap();
    assert!(text.contains("N''E:\\it''''s\\1.bak''"), "{text}");
    assert!(text.contains("sp_add_jobstep"), "{text}");
    statement.database = "$(ESCAPE_NONE(JOBID))".into();
    assert!(agent_job(&statement, false).unwrap_err().message.contains("$("));
}

/// The story: the T-SQL for a bucket declared a variable and asked for a position that nothing used.
#[test]
fn a_backup_to_a_url_asks_for_no_position() {
    let statement = BackupStatement {
        database: "sales".into(),
        devices: vec![BackupDevice::of("s3://store/sales.bak")],
        ..BackupStatement::default()
    };
    let text = script(&statement, true, false);
    assert!(
        !text.contains("@position") && !text.contains("@database") && text.contains("VERIFYONLY"),
        "{text}"
    );
}
