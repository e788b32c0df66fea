use iostall_model::sqlserver_backup::{
    CompressionAlgorithm, CompressionLevel, EncryptionAlgorithm, ServerVersion, needs, oldest_version,
    refusals,
};

use super::*;
use crate::backup::sqlserver::drill::drill_statements;

/// The statements that `tsql/lint` parses with Microsoft's grammars.
const PARSED: &str = include_str!("../../../../../../tsql/lint/backup_statements.txt");

fn to(devices: &[&str]) -> BackupStatement {
    BackupStatement {
        database: "sales".into(),
        devices: devices.iter().map(|text| BackupDevice::of(text)).collect(),
        ..BackupStatement::default()
    }
}

fn disk() -> BackupStatement {
    to(&[r"E:\b\sales.bak"])
}

#[test]
fn a_statement_has_its_options_in_a_fixed_order() {
    let mut statement = to(&[r"E:\b\1.bak", r"F:\b\2.bak"]);
    assert_eq!(backup(&to(&["nul:"])), "BACKUP DATABASE [sales]\nTO DISK = N'NUL';\n");
    statement.copy_only = true;
    statement.errors.checksum = Some(true);
    statement.compression = Some(StatementCompression::On);
    statement.transfer.buffer_count = Some(64);
    assert_eq!(
        backup(&statement),
        "BACKUP DATABASE [sales]\nTO DISK = N'E:\\b\\1.bak',\n   DISK = N'F:\\b\\2.bak'\nWITH COPY_ONLY,\n     \
         CHECKSUM,\n     COMPRESSION,\n     BUFFERCOUNT = 64;\n"
    );
    statement.kind = BackupKind::Log;
    assert!(backup(&statement).starts_with("BACKUP LOG [sales]\n"));
    assert_eq!(
        restore(RestoreCheck::Verify, &statement, Some("3")),
        "RESTORE VERIFYONLY\nFROM DISK = N'E:\\b\\1.bak',\n   DISK = N'F:\\b\\2.bak'\nWITH FILE = 3,\n     CHECKSUM;\n"
    );
    assert!(!restore(RestoreCheck::FileList, &to(&["https://a/b/c.bak"]), Some("3")).contains("FILE ="));
}

#[test]
fn parts_stand_before_the_devices_and_mirrors_after_them() {
    let mut statement = disk();
    statement.parts.filegroups = vec!["OLD's".into()];
    statement.parts.read_write = true;
    statement.mirrors = vec![mirror(&statement, "M")];
    statement.media.format = true;
    assert_eq!(
        backup(&statement),
        "BACKUP DATABASE [sales]\nREAD_WRITE_FILEGROUPS,\nFILEGROUP = N'OLD''s'\nTO DISK = N'E:\\b\\sales.bak'\n\
         MIRROR TO DISK = N'M:\\it''s 0.bak'\nWITH FORMAT;\n"
    );
}

/// The story: a script that pasted names between quotes ran what somebody had named a database.
#[test]
fn no_name_ends_before_its_quotes() {
    let hostile = "x]; DROP DATABASE y; --' \n GO";
    let mut statement = to(&[hostile]);
    statement.database = hostile.into();
    statement.set.name = Some(hostile.into());
    statement.encryption = Some(BackupEncryption {
        algorithm: EncryptionAlgorithm::Aes256,
        encryptor: Encryptor::Certificate(hostile.into()),
    });
    let text = backup(&statement);
    assert_eq!(text.matches("[x]]; DROP DATABASE y; --' \n GO]").count(), 2, "{text}");
    assert_eq!(text.matches("N'x]; DROP DATABASE y; --'' \n GO'").count(), 2, "{text}");
    assert_eq!(without_quoted(&text).matches("DROP").count(), 0, "{text}");
}

/// What is left of a statement without everything in quotes and brackets.
fn without_quoted(text: &str) -> String {
    let (mut left, mut end) = (String::new(), None);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match end {
            Some(mark) if letter == mark && letters.peek() == Some(&mark) => {
                letters.next();
            }
            Some(mark) if letter == mark => end = None,
            Some(_) => {}
            None if letter == '\'' => end = Some('\''),
            None if letter == '[' => end = Some(']'),
            None => left.push(letter),
        }
    }
    left
}

