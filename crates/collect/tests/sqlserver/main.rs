//! The client's path to SQL Server, end to end against a mock of it; and, where `IOSTALL_TEST_SQLSERVER_URL` names
//! one, against a real server with everything in `tsql/`.

mod entra;
mod history;
mod http;
mod real;
#[expect(dead_code, reason = "the program's own tests use the rest of it")]
mod server;
mod tls;
mod tokens;

use std::time::Duration;

use iostall_collect::{Address, Secret, Source, SourceError, open};
use iostall_model::{Change, Counter, ResetReason, Sample, WarningCode, delta};

use server::{Answer, PASSWORD, ResultSet, Server, USER};
use tls::Certificate;

/// Longer than any answer takes that comes.
const LIMIT: Duration = Duration::from_secs(600);

fn source_at(url: &str, password: &str, limit: Duration) -> Box<dyn Source> {
    let address: Address = url.parse().unwrap();
    open(address, Secret::typed(password.to_owned()), limit).unwrap()
}

fn source(server: &Server, parameters: &str) -> Box<dyn Source> {
    source_at(&format!("sqlserver://{USER}@127.0.0.1:{}{parameters}", server.port), PASSWORD, LIMIT)
}

/// A server that answers like a 2019 one did at the first of two moments.
fn server_of_2019(encrypt: Option<server::Encrypt>) -> Server {
    let server = Server::start(encrypt);
    server.answer_with("iostall:instance", include_str!("../../testdata/sqlserver/2019_instance_1.tsv"));
    server.answer_with("iostall:files", include_str!("../../testdata/sqlserver/2019_files_1.tsv"));
    server.answer_with("iostall:backups", NO_BACKUPS);
    server
}

/// A history without a database.
const NO_BACKUPS: &str = "written by a test\ndatabase\tname\tidentity\tage_ms\n";

fn second_moment(server: &Server) {
    server.answer_with("iostall:instance", include_str!("../../testdata/sqlserver/2019_instance_2.tsv"));
    server.answer_with("iostall:files", include_str!("../../testdata/sqlserver/2019_files_2.tsv"));
}

