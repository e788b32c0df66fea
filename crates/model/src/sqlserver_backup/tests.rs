use super::*;

fn disk() -> BackupStatement {
    BackupStatement {
        database: "sales".into(),
        devices: vec![BackupDevice::of(r"E:\b\sales.bak")],
        ..BackupStatement::default()
    }
}

fn to(devices: &[&str]) -> BackupStatement {
    BackupStatement { devices: devices.iter().map(|text| BackupDevice::of(text)).collect(), ..disk() }
}

fn with(change: impl FnOnce(&mut BackupStatement)) -> BackupStatement {
    let mut statement = disk();
    change(&mut statement);
    statement
}

fn blob() -> BackupStatement {
    to(&["https://acc.blob.core.windows.net/b/sales.bak"])
}

fn encrypted() -> BackupEncryption {
    BackupEncryption {
        algorithm: EncryptionAlgorithm::Aes256,
        encryptor: Encryptor::Certificate("backups".into()),
    }
}

/// A sentence that names both, a way out, and Microsoft's page.
#[track_caller]
fn assert_refused(statement: &BackupStatement, version: ServerVersion, words: &[&str]) {
    let found = refusals(statement, version);
    let fitting = found.iter().find(|refusal| words.iter().all(|word| refusal.message.contains(word)));
    let refusal = fitting.unwrap_or_else(|| panic!("{words:?} is not in {found:?}"));
    assert!(
        !refusal.hint.is_empty() && refusal.page.starts_with("https://learn.microsoft.com/"),
        "{refusal:?}"
    );
}

/// The story: each of these pairs is a statement that somebody wrote, and the server refused it at night, ignored half of it, or did
/// harm with it.
#[test]
fn pairs_that_exclude_each_other_are_refused_with_what_to_do() {
    let newest = ServerVersion::V2025;
    let tail = || Some(Tail::Restoring);
    let pairs: Vec<(BackupStatement, [&str; 2])> = vec![
        (
            with(|s| (s.media.format, s.media.overwrite) = (true, Some(Overwrite::Append))),
            ["FORMAT", "NOINIT"],
        ),
        (
            with(|s| (s.media.format, s.media.overwrite) = (true, Some(Overwrite::Replace))),
            ["FORMAT", "INIT"],
        ),
        (to(&[r"\\.\Tape0"]), ["Tape0", "tape"]),
        (with(|s| (s.media.format, s.media.skip) = (true, Some(false))), ["FORMAT", "NOSKIP"]),
        (
            with(|s| (s.set.expire_date, s.set.retain_days) = (Some("20301231".into()), Some(3))),
            ["EXPIREDATE", "RETAINDAYS"],
        ),
        (with(|s| (s.kind, s.copy_only) = (BackupKind::Differential, true)), ["COPY_ONLY", "differential"]),
        (with(|s| s.log.tail = tail()), ["NORECOVERY", "only for backups of the log"]),
        (with(|s| s.log.no_truncate = true), ["NO_TRUNCATE", "only for backups of the log"]),
        (
            with(|s| (s.kind, s.copy_only, s.log.tail) = (BackupKind::Log, true, tail())),
            ["tail of the log", "COPY_ONLY"],
        ),
        (
            with(|s| (s.encryption, s.media.overwrite) = (Some(encrypted()), Some(Overwrite::Append))),
            ["ENCRYPTION", "NOINIT"],
        ),
        (
            with(|s| {
                let algorithm = CompressionAlgorithm::MsXpress;
                s.compression = Some(StatementCompression::Algorithm(algorithm, Some(CompressionLevel::Low)));
            }),
            ["LEVEL", "MS_XPRESS"],
        ),
        (with(|s| s.credential = Some("key".into())), ["CREDENTIAL", "URL"]),
        (
            BackupStatement { set: BackupSetOptions { retain_days: Some(3), ..disk().set }, ..blob() },
            ["RETAINDAYS", "URL"],
        ),
        (
            BackupStatement {
                media: MediaOptions { overwrite: Some(Overwrite::Replace), ..disk().media },
                ..blob()
            },
            ["INIT", "URL"],
        ),
        (
            BackupStatement { media: MediaOptions { skip: Some(true), ..disk().media }, ..blob() },
            ["SKIP", "URL"],
        ),
        (
            BackupStatement { tape: TapeOptions { no_rewind: true, no_unload: false }, ..blob() },
            ["NOREWIND", "URL"],
        ),
        (
            BackupStatement {
                credential: Some("key".into()),
                transfer: TransferOptions { block_bytes: Some(4096), ..TransferOptions::default() },
                ..blob()
            },
            ["BLOCKSIZE", "CREDENTIAL"],
        ),
        (to(&["https://a/1.bak", "s3://b/2.bak", r"E:\3.bak"]), ["files", "URLs"]),
        (to(&["NUL", r"E:\b\2.bak"]), ["NUL", "every stripe"]),
        (to(&[r"E:\b\A.bak", r"e:\B\a.BAK"]), ["named twice", "file of its own"]),
    ];
    for (statement, words) in &pairs {
        assert_refused(statement, newest, words);
    }
}

