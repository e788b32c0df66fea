//! The replication protocol of real servers.

use std::fs;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use iostall_connect::postgres::{
    BaseBackupOptions, BasePart, Lsn, ReplicationError, ReplicationLogin, ReplicationSession, SlotState,
    WalMessage,
};
use iostall_connect::{Address, Secret};

use super::load::Load;
use super::servers::postgres::Postgres;
use super::servers::{chown_to_nobody, skip, until};
use super::statements::{sql, sql_with};

const SEGMENT_BYTES: u64 = 16 << 20;
const SLOT: &str = "iostall_test";
const WAIT: Duration = Duration::from_secs(1);

fn open(port: u16, user: &str, password: &str) -> Result<ReplicationSession, ReplicationError> {
    let address: Address = format!("postgres://{user}@127.0.0.1:{port}?tls=off").parse().unwrap();
    let password = Secret::typed(password.to_owned());
    let limit = Duration::from_secs(60);
    ReplicationSession::open(ReplicationLogin {
        address: &address,
        name: "iostall",
        password: &password,
        limit,
        cancel: Arc::default(),
    })
}

fn session(server: &Postgres) -> ReplicationSession {
    open(server.port, "postgres", "").unwrap()
}

/// What was received from a server was not what it had written.
fn receives_the_log(version: u32) {
    let Some(server) = Postgres::start(version, None) else {
        return skip(&format!("replication of PostgreSQL {version}: it cannot be had"));
    };
    server.sql(sql("schema"));
    let mut session = session(&server);
    assert_eq!(session.version(), version);
    let identity = session.identify_system().unwrap();
    assert_eq!(identity.timeline, 1);
    assert_eq!(session.show("wal_segment_size").unwrap(), "16MB");
    session.create_slot(SLOT, false, true).unwrap();
    let refused = session.create_slot(SLOT, false, true).unwrap_err();
    assert_eq!(refused.state(), Some("42710"), "{refused}");
    match session.read_slot(SLOT).unwrap() {
        SlotState::Unknown => assert!(version < 15),
        SlotState::There { is_physical: true, restart: Some(restart), .. } => {
            assert!(restart <= identity.flushed);
        }
        other => panic!("{other:?}"),
    }
    let load = Load::on(server.port);
    load.wait_for(20);
    // The rest of the segment is sent as zeros.
    server.sql(sql("switch"));
    let start = Lsn(identity.flushed.0 / SEGMENT_BYTES * SEGMENT_BYTES);
    let mut stream = session.start_wal(Some(SLOT), start, 1).unwrap();
    let mut received = Vec::new();
    while (received.len() as u64) < SEGMENT_BYTES + 1000 {
        match stream.next(WAIT).unwrap() {
            WalMessage::Wal { start: at, bytes, server_end, .. } => {
                assert_eq!(at.0, start.0 + received.len() as u64);
                received.extend_from_slice(&bytes);
                assert!(server_end.0 >= at.0 + bytes.len() as u64);
            }
            WalMessage::KeepAlive { .. } | WalMessage::Nothing => {}
            WalMessage::EndOfTimeline { .. } => panic!("the timeline has not ended"),
        }
        let there = Lsn(start.0 + received.len() as u64);
        stream.status(there, there, Lsn(0), false).unwrap();
    }
    drop(load);
    let segment = format!("{:08X}{:08X}{:08X}", 1, start.0 >> 32, (start.0 & 0xFFFF_FFFF) / SEGMENT_BYTES);
    let written = fs::read(server.data().join("pg_wal").join(segment)).unwrap();
    assert!(written[..] == received[..written.len()], "what was received is not what was written");
    let mut session = stream.end().unwrap();
    session.drop_slot(SLOT).unwrap();
    if version >= 15 {
        assert_eq!(session.read_slot(SLOT).unwrap(), SlotState::Missing);
    }
}

#[test]
fn the_log_of_12_is_received_as_it_was_written() {
    receives_the_log(12);
}

#[test]
fn the_log_of_15_is_received_as_it_was_written() {
    receives_the_log(15);
}

#[test]
fn the_log_of_18_is_received_as_it_was_written() {
    receives_the_log(18);
}

/// A receiver waited for ever when the server had been killed.
#[test]
fn a_server_that_ends_and_log_that_is_gone_are_errors() {
    let Some(mut server) = Postgres::start(15, None) else {
        return skip("PostgreSQL 15: it is not installed");
    };
    let mut stream = session(&server).start_wal(None, Lsn(0), 1).unwrap();
    let gone = until("the refusal", || stream.next(WAIT).err());
    assert!(gone.is_log_removed(), "{gone}");
    let history = session(&server).timeline_history(7).unwrap_err();
    assert!(matches!(history, ReplicationError::Refused { .. }), "{history}");
    for is_kill in [true, false] {
        let mut asked = session(&server);
        let at = asked.identify_system().unwrap().flushed;
        let mut stream = asked.start_wal(None, at, 1).unwrap();
        // A server that is asked to end waits until the receiver has everything.
        let mut next = move || match stream.next(WAIT) {
            Ok(WalMessage::KeepAlive { server_end, .. }) => {
                stream.status(server_end, server_end, Lsn(0), false).err()
            }
            other => other.err(),
        };
        let ends = std::thread::spawn(move || until("the end", &mut next));
        if is_kill {
            server.kill();
        } else {
            server.stop();
        }
        let error = ends.join().unwrap();
        assert!(error.is_lost() && error.to_string().contains("127.0.0.1"), "{error}");
        server.resume();
    }
}

