//! Reading what a management database sampled, from the mock.

use iostall_collect::{Address, History, Position, Secret, SourceError};
use iostall_model::{Change, Counter, ResetReason, delta};
use jiff::Timestamp;

use crate::LIMIT;
use crate::server::{Answer, PASSWORD, Server, USER};

const SAMPLES: &str = include_str!("../../testdata/sqlserver/history_samples.tsv");
const NO_SAMPLES: &str = include_str!("../../testdata/sqlserver/history_samples_none.tsv");
const FILES: &str = include_str!("../../testdata/sqlserver/history_files.tsv");

fn server() -> Server {
    let server = Server::start(None);
    server
        .answer_with("iostall:history_filters", include_str!("../../testdata/sqlserver/history_filters.tsv"));
    server.answer_once("iostall:history_samples", SAMPLES);
    server.answer_with("iostall:history_samples", NO_SAMPLES);
    server.answer_with("iostall:history_files", FILES);
    server.answer_with("iostall:history_gaps", include_str!("../../testdata/sqlserver/history_gaps.tsv"));
    server
}

fn history(server: &Server) -> History {
    let url = format!("sqlserver://{USER}@127.0.0.1:{}/iostall", server.port);
    let address: Address = url.parse().unwrap();
    History::open(address, &Secret::typed(PASSWORD.to_owned()), LIMIT).unwrap()
}

#[test]
fn samples_keep_their_own_times_and_epochs_and_their_deltas_follow_the_same_rules() {
    let server = server();
    let mut history = history(&server);
    assert_eq!(history.filters().unwrap(), [""]);
    let batch = history.read("", &Position::after(Timestamp::UNIX_EPOCH)).unwrap();
    let [first, second, third] = batch.samples.as_slice() else { panic!("{:?}", batch.samples) };
    assert_eq!(first.taken.utc.to_string(), "2026-05-28T20:26:40.123Z");
    assert_eq!((first.epoch.instance.as_str(), first.epoch.process_start.as_str()), ("SQL19/", "100000000"));
    let changes = delta::compare(first, second);
    let log = changes[1].delta().unwrap();
    assert_eq!(log.covered_ns, 10_000_000_000);
    assert!((log.write_stall_ns_mean().unwrap() - 1_500_000.0).abs() < 1e-6);
    let changes = delta::compare(second, third);
    assert_eq!(changes[1], Change::Reset(ResetReason::Reattach), "another handle");
    let born = changes[2].delta().expect("its database was made after the sample before");
    assert_eq!((born.covered_ns, born.amounts.get(Counter::Writes)), (20_000_000_000, Some(40)));
    assert_eq!((batch.gaps.len(), batch.gaps[0].missed), (1, 1));
    assert_eq!(server.logins(), ["iostall@iostall"], "one connection for all of it");

    let end = history.read("", &batch.next).unwrap();
    assert!(end.samples.is_empty() && end.gaps.is_empty());
    assert_eq!(end.next, batch.next);
    assert!(server.asked_with(44), "for what is numbered above the last sample");
}

#[test]
fn a_database_without_the_tables_is_named_as_such() {
    let server = server();
    let missing = "Invalid object name 'iostall.sample'.";
    server.answer("iostall:history_filters", Answer::Errors(vec![(208, missing.into())]));
    let error = history(&server).filters().unwrap_err();
    assert!(matches!(error, SourceError::NoHistory { .. }), "{error:?}");
}

#[test]
fn a_login_that_may_not_read_the_tables_is_told_so() {
    let server = server();
    let denied =
        "The SELECT permission was denied on the object 'file_sample', database 'iostall', schema 'iostall'.";
    server.answer("iostall:history_files", Answer::Errors(vec![(229, denied.into())]));
    let error = history(&server).read("", &Position::after(Timestamp::UNIX_EPOCH)).unwrap_err();
    assert!(
        matches!(&error, SourceError::Denied { reason, .. } if reason.contains("file_sample")),
        "{error:?}"
    );
}
