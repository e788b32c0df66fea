//! Members of a fleet on a real server.

use std::time::Duration;

use iostall_measure::clock::utc_now;

use super::*;
use crate::fleet_secret::FleetSecret;
use crate::history::{Batch, History as _, Source, SourceId, StoreId};
use crate::member::MemberAppended;
use crate::postgres::schema::{self, Initialised};
use crate::postgres::server::{Server, no_password};
use crate::postgres::session::Session;

const HOUR: Duration = Duration::from_secs(3_600);

fn repository(server: &Server, name: &str) -> PostgresHistory {
    let address = server.database(name, "");
    PostgresHistory::initialise(&address, &no_password()).unwrap();
    PostgresHistory::open(&address, &no_password()).unwrap()
}

fn code(repository: &PostgresHistory, name: Option<&str>) -> SecretHash {
    let code = FleetSecret::new_code().unwrap().hash();
    repository.add_join_code(&code, name, HOUR).unwrap();
    code
}

fn new_key() -> SecretHash {
    FleetSecret::new_key().unwrap().hash()
}

fn join(repository: &PostgresHistory, code: &SecretHash, key: &SecretHash, store: StoreId) -> Joined {
    repository.join(&Joining { code, key, store, host: "host\u{0}", version: "0.1.0" }).unwrap()
}

fn member(repository: &PostgresHistory, name: &str) -> (Member, SecretHash) {
    let key = new_key();
    let joined = join(repository, &code(repository, Some(name)), &key, StoreId::new(utc_now()));
    assert_eq!(joined, Joined::As { name: name.into() });
    (repository.member(&key).unwrap().unwrap(), key)
}

#[test]
fn a_repository_of_the_first_version_gets_members_and_keeps_its_history() {
    let Some(server) = Server::start(15) else { return };
    let address = server.database("older", "");
    let session = Session::new(&address, &no_password()).unwrap();
    schema::initialise_to(&session, 1).unwrap();
    server.sql("older", include_str!("../../../testdata/add_server.sql"));
    let upgraded = PostgresHistory::initialise(&address, &no_password()).unwrap();
    assert_eq!(upgraded.done, Initialised::Upgraded { from: 1 });
    let repository = PostgresHistory::open(&address, &no_password()).unwrap();
    let known = repository.servers().unwrap();
    assert_eq!((known.len(), known[0].membership.is_none(), known[0].sources), (1, true, 0));
    // What was sent by the server itself is that of the server when it joins.
    let store = known[0].store;
    let joined = join(&repository, &code(&repository, None), &new_key(), store);
    assert_eq!(joined, Joined::As { name: "host\u{fffd}".into() });
    assert_eq!(repository.servers().unwrap().len(), 1);
}

#[test]
fn a_repository_with_operators_keeps_its_pushes_of_settings() {
    let Some(server) = Server::start(15) else { return };
    let address = server.database("pushed", "");
    let session = Session::new(&address, &no_password()).unwrap();
    schema::initialise_to(&session, 9).unwrap();
    server.sql("pushed", include_str!("../../../testdata/add_operators.sql"));
    PostgresHistory::initialise(&address, &no_password()).unwrap();
    let repository = PostgresHistory::open(&address, &no_password()).unwrap();
    let pushes = repository.pushes(None).unwrap();
    assert_eq!((pushes.len(), pushes[0].state.as_str(), pushes[0].counts.applied), (1, "done", 1));
    let settings = r#"[{"kind": "settings", "name": "a.toml"}]"#;
    let wanted: Vec<String> =
        repository.wanted_objects().unwrap().into_iter().map(|(_, objects)| objects).collect();
    assert_eq!(wanted, [settings]);
    assert_eq!(repository.push_agents().unwrap()[0].objects, settings);
}

#[test]
fn a_code_makes_one_member_however_often_its_answer_is_lost() {
    let Some(server) = Server::start(15) else { return };
    let repository = repository(&server, "codes");
    let (store, other) = (StoreId::new(utc_now()), StoreId::new(utc_now()));
    let (first, key) = (code(&repository, Some("db1")), new_key());
    assert_eq!(join(&repository, &new_key(), &key, store), Joined::NoSuchCode);
    for _ in 0..2 {
        assert_eq!(join(&repository, &first, &key, store), Joined::As { name: "db1".into() });
    }
    assert_eq!(join(&repository, &first, &new_key(), store), Joined::CodeUsed);
    assert_eq!(join(&repository, &first, &key, other), Joined::CodeUsed, "the same key in another store");
    let late = FleetSecret::new_code().unwrap().hash();
    repository.add_join_code(&late, None, Duration::ZERO).unwrap();
    assert_eq!(join(&repository, &late, &new_key(), other), Joined::CodeExpired);
    let anybody = code(&repository, None);
    assert_eq!(join(&repository, &anybody, &new_key(), store), Joined::KnownAs { name: "db1".into() });
    assert_eq!(join(&repository, &anybody, &new_key(), other), Joined::As { name: "host\u{fffd}".into() });
    let again = new_key();
    assert_eq!(
        join(&repository, &code(&repository, Some("db1")), &again, store),
        Joined::As { name: "db1".into() }
    );
    assert!(repository.member(&key).unwrap().is_none(), "its earlier key is no longer good");
    assert_eq!(repository.member(&again).unwrap().unwrap().store, store);
}