/// As many files as `statement` has stripes.
fn mirror(statement: &BackupStatement, drive: &str) -> Vec<BackupDevice> {
    (0..statement.devices.len())
        .map(|number| BackupDevice::of(&format!(r"{drive}:\it's {number}.bak")))
        .collect()
}

type Change = fn(&mut BackupStatement);

/// Each option of a statement by itself.
fn options() -> Vec<Change> {
    fn with(
        statement: &mut BackupStatement,
        algorithm: CompressionAlgorithm,
        level: Option<CompressionLevel>,
    ) {
        statement.compression = Some(StatementCompression::Algorithm(algorithm, level));
    }
    fn encrypted(statement: &mut BackupStatement, algorithm: EncryptionAlgorithm, encryptor: Encryptor) {
        statement.encryption = Some(BackupEncryption { algorithm, encryptor });
    }
    vec![
        |s| s.kind = BackupKind::Differential,
        |s| s.kind = BackupKind::Log,
        |s| s.copy_only = true,
        |s| s.media.format = true,
        |s| s.media.overwrite = Some(Overwrite::Replace),
        |s| s.media.overwrite = Some(Overwrite::Append),
        |s| s.media.skip = Some(true),
        |s| s.media.skip = Some(false),
        |s| s.media.name = Some("Bänder 'alt'".into()),
        |s| s.media.description = Some("[media]".into()),
        |s| s.tape.no_rewind = true,
        |s| s.tape.no_unload = true,
        |s| s.errors.checksum = Some(true),
        |s| s.errors.checksum = Some(false),
        |s| s.errors.continue_after_error = Some(true),
        |s| s.errors.continue_after_error = Some(false),
        |s| s.set.name = Some("it's full".into()),
        |s| s.set.description = Some("two\nlines".into()),
        |s| s.set.expire_date = Some("20301231".into()),
        |s| s.set.retain_days = Some(14),
        |s| s.stats = Some(5),
        |s| s.transfer.block_bytes = Some(65_536),
        |s| s.transfer.buffer_count = Some(64),
        |s| s.transfer.transfer_bytes = Some(4 << 20),
        |s| s.compression = Some(StatementCompression::On),
        |s| s.compression = Some(StatementCompression::Off),
        |s| with(s, CompressionAlgorithm::MsXpress, None),
        |s| with(s, CompressionAlgorithm::QatDeflate, None),
        |s| with(s, CompressionAlgorithm::Zstd, Some(CompressionLevel::High)),
        |s| encrypted(s, EncryptionAlgorithm::Aes256, Encryptor::Certificate("backup] certificate".into())),
        |s| encrypted(s, EncryptionAlgorithm::TripleDes3Key, Encryptor::AsymmetricKey("key".into())),
        |s| s.log.no_truncate = true,
        |s| s.log.tail = Some(Tail::Restoring),
        |s| s.log.tail = Some(Tail::Standby(r"E:\undo.dat".into())),
        |s| s.credential = Some("storage 'key'".into()),
        |s| s.parts.files = vec!["sales's 2".into(), "sales_3".into()],
        |s| s.parts.filegroups = vec!["[ARCHIVE]".into()],
        |s| s.parts.read_write = true,
        |s| {
            s.mirrors = vec![mirror(s, "M"), mirror(s, "N")];
            s.media.format = true;
        },
    ]
}

/// Every option on every sort of device, and every pair of options on disks, where it is legal.
fn statements() -> Vec<BackupStatement> {
    let devices: [&[&str]; 6] = [
        &[r"E:\b\sales.bak"],
        &[r"E:\b\1.bak", r"\\host\share\it's 2.bak", "/var/opt/b/3.bak"],
        &["NUL"],
        &["https://acc.blob.core.windows.net/b/sales.bak"],
        &["https://acc.blob.core.windows.net/b/1.bak", "https://acc.blob.core.windows.net/b/2.bak"],
        &["s3://store:9000/b/sales.bak"],
    ];
    let options = options();
    let mut all = Vec::new();
    for device in devices {
        all.push(to(device));
        for option in &options {
            let mut statement = to(device);
            option(&mut statement);
            all.push(statement);
        }
    }
    for (index, first) in options.iter().enumerate() {
        for second in &options[index + 1..] {
            let mut statement = to(devices[index % 2]);
            statement.database = "[dbo] it's".into();
            first(&mut statement);
            second(&mut statement);
            all.push(statement);
        }
    }
    all.retain(|statement| refusals(statement, ServerVersion::V2025).is_empty());
    all
}