/// A standby that was promoted has a history, and the log of the old timeline ends where the new one begins.
#[test]
fn the_end_of_a_timeline_names_the_next_one() {
    let Some(mut server) = Postgres::start(15, None) else {
        return skip("PostgreSQL 15: it is not installed");
    };
    let start = session(&server).identify_system().unwrap().flushed;
    server.stop();
    // It recovers as a standby without a primary, and is promoted.
    let signal = server.data().join("standby.signal");
    fs::write(&signal, "").unwrap();
    chown_to_nobody(&signal);
    server.resume();
    server.sql(sql("promote"));
    until("the promotion", || {
        let identity = session(&server).identify_system().ok()?;
        (identity.timeline == 2).then_some(())
    });
    let history = session(&server).timeline_history(2).unwrap();
    assert_eq!(history.file_name, "00000002.history");
    assert!(history.content.starts_with(b"1\t"), "{history:?}");
    let start = Lsn(start.0 / SEGMENT_BYTES * SEGMENT_BYTES);
    let mut stream = session(&server).start_wal(None, start, 1).unwrap();
    let (next, at) = loop {
        match stream.next(WAIT).unwrap() {
            WalMessage::EndOfTimeline { next, start } => break (next, start),
            WalMessage::Wal { .. } | WalMessage::KeepAlive { .. } | WalMessage::Nothing => {}
        }
    };
    assert!(next == 2 && at > start, "{next} {at}");
    // The session goes on.
    let stream = stream.end().unwrap().start_wal(None, at, 2).unwrap();
    stream.end().unwrap().identify_system().unwrap();
}

/// Whoever may read all tables may not read the log for that.
#[test]
fn only_a_login_that_may_replicate_is_let_in_and_every_kind_of_password_is_known() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    server.sql(sql("make_logins"));
    let error = open(server.port, "reader", "").err().unwrap();
    assert!(matches!(error, ReplicationError::Denied { .. }), "{error}");
    assert!(error.hint().contains("ALTER ROLE \"reader\" REPLICATION"), "{}", error.hint());
    let lines = "host all all 127.0.0.1/32 trust\nhost replication scram 127.0.0.1/32 scram-sha-256\n\
                 host replication md5 127.0.0.1/32 md5\nhost replication plain 127.0.0.1/32 password\n";
    fs::write(server.data().join("pg_hba.conf"), lines).unwrap();
    server.sql(sql("reload"));
    for user in ["scram", "md5", "plain"] {
        until("the new rules", || open(server.port, user, "geheim").ok());
        for wrong in ["falsch", ""] {
            let error = open(server.port, user, wrong).err().unwrap();
            assert!(error.to_string().contains("refused the login"), "{user}: {error}");
        }
    }
    let error = open(server.port, "postgres", "").err().unwrap();
    assert!(matches!(error, ReplicationError::NotLetIn { .. }), "{error}");
    assert!(error.hint().contains("host replication postgres"), "{}", error.hint());
}

/// The archives of a server, each with its number of bytes, and the length of the manifest.
fn base_backup(version: u32) {
    let Some(server) = Postgres::start(version, None) else {
        return skip(&format!("base backups of PostgreSQL {version}: it cannot be had"));
    };
    let space = super::servers::directory();
    server.sql(&sql_with("make_tablespace", &[("place", &space.path().display())]));
    server.sql(sql("make_in_tablespace"));
    let options = BaseBackupOptions {
        label: "it's a test".into(),
        fast_checkpoint: true,
        with_log: true,
        has_manifest: true,
        is_increment: false,
    };
    let mut backup = session(&server).base_backup(&options).unwrap();
    let (start, timeline) = backup.start();
    assert_eq!((timeline, backup.tablespaces().len()), (1, 2));
    let mut archives = [Vec::new(), Vec::new()];
    let mut manifest = Vec::new();
    while let Some(part) = backup.next_part().unwrap() {
        let into = match part {
            BasePart::Archive(number) => &mut archives[number],
            BasePart::Manifest => &mut manifest,
        };
        backup.read_to_end(into).unwrap();
    }
    let (stop, _) = backup.stop().unwrap();
    assert!(stop > start && !backup.has_wrong_pages());
    assert_eq!(backup.next_part().unwrap(), None);
    for (tablespace, archive) in backup.tablespaces().iter().zip(&archives) {
        assert!(archive.len() > 10_000, "{tablespace:?}");
        let is_base = tablespace.oid.is_none();
        assert_eq!(archive.starts_with(b"backup_label\0"), is_base, "{tablespace:?}");
    }
    assert_eq!(manifest.starts_with(b"{ \"PostgreSQL-Backup-Manifest-Version\""), version >= 13);
}

#[test]
fn a_base_backup_of_12_is_an_archive_for_each_tablespace() {
    base_backup(12);
}

#[test]
fn a_base_backup_of_14_is_an_archive_for_each_tablespace_and_a_manifest() {
    base_backup(14);
}

#[test]
fn a_base_backup_of_15_is_an_archive_for_each_tablespace_and_a_manifest() {
    base_backup(15);
}

#[test]
fn a_base_backup_of_18_is_an_archive_for_each_tablespace_and_a_manifest() {
    base_backup(18);
}