/// The story: a speed test to NUL became the base of that night's differential backups, which nobody could restore.
#[test]
fn a_backup_to_nul_needs_copy_only() {
    let mut nul = to(&["nul:", "NUL"]);
    assert_refused(&nul, ServerVersion::V2008R2, &["NUL", "differential"]);
    nul.copy_only = true;
    assert_eq!(refusals(&nul, ServerVersion::V2008R2), []);
    nul = BackupStatement { kind: BackupKind::Log, ..to(&["NUL"]) };
    assert_refused(&nul, ServerVersion::V2025, &["NUL", "chain"]);
    assert_eq!(BackupDevice::of(r"E:\NUL.bak"), BackupDevice::Disk(r"E:\NUL.bak".into()));
}

#[test]
fn sizes_are_those_that_the_server_takes() {
    let transfer = |bytes| with(|s| s.transfer.transfer_bytes = Some(bytes));
    for bytes in [65_536, 131_072, 1 << 20, 4 << 20] {
        assert_eq!(refusals(&transfer(bytes), ServerVersion::V2008R2), [], "{bytes}");
    }
    for bytes in [0, 1, 65_535, 65_537, 100_000, (4 << 20) + 65_536, u64::MAX] {
        assert_refused(&transfer(bytes), ServerVersion::V2025, &["MAXTRANSFERSIZE"]);
    }
    for bytes in (9..=16).map(|power| 1 << power) {
        assert_eq!(refusals(&with(|s| s.transfer.block_bytes = Some(bytes)), ServerVersion::V2008R2), []);
    }
    for bytes in [0, 256, 513, 1000, 131_072] {
        assert_refused(&with(|s| s.transfer.block_bytes = Some(bytes)), ServerVersion::V2025, &["BLOCKSIZE"]);
    }
    assert_refused(&with(|s| s.transfer.buffer_count = Some(0)), ServerVersion::V2025, &["BUFFERCOUNT"]);
    let mut object = to(&["s3://store/b/sales.bak"]);
    object.transfer.transfer_bytes = Some(10 << 20);
    assert_refused(&object, ServerVersion::V2022, &["together with COMPRESSION"]);
    object.compression = Some(StatementCompression::On);
    assert_eq!(refusals(&object, ServerVersion::V2022), []);
    object.transfer.transfer_bytes = Some(4 << 20);
    assert_refused(&object, ServerVersion::V2022, &["S3-compatible"]);
}