fn assert_is_whole(sample: &Sample) {
    assert_eq!((sample.epoch.instance.as_str(), sample.epoch.version), ("SQL19/", 15));
    assert_eq!(sample.taken.clock_ns, 500_000_000 * 1_000_000);
    assert_eq!(sample.rows.len(), 4);
    let file = &sample.rows[0];
    assert_eq!((file.subject.scope.name(), file.subject.name.as_str()), ("sales", r"E:\data\sales.mdf"));
    assert_eq!(file.subject.volume.as_deref(), Some(r"E:\"));
    assert_eq!(file.counters.get(Counter::ReadBytes), Some(8_192_000));
    assert_eq!(file.counters.get(Counter::Handle), Some(2700));
    assert_eq!(sample.rows[3].subject.volume, None, "NULL is no text");
}

#[test]
fn rows_arrive_with_their_types_and_their_nulls_and_two_samples_make_deltas() {
    let server = server_of_2019(None);
    let mut source = source(&server, "");
    let before = source.read().unwrap();
    assert_is_whole(&before);
    second_moment(&server);
    let now = source.read().unwrap();
    let changes = delta::compare(&before, &now);
    assert_eq!(changes[0].delta().unwrap().amounts.get(Counter::Reads), Some(600));
    assert_eq!(changes[2], Change::Reset(ResetReason::Reattach));
    assert_eq!(server.logins(), ["iostall@master"], "one connection, not by way of another database");
}

#[test]
fn a_result_of_many_packets_is_put_together() {
    let server = server_of_2019(None);
    let mut text = "written by a test\ndatabase\tname\tidentity\tvolume\treads\n".to_owned();
    for number in 0..5000 {
        let volume = if number % 3 == 0 { "\\N" } else { "Ω:\\" };
        text.push_str(&format!(
            "db{number}\tE:\\data\\file {number} — größer.mdf\t{number}/1\t{volume}\t{number}\n"
        ));
    }
    server.answer_with("iostall:files", &text);
    let sample = source(&server, "").read().unwrap();
    assert_eq!(sample.rows.len(), 5000);
    for (number, row) in (0_u64..).zip(&sample.rows) {
        assert_eq!(row.subject.name, format!("E:\\data\\file {number} — größer.mdf"));
        assert_eq!(row.subject.volume.is_none(), number % 3 == 0);
        assert_eq!(row.counters.get(Counter::Reads), Some(number));
    }
}

#[test]
fn a_wrong_password_is_told_from_a_server_that_is_not_there() {
    let server = server_of_2019(None);
    let url = format!("sqlserver://{USER}@127.0.0.1:{}", server.port);
    let error = source_at(&url, "guess", LIMIT).read().unwrap_err();
    assert!(matches!(&error, SourceError::Login { user, .. } if user == USER), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("Login failed for user 'iostall' (error 18456)"), "{message}");
    assert!(!message.contains("guess"), "{message}");
    let error = source_at("sqlserver://iostall@127.0.0.1:9", PASSWORD, LIMIT).read().unwrap_err();
    assert!(matches!(error, SourceError::Connect { .. }), "{error:?}");
}

#[test]
fn a_login_without_the_right_to_the_counters_is_told_which_one_and_how_to_get_it() {
    let server = server_of_2019(None);
    let state = "VIEW SERVER STATE permission was denied on object 'server', database 'master'.";
    let action = "The user does not have permission to perform this action.";
    server.answer("iostall:instance", Answer::Errors(vec![(300, state.into()), (297, action.into())]));
    let mut source = source(&server, "");
    let error = source.read().unwrap_err();
    assert!(matches!(error, SourceError::Denied { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("VIEW SERVER STATE permission was denied"), "{message}");
    assert!(error.hint().contains("iostall collect grants sqlserver"), "{}", error.hint());
    // Granted meanwhile: the same source reads, over a new connection.
    server.answer_with("iostall:instance", include_str!("../../testdata/sqlserver/2019_instance_1.tsv"));
    assert_is_whole(&source.read().unwrap());
}

#[test]
fn a_login_that_may_not_see_definitions_reads_and_is_warned() {
    let server = server_of_2019(None);
    server.answer_with("iostall:instance", include_str!("../../testdata/sqlserver/2008r2_instance.tsv"));
    server.answer_with("iostall:files", include_str!("../../testdata/sqlserver/2008r2_files.tsv"));
    let sample = source(&server, "").read().unwrap();
    assert_eq!(sample.warnings[0].code, WarningCode::MissingGrant);
    assert!(sample.warnings[0].message.contains("VIEW ANY DEFINITION"));
    assert_eq!(sample.rows[0].counters.get(Counter::QueuedReadStall), None);
}

#[test]
fn a_connection_that_breaks_is_an_error_with_its_reason_and_the_next_reading_connects_anew() {
    let server = server_of_2019(None);
    let mut source = source(&server, "");
    source.read().unwrap();
    server.answer("iostall:files", Answer::Gone);
    let said = source.read().unwrap_err().to_string();
    assert!(said.contains("127.0.0.1"), "{said}");
    assert!(said.contains("iostall:files"), "the query that was under way is named: {said}");
    second_moment(&server);
    assert_eq!(source.read().unwrap().rows.len(), 5);
    assert!(server.logins().len() >= 2, "{:?}", server.logins());
}

/// A firewall that cuts idle connections cost a sample each time: the next tick connected again.
#[test]
fn a_connection_that_was_cut_while_it_was_idle_is_made_again_within_the_reading() {
    let server = server_of_2019(None);
    let mut source = source(&server, "");
    source.read().unwrap();
    // The connection is only found dead when it is used.
    server.end_connections();
    assert_is_whole(&source.read().unwrap());
    assert_eq!(server.logins().len(), 2);
}

/// Azure's gateway answers a login with the address of another server, which was an error.
#[test]
fn a_server_that_sends_its_clients_on_is_followed_but_not_for_ever() {
    let (gateway, node) = (Server::start(None), server_of_2019(None));
    gateway.redirect_to(node.port);
    assert_is_whole(&source(&gateway, "").read().unwrap());
    assert_eq!(node.logins(), ["iostall@master"]);
    gateway.redirect_to(gateway.port);
    let said = source(&gateway, "").read().unwrap_err().to_string();
    assert!(said.contains("without an end"), "{said}");
}

/// The clock was read in one statement and the counters in another: with a pause between them a rate of 1,000 a second was
/// shown as 780 to 1,397.
#[test]
fn the_length_of_an_interval_is_that_between_the_readings_of_the_counters() {
    let server = Server::start(None);
    let mut source = source(&server, "");
    let mut read = |now_ms: u64, sample_ms: i64, reads: u64| {
        let instance = "version\tedition\tinstance\tnow_ms\tstart_ms\tsees_definitions";
        let files = "database\tname\tidentity\tsample_ms\treads";
        server.answer_with("iostall:instance", &format!("a test\n{instance}\n12\t3\tS/\t{now_ms}\t100\t1\n"));
        server.answer_with(
            "iostall:files",
            &format!("a test\n{files}\nd\tE:\\a.mdf\t5/1\t{sample_ms}\t{reads}\n"),
        );
        source.read().unwrap()
    };
    // 2014: the clock in the rows is an INT, and has passed its end.
    let now_ms = (1_u64 << 32) + (1 << 31) + 5_000;
    let wrapped = i64::from(i32::MIN) + 5_000;
    let first = read(now_ms, wrapped + 40, 0);
    assert_eq!(first.taken.clock_ns / 1_000_000, now_ms + 40);
    let second = read(now_ms + 10_000, wrapped + 10_300, 10_260);
    let changes = delta::compare(&first, &second);
    let rate = changes[0].delta().unwrap().per_second(Counter::Reads).unwrap();
    assert!((rate - 1_000.0).abs() < 1e-6, "{rate}");
}

const VOLUMES: &str = "written by a test\nfile\tvolume\n5/1\tE:\\\n5/2\tL:\\\n6/1\t\n";
const FILES: &str = "written by a test\ndatabase\tname\tidentity\treads\n\
    sales\tE:\\data\\sales.mdf\t5/1/6f1c/2024\t1\nsales\tL:\\log\\sales.ldf\t5/2/77aa/2024\t1\n\
    stock\t/var/opt/mssql/data/stock.mdf\t6/1/91bb/2024\t1\n";

/// One volume that hung made every reading of its server time out.
#[test]
fn a_volume_that_hangs_costs_the_volumes_and_not_the_counters() {
    let server = server_of_2019(None);
    server.answer_with("iostall:files", FILES);
    server.answer("iostall:volumes", Answer::Nothing);
    let url = format!("sqlserver://{USER}@127.0.0.1:{}", server.port);
    let mut source = source_at(&url, PASSWORD, LIMIT);
    let sample = source.read().unwrap();
    assert_eq!(sample.rows.len(), 3);
    assert!(
        sample.warnings.iter().any(|warning| warning.message.contains("a volume may hang")),
        "{sample:?}"
    );
    // It is not asked again at once.
    assert_eq!(source.read().unwrap().rows.len(), 3);
    assert_eq!(server.logins().len(), 2, "the connection that waits is of no use any more");
}

const COUNTERS: &str = "written by a test\ndatabase\tname\tidentity\treads\n\
    database 5\tfile 1\t5/1\t10\ndatabase 5\tfile 2\t5/2\t20\n";
const NAMES: &str = "written by a test\ndatabase\tname\tidentity\tage_ms\n\
    sales\tE:\\data\\sales.mdf\t5/1/6f1c/2024\t86400000\n";

/// The story: CREATE DATABASE held a lock in master for a quarter of an hour, names and counters were one statement, and of that time nothing
/// is known of any file.
#[test]
fn a_lock_in_master_costs_the_names_and_not_the_counters() {
    let server = server_of_2019(None);
    server.answer_with("iostall:files", COUNTERS);
    server.answer_with("iostall:names", NAMES);
    let mut source = source(&server, "");
    let before = source.read().unwrap();
    assert_eq!(before.rows[0].subject.name, r"E:\data\sales.mdf");
    assert_eq!(before.rows[0].age_ms, Some(86_400_000));
    assert_eq!(before.rows[1].subject.name, "file 2", "master does not list it");
    // The lock, and a file that came meanwhile.
    server.answer_with("iostall:files", &format!("{COUNTERS}database 7\tfile 1\t7/1\t5\n"));
    server.answer(
        "iostall:names",
        Answer::Errors(vec![(1222, "Lock request time out period exceeded.".into())]),
    );
    let during = source.read().unwrap();
    let names: Vec<_> = during.rows.iter().map(|row| row.subject.name.as_str()).collect();
    assert_eq!(names, [r"E:\data\sales.mdf", "file 2"], "what has no name yet is counted once it has one");
    assert_eq!(during.rows[0].subject, before.rows[0].subject, "its counters go on");
    let said: Vec<_> = during.warnings.iter().filter(|one| one.code == WarningCode::NotCounted).collect();
    assert!(said[0].message.contains("1222") && said[0].message.contains("1 new files"), "{said:?}");
    // Nothing that hangs is waited for each time.
    source.read().unwrap();
    assert_eq!(server.count("iostall:names"), 2);
}

/// The story: one statement about settings was late, and three safety rules said nothing more for the rest of the day.
#[test]
fn a_statement_that_does_not_answer_silences_no_other() {
    let server = server_of_2019(None);
    server.answer("iostall:settings_volumes", Answer::Gone);
    server.answer_with("iostall:settings_fragments", "\nsubject\tname\tvalue\nlog sales\tfragments\t7");
    let all = source(&server, "").settings().unwrap();
    let unread = |subject: &str| all.iter().any(|setting| setting.hides(subject));
    assert!(unread("volume E:\\") && !unread("log sales") && !unread("backups sales"), "{all:?}");
    assert!(all.iter().any(|setting| setting.subject == "log sales" && setting.value == "7"), "{all:?}");
    assert_eq!(server.logins().len(), 2, "one more for what came after");
}

/// The story: the warning came of a right that the login lacked, at every run, beside a table with all names.
#[test]
fn names_that_are_there_are_not_said_to_be_missing() {
    let server = server_of_2019(None);
    server.answer_with("iostall:instance", include_str!("../../testdata/sqlserver/2008r2_instance.tsv"));
    server.answer_with("iostall:files", FILES);
    let sample = source(&server, "").read().unwrap();
    assert!(sample.warnings.iter().all(|one| one.code != WarningCode::MissingGrant), "{:?}", sample.warnings);
}

/// An empty mount point, as on Linux, was a volume without a name.
#[test]
fn each_file_lies_on_its_volume_or_in_its_directory() {
    let server = server_of_2019(None);
    server.answer_with("iostall:files", FILES);
    server.answer_with("iostall:volumes", VOLUMES);
    let sample = source(&server, "").read().unwrap();
    let volumes: Vec<_> = sample.rows.iter().map(|row| row.subject.volume.as_deref()).collect();
    assert_eq!(volumes, [Some("E:\\"), Some("L:\\"), Some("/var/opt/mssql/data")]);
    assert!(sample.warnings.is_empty(), "{:?}", sample.warnings);
}

#[test]
fn a_volume_is_known_by_its_id_on_its_machine() {
    let server = server_of_2019(None);
    server.answer_with("iostall:files", FILES);
    let answer = "written by a test\nfile\tvolume\tvolume_id\tmachine\n\
        5/1\tE:\\\t\\\\?\\Volume{6A1D}\\\tNODE1\n5/2\tL:\\\t\\N\tNODE1\n6/1\t\t\tNODE1\n";
    server.answer_with("iostall:volumes", answer);
    let mut source = source(&server, "");
    source.read().unwrap();
    let placed = source.placements();
    assert_eq!((placed.len(), placed[0].volume.as_str()), (1, "E:\\"), "{placed:?}");
    let device = &placed[0].devices[0];
    assert_eq!((device.kind.name(), device.identity.as_str()), ("sqlserver-volume", "node1/volume{6a1d}"));
}

#[test]
fn a_server_that_says_nothing_is_waited_for_no_longer_than_asked() {
    let server = server_of_2019(None);
    server.answer("iostall:files", Answer::Nothing);
    let url = format!("sqlserver://{USER}@127.0.0.1:{}", server.port);
    let mut source = source_at(&url, PASSWORD, Duration::from_secs(2));
    let error = source.read().unwrap_err();
    assert!(matches!(error, SourceError::TimedOut { .. }), "{error:?}");
    let logins = server.logins().len();
    // The connection is out of step now: the next reading makes another. Two seconds may be too short for that as well on a
    // machine that stands still.
    second_moment(&server);
    let read = || match source.read() {
        Err(SourceError::TimedOut { .. }) => None,
        answer => Some(answer.unwrap()),
    };
    let sample = std::iter::repeat_with(read).take(100).flatten().next();
    assert_eq!(sample.expect("an answer in time").rows.len(), 5);
    assert!(server.logins().len() > logins, "{:?}", server.logins());
}

#[test]
fn each_version_is_asked_for_the_columns_it_has_and_for_no_others() {
    let queued = "io_stall_queued_read_ms";
    let one_database = "dm_io_virtual_file_stats(DB_ID()";
    for (instance, files, has, lacks) in [
        (
            include_str!("../../testdata/sqlserver/2008r2_instance.tsv"),
            include_str!("../../testdata/sqlserver/2008r2_files.tsv"),
            &[][..],
            &[queued, one_database][..],
        ),
        (
            include_str!("../../testdata/sqlserver/2012_instance.tsv"),
            include_str!("../../testdata/sqlserver/2012_files.tsv"),
            &[],
            &[queued, one_database],
        ),
        (
            include_str!("../../testdata/sqlserver/2019_instance_1.tsv"),
            include_str!("../../testdata/sqlserver/2019_files_1.tsv"),
            &[queued],
            &[one_database],
        ),
        (
            include_str!("../../testdata/sqlserver/azure_instance.tsv"),
            include_str!("../../testdata/sqlserver/azure_files.tsv"),
            &[queued, one_database],
            &["sys.databases AS d ON d.database_id"],
        ),
    ] {
        let server = Server::start(None);
        server.answer_with("iostall:instance", instance);
        server.answer_with("iostall:files", files);
        let sample = source(&server, "").read().unwrap();
        let named = &sample.epoch.instance;
        for part in has {
            assert!(server.was_asked("iostall:files", part), "{named}: {part}");
        }
        for part in lacks {
            assert!(!server.was_asked("iostall:files", part), "{named}: {part}");
        }
        let row = &sample.rows[0];
        assert_eq!(row.counters.get(Counter::QueuedReadStall).is_some(), has.contains(&queued), "{named}");
        let asks_for_volumes = server.was_asked("iostall:volumes", "dm_os_volume_stats");
        assert_eq!(asks_for_volumes, matches!(sample.epoch.version, 11 | 15), "{named}");
    }
}

#[test]
fn a_server_older_than_its_counters_is_named_as_such() {
    let server = server_of_2019(None);
    let old = "written by a test\nversion\tedition\tinstance\tnow_ms\tstart_ms\tsees_definitions\n9\t3\tOLD/\t1\t1\t1\n";
    server.answer_with("iostall:instance", old);
    let error = source(&server, "").read().unwrap_err();
    assert!(matches!(error, SourceError::TooOld { .. }), "{error:?}");
}

#[test]
fn encryption_is_believed_with_the_authority_or_without_asking_and_not_otherwise() {
    let certificate = Certificate::new();
    let server = server_of_2019(Some(certificate.encrypt.clone()));
    let with_authority = format!("?ca={}", certificate.path().display());
    for parameters in [with_authority.as_str(), "?tls=unverified"] {
        assert_is_whole(&source(&server, parameters).read().unwrap());
    }
    // Neither the system's authorities nor those of another server know this certificate.
    let other = Certificate::new();
    let with_another = format!("?ca={}", other.path().display());
    for parameters in ["?tls=on", with_another.as_str()] {
        let error = source(&server, parameters).read().unwrap_err();
        assert!(matches!(error, SourceError::Certificate { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.ends_with("it was not issued by a trusted authority"), "{message}");
        let hint = error.hint();
        assert!(hint.contains("?ca=FILE") && hint.contains("?tls=unverified"), "{hint}");
        assert!(!message.contains("Config::"), "advice for programmers: {message}");
    }
}

#[test]
fn a_certificate_for_another_name_is_refused_even_with_its_authority() {
    let certificate = Certificate::new();
    let server = server_of_2019(Some(certificate.encrypt.clone()));
    let url = format!("sqlserver://{USER}@localhost:{}?ca={}", server.port, certificate.path().display());
    let error = source_at(&url, PASSWORD, LIMIT).read().unwrap_err();
    assert!(matches!(error, SourceError::Certificate { .. }), "{error:?}");
    assert!(error.to_string().ends_with("it is for 127.0.0.1"), "{error}");
}

/// A server, or whoever answers in its place, filled the memory of a collector in seconds: it never ended its answer.
#[test]
fn a_mock_server_that_never_ends_its_answer_is_left_with_the_reason() {
    let server = server_of_2019(None);
    let rows = "written by a test\nname\treads\nE:\\a.mdf\t1\n";
    server.answer("iostall:files", Answer::Endless(ResultSet::from_tsv(rows)));
    let error = source(&server, "").read().unwrap_err();
    assert!(matches!(error, SourceError::TooMuch { .. }), "{error:?}");
    assert!(
        error.to_string().contains("200000 rows") && error.hint().contains("the right server"),
        "{error}"
    );
}

/// Windows exports certificates in DER form under the name `.cer`; they were refused.
#[test]
fn a_certificate_as_windows_exports_it_is_believed() {
    let certificate = Certificate::new();
    let server = server_of_2019(Some(certificate.encrypt.clone()));
    let parameters = format!("?ca={}", certificate.exported().display());
    assert_is_whole(&source(&server, &parameters).read().unwrap());
}

#[test]
fn a_server_that_cannot_encrypt_never_sees_the_password_of_a_login_that_wants_it() {
    let server = server_of_2019(None);
    let error = source(&server, "?tls=on").read().unwrap_err();
    assert!(matches!(error, SourceError::Connect { .. }), "{error:?}");
    assert!(server.logins().is_empty());
}