#[test]
fn the_old_key_is_good_until_the_new_one_is_used() {
    let Some(server) = Server::start(15) else { return };
    let repository = repository(&server, "keys");
    let (member, old) = member(&repository, "db1");
    let (lost, new) = (new_key(), new_key());
    repository.put_next_key(&member, &lost).unwrap();
    repository.put_next_key(&member, &new).unwrap();
    assert!(repository.member(&lost).unwrap().is_none());
    for good in [&old, &new, &new] {
        assert_eq!(repository.member(good).unwrap().unwrap(), member);
    }
    assert!(repository.member(&old).unwrap().is_none());
    repository.revoke(&member).unwrap();
    assert_eq!(repository.member(&new).unwrap().unwrap().state, MemberState::Revoked);
    assert_eq!(repository.members_called("db1").unwrap().len(), 1);
    assert_eq!(repository.members_called(&member.store.to_string()).unwrap().len(), 1);
    assert!(repository.members_called("' OR ''='").unwrap().is_empty());
}

#[test]
fn boots_and_moves_are_no_copies_and_two_machines_in_turn_are() {
    let Some(server) = Server::start(15) else { return };
    let repository = repository(&server, "copies");
    let (moved, _) = member(&repository, "db1");
    let contact = |member: &Member, instance: &str| {
        let contact = Contact { host: "h", version: "1", instance, clock_ahead_ms: -7 };
        repository.put_contact(member, &contact).unwrap()
    };
    let boots: Vec<String> = (0..40).map(|boot| format!("boot {boot}")).collect();
    for boot in boots.iter().chain([&boots[39], &boots[38]]) {
        assert_eq!(contact(&moved, boot), MemberState::Joined, "{boot}");
    }
    let (copied, _) = member(&repository, "db2");
    for (instance, state) in [
        ("a", MemberState::Joined),
        ("b", MemberState::Joined),
        ("a", MemberState::Joined),
        ("b", MemberState::Copied),
    ] {
        assert_eq!(contact(&copied, instance), state);
    }
    let listed = repository.servers().unwrap();
    let state = |name: &str| {
        let membership = listed.iter().filter_map(|server| server.membership.as_ref());
        membership.into_iter().find(|membership| membership.name == name).map(|found| found.state)
    };
    assert_eq!((state("db1"), state("db2")), (Some(MemberState::Joined), Some(MemberState::Copied)));
}

#[test]
fn a_source_belongs_to_the_server_that_sent_it_first() {
    let Some(server) = Server::start(15) else { return };
    let mut repository = repository(&server, "owners");
    let ((one, _), (other, _)) = (member(&repository, "db1"), member(&repository, "db2"));
    let source = |store| Source { id: SourceId::new(utc_now()), store, name: "linux:".into() };
    let mut append = |member: &Member, after, number, source: &Source| {
        repository.append_of(member, after, &Batch::of(source.clone(), number, &[])).unwrap()
    };
    let of_one = source(one.store);
    assert_eq!(append(&other, 0, 1, &of_one), MemberAppended::OtherServer, "another's store");
    assert_eq!(append(&one, 0, 3, &of_one), MemberAppended::Added);
    let stolen = Source { store: other.store, ..of_one.clone() };
    assert_eq!(append(&other, 3, 4, &stolen), MemberAppended::OtherServer, "another's source");
    assert_eq!(append(&one, 0, 3, &of_one), MemberAppended::AlreadyThere);
    assert_eq!(append(&one, 2, 4, &of_one), MemberAppended::NotNext);
    let renamed = Source { name: "linux:/srv".into(), ..of_one.clone() };
    assert_eq!(append(&one, 3, 4, &renamed), MemberAppended::Added);
    for _ in 1..SOURCES_MAX {
        assert_eq!(append(&one, 0, 1, &source(one.store)), MemberAppended::Added);
    }
    // That was told as the key of another server.
    let full = append(&one, 0, 1, &source(one.store));
    assert!(matches!(full, MemberAppended::Quota { .. }), "so many and no more: {full:?}");
    assert_eq!(append(&other, 0, 1, &source(other.store)), MemberAppended::Added);
    assert_eq!(repository.known_of(&one, of_one.id).unwrap(), Some((4, None)));
    assert_eq!(repository.known_of(&other, of_one.id).unwrap(), None);
    assert_eq!(repository.known_of(&one, source(one.store).id).unwrap(), Some((0, None)));
    assert!(repository.sources().unwrap().iter().any(|watched| watched.source == renamed));
    repository.revoke(&one).unwrap();
    let refused = repository.append_of(&one, 4, &Batch::of(of_one, 5, &[])).unwrap();
    assert_eq!(refused, MemberAppended::MayNot(MemberState::Revoked), "whatever the caller remembers of it");
}