#[test]
fn names_and_stripes_have_limits() {
    let many: Vec<String> = (0..65).map(|number| format!("E:\\{number}.bak")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(refusals(&to(&many[..64]), ServerVersion::V2008R2), []);
    assert_refused(&to(&many), ServerVersion::V2025, &["65 stripes", "64"]);
    assert_refused(&to(&[]), ServerVersion::V2025, &["no device"]);
    assert_refused(&with(|s| s.database = String::new()), ServerVersion::V2025, &["no name"]);
    assert_refused(&with(|s| s.database = "a\0b".into()), ServerVersion::V2025, &["NUL", "T-SQL"]);
    assert_refused(&with(|s| s.set.name = Some("€".repeat(129))), ServerVersion::V2025, &["NAME", "129"]);
    assert_eq!(refusals(&with(|s| s.set.name = Some("€".repeat(128))), ServerVersion::V2025), []);
    assert_refused(&with(|s| s.stats = Some(0)), ServerVersion::V2025, &["STATS"]);
    assert_refused(&with(|s| s.database = "TempDB".into()), ServerVersion::V2025, &["tempdb"]);
}

#[test]
fn what_a_version_does_not_know_is_refused_with_the_version_that_does() {
    let zstd = with(|s| {
        let (algorithm, level) = (CompressionAlgorithm::Zstd, Some(CompressionLevel::High));
        s.compression = Some(StatementCompression::Algorithm(algorithm, level));
    });
    let known_since = [
        (disk(), ServerVersion::V2008R2),
        (BackupStatement { credential: Some("key".into()), ..blob() }, ServerVersion::V2012),
        (with(|s| s.encryption = Some(encrypted())), ServerVersion::V2014),
        (blob(), ServerVersion::V2016),
        (to(&["s3://store/b/sales.bak"]), ServerVersion::V2022),
        (zstd, ServerVersion::V2025),
    ];
    for (statement, since) in known_since {
        assert_eq!(oldest_version(&statement), since, "{statement:?}");
        for version in ServerVersion::ALL {
            assert_eq!(
                refusals(&statement, version).is_empty(),
                version >= since,
                "{version}: {statement:?}"
            );
        }
    }
    assert_eq!("2008r2".parse(), Ok(ServerVersion::V2008R2));
    assert!("7.0".parse::<ServerVersion>().unwrap_err().to_string().contains("2008R2"));
    let majors = [9, 10, 16, 99].map(ServerVersion::of_major);
    assert_eq!(
        majors,
        [None, Some(ServerVersion::V2008R2), Some(ServerVersion::V2022), Some(ServerVersion::V2025)]
    );
}

fn facts(version: ServerVersion) -> ServerFacts {
    ServerFacts {
        version,
        engine_edition: 3,
        edition: "Enterprise Edition (64-bit)".into(),
        recovery_model: Some(RecoveryModel::Full),
        state: "ONLINE".into(),
        ..ServerFacts::default()
    }
}

#[track_caller]
fn assert_server_refuses(statement: &BackupStatement, facts: &ServerFacts, word: &str) {
    let found = refusals_of_server(statement, facts);
    assert!(found.iter().any(|refusal| refusal.message.contains(word)), "{word}: {found:?}");
}

#[test]
fn what_the_server_and_the_database_do_not_allow_is_refused_before_it_begins() {
    let now = facts(ServerVersion::V2019);
    assert_eq!(refusals_of_server(&disk(), &now), []);
    let log = with(|s| s.kind = BackupKind::Log);
    assert_eq!(refusals_of_server(&log, &now), []);
    let simple = ServerFacts { recovery_model: Some(RecoveryModel::Simple), ..now.clone() };
    assert_server_refuses(&log, &simple, "SIMPLE");
    assert_server_refuses(&disk(), &ServerFacts { recovery_model: None, ..now.clone() }, "no database");
    assert_server_refuses(&disk(), &ServerFacts { state: "RESTORING".into(), ..now.clone() }, "RESTORING");
    assert_server_refuses(&disk(), &ServerFacts { is_snapshot: true, ..now.clone() }, "snapshot");
    assert_server_refuses(&disk(), &ServerFacts { engine_edition: 5, ..now.clone() }, "no BACKUP statement");
    assert_server_refuses(&disk(), &ServerFacts { engine_edition: 8, ..now.clone() }, "Managed Instance");
    let express = ServerFacts { engine_edition: 4, edition: "Express Edition (64-bit)".into(), ..now };
    assert_server_refuses(&with(|s| s.compression = Some(StatementCompression::On)), &express, "Express");
    assert_server_refuses(&with(|s| s.encryption = Some(encrypted())), &express, "encrypted");
}

/// The story: a compressed backup of an encrypted database was as large as the database, since its MAXTRANSFERSIZE was the default.
#[test]
fn compression_of_an_encrypted_database_needs_a_larger_transfer_before_2019_cu5() {
    let compressed = with(|s| s.compression = Some(StatementCompression::On));
    let larger = BackupStatement {
        transfer: TransferOptions { transfer_bytes: Some(131_072), ..TransferOptions::default() },
        ..compressed.clone()
    };
    let of = |version, build| ServerFacts { build, is_encrypted: true, ..facts(version) };
    for before in [of(ServerVersion::V2016, 0), of(ServerVersion::V2019, 4043)] {
        assert_server_refuses(&compressed, &before, "MAXTRANSFERSIZE above 64K");
        assert_eq!(refusals_of_server(&larger, &before), []);
        assert_eq!(refusals_of_server(&disk(), &before), []);
    }
    assert_server_refuses(&larger, &of(ServerVersion::V2014, 0), "saves nothing");
    for after in [of(ServerVersion::V2019, 4053), of(ServerVersion::V2022, 0)] {
        assert_eq!(refusals_of_server(&compressed, &after), []);
    }
}

#[test]
fn a_secondary_takes_what_its_version_allows() {
    let secondary = |version| ServerFacts { is_secondary: true, ..facts(version) };
    let of = |kind, copy_only| with(|s| (s.kind, s.copy_only) = (kind, copy_only));
    let before = secondary(ServerVersion::V2022);
    assert_server_refuses(&of(BackupKind::Full, false), &before, "COPY_ONLY");
    assert_server_refuses(&of(BackupKind::Differential, false), &before, "differential");
    assert_server_refuses(&of(BackupKind::Log, true), &before, "COPY_ONLY");
    assert_eq!(refusals_of_server(&of(BackupKind::Full, true), &before), []);
    assert_eq!(refusals_of_server(&of(BackupKind::Log, false), &before), []);
    for kind in [BackupKind::Full, BackupKind::Differential, BackupKind::Log] {
        assert_eq!(refusals_of_server(&of(kind, false), &secondary(ServerVersion::V2025)), []);
    }
}

fn mirrored(mirrors: &[&[&str]]) -> BackupStatement {
    let of = |devices: &&[&str]| devices.iter().map(|text| BackupDevice::of(text)).collect();
    BackupStatement {
        mirrors: mirrors.iter().map(of).collect(),
        media: MediaOptions { format: true, ..MediaOptions::default() },
        ..disk()
    }
}

/// The story: the mirror was named without FORMAT, and the job failed each night until somebody read its log.
#[test]
fn mirrors_are_of_the_same_kind_and_number_and_are_made_with_format() {
    let newest = ServerVersion::V2025;
    let good = mirrored(&[&[r"F:\m\1.bak"], &[r"G:\m\1.bak"]]);
    assert_eq!(refusals(&good, ServerVersion::V2008R2), []);
    let append = MediaOptions { overwrite: Some(Overwrite::Append), ..MediaOptions::default() };
    assert_eq!(refusals(&BackupStatement { media: append, ..good.clone() }, newest), []);
    assert_refused(
        &BackupStatement { media: MediaOptions::default(), ..good.clone() },
        newest,
        &["mirrored", "FORMAT"],
    );
    assert_refused(&mirrored(&[&[r"F:\1.bak", r"F:\2.bak"]]), newest, &["as many devices", "1"]);
    assert_refused(&mirrored(&[&["https://acc/b/1.bak"]]), newest, &["MIRROR TO", "only for files"]);
    assert_refused(&mirrored(&[&["NUL"]]), newest, &["MIRROR TO", "NUL"]);
    assert_refused(&mirrored(&[&[r"e:\B\SALES.bak"]]), newest, &["named twice"]);
    let many: [&[&str]; 4] = [&["/1"], &["/2"], &["/3"], &["/4"]];
    assert_refused(&mirrored(&many), newest, &["4 mirrors"]);
    let enterprise = facts(ServerVersion::V2019);
    assert_eq!(refusals_of_server(&good, &enterprise), []);
    let standard =
        ServerFacts { engine_edition: 2, edition: "Standard Edition (64-bit)".into(), ..enterprise };
    assert_server_refuses(&good, &standard, "only Enterprise");
}

#[test]
fn parts_of_a_database_are_files_or_filegroups_and_never_of_the_log() {
    let newest = ServerVersion::V2025;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let of = |files: &[&str], filegroups: &[&str], read_write| {
        with(|s| s.parts = BackupParts { files: names(files), filegroups: names(filegroups), read_write })
    };
    for good in [of(&["sales_2"], &["ARCHIVE"], false), of(&[], &["ARCHIVE"], true), of(&[], &[], true)] {
        assert_eq!(refusals(&good, ServerVersion::V2008R2), [], "{good:?}");
    }
    assert_refused(&of(&["sales_2"], &[], true), newest, &["READ_WRITE_FILEGROUPS", "FILE"]);
    assert_refused(&of(&["a", "A"], &[], false), newest, &["named twice"]);
    assert_refused(&of(&[""], &[], false), newest, &["FILE or FILEGROUP has no name"]);
    let log = BackupStatement { kind: BackupKind::Log, ..of(&["a"], &[], false) };
    assert_refused(&log, newest, &["FILEGROUP", "log"]);
    let master = BackupStatement { database: "Master".into(), ..of(&[], &[], true) };
    assert_refused(&master, newest, &["master", "all of it"]);
    let managed = ServerFacts { engine_edition: 8, ..facts(newest) };
    let blob = BackupStatement { copy_only: true, parts: of(&["a"], &[], false).parts, ..blob() };
    assert_server_refuses(&blob, &managed, "Managed Instance");
}

/// The story: BUFFERCOUNT = 100000 with buffers of 4 MiB asked the server for 390 GiB, and only a remark in the T-SQL said so.
#[test]
fn buffers_beyond_all_measure_and_a_backup_without_checksums_are_cautioned() {
    let checked = || with(|s| s.errors.checksum = Some(true));
    assert_eq!(cautions(&checked()), []);
    let mut large = checked();
    (large.transfer.buffer_count, large.transfer.transfer_bytes) = (Some(100_000), Some(4 << 20));
    assert!(cautions(&large)[0].message.contains("BUFFERCOUNT"));
    assert!(cautions(&disk())[0].message.contains("CHECKSUM"));
}

/// The story: a newer server was told to write a multiple of 64K up to 4M, which is the rule of the older ones.
#[test]
fn what_a_blob_takes_in_one_transfer_goes_by_the_version() {
    let transfer = |bytes| {
        let mut statement = blob();
        statement.transfer.transfer_bytes = Some(bytes);
        statement
    };
    assert_eq!(refusals(&transfer(20 << 20), ServerVersion::V2022), []);
    assert_refused(&transfer(20 << 20), ServerVersion::V2019, &["MAXTRANSFERSIZE"]);
    assert_refused(&transfer(21 << 20), ServerVersion::V2025, &["MAXTRANSFERSIZE"]);
}

#[test]
fn stripes_of_two_kinds_of_store_and_dates_that_depend_on_a_language_are_refused() {
    let both = to(&["s3://s/b/1.bak", "https://acc.blob.core.windows.net/b/2.bak"]);
    assert_refused(&both, ServerVersion::V2025, &["S3-compatible store and elsewhere"]);
    let dated = with(|s| s.set.expire_date = Some("2030-12-31".into()));
    assert_refused(&dated, ServerVersion::V2025, &["EXPIREDATE", "language"]);
}

#[test]
fn services_of_the_cloud_have_what_is_newest_whatever_number_they_say() {
    for service in [5, 6, 8, 11, 12] {
        assert_eq!(version_of(service, 12), Some(ServerVersion::V2025), "{service}");
    }
    assert_eq!((version_of(3, 12), version_of(3, 9)), (Some(ServerVersion::V2014), None));
}
