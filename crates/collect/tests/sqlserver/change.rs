//! Statements of releases: batches in one transaction, and who ends it.

use iostall_connect::{ChangeError, ChangeSession};

use super::*;

const GRANT: &str = "/* iostall:test_grant */ GRANT EXECUTE ON dbo.take_sample TO monitor";
const VERIFY: &str = "/* iostall:test_verify */ SELECT definition AS value FROM sys.sql_modules";

fn session(server: &Server) -> ChangeSession {
    let nothing = Answer::Messages(Vec::new());
    for tag in
        ["iostall:change_begin", "iostall:change_commit", "iostall:change_roll_back", "iostall:test_grant"]
    {
        server.answer(tag, nothing.clone());
    }
    server.answer_with("iostall:change_open", "written by a test\nvalue\n1\n");
    server.answer_with("iostall:test_verify", "written by a test\nvalue\ntext\n");
    let address: Address = format!("sqlserver://{USER}@127.0.0.1:{}", server.port).parse().unwrap();
    ChangeSession::open(&address, &Secret::typed(PASSWORD.to_owned()), LIMIT).unwrap()
}

#[test]
fn statements_of_a_release_are_one_transaction_that_is_committed_or_rolled_back() {
    let server = Server::start(None);
    let mut session = session(&server);
    session.begin().unwrap();
    session.run(GRANT).unwrap();
    assert_eq!(session.value(VERIFY).unwrap().as_deref(), Some("text"));
    assert!(server.was_asked("iostall:change_begin", "XACT_ABORT ON"));
    assert!(server.was_asked("iostall:test_grant", "GRANT EXECUTE ON dbo.take_sample"));
    assert_eq!(server.count("iostall:change_commit"), 0);
    session.commit().unwrap();
    session.roll_back().unwrap();
    assert_eq!((server.count("iostall:change_commit"), server.count("iostall:change_roll_back")), (1, 1));
    server.answer_with("iostall:test_verify", "written by a test\nvalue\n");
    assert_eq!(session.value(VERIFY).unwrap(), None);
    for two in ["written by a test\nvalue\na\nb\n", "written by a test\nvalue\tname\na\tb\n"] {
        server.answer_with("iostall:test_verify", two);
        assert!(matches!(session.value(VERIFY), Err(ChangeError::NotOneValue { .. })), "{two}");
    }
}

#[test]
fn a_batch_that_fails_or_ends_the_transaction_is_an_error() {
    let server = Server::start(None);
    let mut session = session(&server);
    session.begin().unwrap();
    server.answer_with("iostall:change_open", "written by a test\nvalue\n0\n");
    assert!(matches!(session.run(GRANT), Err(ChangeError::Ended)));
    server.answer("iostall:test_grant", Answer::Errors(vec![(15151, "Cannot find the object.".into())]));
    let error = session.run(GRANT).unwrap_err();
    assert!(
        error.to_string().contains("Cannot find the object (error 15151)") && !error.may_pass(),
        "{error}"
    );
    server.answer("iostall:test_grant", Answer::Gone);
    assert!(session.run(GRANT).unwrap_err().may_pass());
}