/// What the newest grammar that the lint has does not know: TO URL, and the algorithms of compression.
fn is_newer_than_the_parser(statement: &BackupStatement) -> bool {
    statement.is_to_url() || needs(statement).iter().any(|need| need.option.contains("COMPRESSION"))
}

/// One a line: the version, whether the parser is too old, the statement. Line ends within it are shown as a sign.
fn listed() -> String {
    let mut lines = Vec::new();
    for statement in statements() {
        let version = oldest_version(&statement);
        let newer = if is_newer_than_the_parser(&statement) { "newer" } else { "parsed" };
        let mut texts = vec![backup(&statement)];
        let plain = BackupStatement { devices: statement.devices.clone(), ..disk() };
        if statement == (BackupStatement { database: statement.database.clone(), ..plain }) {
            texts.extend(RestoreCheck::ALL.map(|check| restore(check, &statement, Some("2"))));
            texts.extend(statement.devices.iter().map(label));
            let name = format!("{} drill", statement.database);
            if newer == "parsed" {
                texts.extend(drill_statements(&statement, &name));
            }
            texts.push(trial(&BackupStatement { copy_only: true, ..statement.clone() }));
        }
        lines.extend(
            texts
                .into_iter()
                .map(|text| format!("{version}\t{newer}\t{}", text.trim_end().replace('\n', "␤"))),
        );
    }
    lines.sort();
    lines.dedup();
    lines.join("\n") + "\n"
}

/// The lint parses these with the grammar of their version. After a change of the options: `IOSTALL_WRITE_STATEMENTS=1` writes the
/// file again.
#[test]
fn the_statements_that_the_lint_parses_are_those_that_are_written() {
    let listed = listed();
    if std::env::var_os("IOSTALL_WRITE_STATEMENTS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tsql/lint/backup_statements.txt");
        std::fs::write(path, &listed).unwrap();
        return;
    }
    let parsed = listed.lines().filter(|line| line.contains("\tparsed\t")).count();
    assert!(parsed >= 300, "{parsed}");
    assert!(
        listed == PARSED,
        "IOSTALL_WRITE_STATEMENTS=1 cargo test -p iostall-session writes tsql/lint/backup_statements.txt"
    );
}

/// The story: two options that exclude each other were written into one statement, and the job failed every night.
#[test]
fn every_pair_of_options_is_either_legal_or_refused_with_a_sentence_that_says_what_to_do() {
    let options = options();
    let mut refused = 0;
    for version in ServerVersion::ALL {
        for (first, second) in
            options.iter().flat_map(|first| options.iter().map(move |second| (first, second)))
        {
            let mut statement = disk();
            first(&mut statement);
            second(&mut statement);
            let found = refusals(&statement, version);
            refused += usize::from(!found.is_empty());
            for refusal in &found {
                assert!(refusal.message.len() > 20 && !refusal.hint.is_empty(), "{refusal:?}");
                assert!(refusal.page.starts_with("https://learn.microsoft.com/"), "{refusal:?}");
            }
            let is_legal = found.is_empty();
            assert!(!is_legal || oldest_version(&statement) <= version, "{statement:?}");
            let text = without_quoted(&backup(&statement));
            let both = |one: &str, other: &str| text.contains(one) && text.contains(other);
            let contradicts =
                both("FORMAT", "NOINIT") || both("COPY_ONLY", "DIFFERENTIAL") || both("NOINIT", "ENCRYPTION");
            assert!(!(is_legal && contradicts), "{text}");
        }
    }
    assert!(refused > 100, "{refused}");
}
