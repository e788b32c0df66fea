//! Notes and settings of servers in the repository of their fleet.

use rusqlite::Connection;
use serde_json::Value;

use crate::fleet_centre::Centre;
use crate::fleet_devices::OlderCentre;
use crate::fleet_hostile::Client;
use crate::support::Workspace;

/// All notes and settings in a database.
pub(crate) fn notes_in(centre: &Centre, database: &str) -> String {
    centre.server.value_in(database, include_str!("sql/notes_content.sql"))
}

/// Notes one more thing.
pub(crate) fn note(server: &Workspace, words: &[&str]) {
    server.run(&[&["collect", "note"][..], words].concat()).expect_status(0);
}

fn json_of(here: &Workspace, words: &[&str]) -> Value {
    serde_json::from_str(&here.run(words).expect_status(0).stdout).unwrap()
}

/// Two hours pass, and swappiness was 7 in them.
fn change_a_setting(server: &Workspace) {
    let store = Connection::open(server.path("store.db")).unwrap();
    for text in [
        include_str!("sql/older_setting.sql"),
        include_str!("sql/settings_began_earlier.sql"),
        include_str!("sql/settings_read_earlier.sql"),
    ] {
        store.execute(text, []).unwrap();
    }
}

#[test]
fn notes_and_settings_of_all_servers_are_asked_for_at_the_centre() {
    let Some(centre) = Centre::start() else { return };
    let (server, other) = (centre.member("db1"), centre.member("db2"));
    change_a_setting(&server);
    note(
        &server,
        &["--kind", "deploy", "--at", "2026-01-31T23:59Z", "--source", "linux:", "release \u{e9}'; --"],
    );
    note(&server, &["--kind", "failover", "--at", "2026-02-01T00:00Z", "--end", "2026-02-02T00:00Z", "away"]);
    let sent = |server: &Workspace| -> u64 {
        json_of(server, &["fleet", "send", &centre.address(), "--json"])["sheets"].as_u64().unwrap()
    };
    assert_eq!((sent(&server), sent(&other)), (3, 1), "two months of notes, settings");
    assert_eq!((sent(&server), sent(&other)), (0, 0), "nothing twice");
    let ask = |words: &[&str]| -> Value {
        let line = [&["fleet", words[0], &centre.url][..], &words[1..], &["--json"]].concat();
        json_of(&centre.here, &line)
    };
    // One server has the value, and the other has not.
    let of = ask(&["settings", "--name", "vm.swappiness", "--value", "7"]);
    assert_eq!((of.as_array().unwrap().len(), &of[0]["server"]), (1, &"db1".into()), "{of}");
    assert_eq!(
        of[0]["settings"],
        json_of(&server, &["collect", "settings", "--name", "vm.swappiness", "--json"])[0]["settings"]
    );
    assert_eq!(
        ask(&["settings", "--server", "db2"])[0]["settings"],
        json_of(&other, &["collect", "settings", "--json"])[0]["settings"]
    );
    // It is set back: a version, and a change.
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    assert_eq!(sent(&server), 1);
    assert_eq!(ask(&["settings", "--value", "7"]).as_array().unwrap().len(), 0);
    let changes = ask(&["settings", "--changes", "--name", "swappiness"]);
    assert_eq!(
        (changes.as_array().unwrap().len(), &changes[0]["changes"][0]["before"]),
        (1, &"7".into()),
        "{changes}"
    );
    assert_eq!(ask(&["settings", "--at", "1h", "--value", "7"])[0]["server"], "db1");
    let text = centre.here.run(&["fleet", "settings", &centre.url, "--diff", "1h.."]).expect_status(0).stdout;
    assert!(text.contains("db1: linux:") && text.contains("vm.swappiness: 7 → "), "{text}");
    // Rules speak about each server as they do there.
    let advice = ask(&["advise"]);
    let names: Vec<&Value> = advice.as_array().unwrap().iter().map(|of| &of["server"]).collect();
    assert_eq!(names, ["db1", "db2"]);
    assert_eq!(advice[0]["rules"], json_of(&server, &["collect", "advise", "--json"])[0]["rules"]);
    // Notes, and one that was wrong.
    let notes = ask(&["notes"]);
    assert_eq!(
        (notes.as_array().unwrap().len(), &notes[0]["source"], &notes[1]["server"]),
        (2, &"linux:".into(), &"db1".into())
    );
    assert_eq!(
        ask(&["notes", "--kind", "deploy", "--since", "2026-02-01T00:00Z"]).as_array().unwrap().len(),
        0
    );
    assert_eq!(ask(&["notes", "--since", "2026-02-01T12:00Z"]).as_array().unwrap().len(), 1, "it lasted");
    server.run(&["collect", "notes", "--remove", "1"]).expect_status(0);
    assert_eq!(sent(&server), 1);
    let text = centre.here.run(&["fleet", "notes", &centre.url]).expect_status(0).stdout;
    assert!(text.contains("db1") && text.contains("away") && !text.contains("release"), "{text}");
}

/// An older centre takes samples and runs; what it has no place for is sent when it is upgraded.
#[test]
fn notes_and_settings_wait_for_an_older_centre_to_be_upgraded() {
    let Some(mut centre) = Centre::start() else { return };
    let real = centre.port;
    centre.port = OlderCentre::before(&centre, &["sheets", "sheet"]).port;
    let server = centre.member("db1");
    note(&server, &["early"]);
    centre.send(&server).expect_status(0);
    assert_eq!(notes_in(&centre, "postgres"), "");
    centre.port = real;
    centre.join(&server, &centre.code(&["--for", "db1"])).expect_status(0);
    centre.send(&server).expect_status(0);
    let all = notes_in(&centre, "postgres");
    assert!(all.contains("early") && all.contains("setting|"), "{all}");
}

#[test]
fn what_a_hostile_server_sends_for_notes_and_settings_harms_nobody_else() {
    let Some(centre) = Centre::start() else { return };
    let (server, other) = (centre.member("db1"), centre.member("db2"));
    note(&server, &["real"]);
    centre.send(&server).expect_status(0);
    let before = notes_in(&centre, "postgres");
    let client = Client::of(&centre, &other);
    let post = |text: &str| {
        let (status, code, _) = client.post("fleet/v1/sheet", &zstd::encode_all(text.as_bytes(), 1).unwrap());
        (status, code)
    };
    let source =
        json_of(&server, &["fleet", "send", &centre.address(), "--json"])["sources"][0]["id"].clone();
    let stores = centre.server.value(include_str!("sql/stores_of_members.sql"));
    let stores: Vec<&str> =
        stores.lines().filter_map(|line| line.split_once(' ')).map(|(_, id)| id).collect();
    let (theirs, store) = (stores[0], stores[1]);
    let settings = |store: &str, last: &str, more: &str| {
        format!(
            "{{\"mark\":{{\"kind\":\"settings\",\"name\":{source},\"state\":\"{store}\"}},\"content\":{{\"source\":{{\"id\":{source},\
             \"store\":\"{store}\",\"name\":\"linux:\"}},\"first\":\"2026-03-01T00:00:00Z\",\"last\":\"{last}\",\"tool_version\":\"0\",\
             \"settings\":[{more}]}}}}"
        )
    };
    let notes = |name: &str, more: &str| {
        format!(
            "{{\"mark\":{{\"kind\":\"notes\",\"name\":\"{name}\",\"state\":\"{}\"}},\"content\":{{\"notes\":[{more}]}}}}",
            more.len()
        )
    };
    let refused = (400, "Sheet".to_owned());
    assert_eq!(client.post("fleet/v1/sheet", b"garbage").1, "Sheet");
    for text in ["{}", &notes("2026-99", ""), &settings(store, "2026-03-01T00:00:00Z", "{}")] {
        assert_eq!(post(text), refused, "{text}");
    }
    // The settings of the other server's source, as its own or as the other's.
    for store in [store, theirs] {
        assert_eq!(post(&settings(store, "2026-03-01T00:00:00Z", "")), refused);
    }
    assert_eq!(post(&settings(store, "2099-03-01T00:00:00Z", "")), (400, "Clock".to_owned()));
    let spaces = " ".repeat(33 << 20);
    assert_eq!(post(&spaces), (413, "TooLong".to_owned()));
    assert_eq!(notes_in(&centre, "postgres"), before);
    let one = "{\"at\":\"2026-03-01T00:00:00Z\",\"kind\":\"new\",\"text\":\"'; DROP TABLE iostall.note; --\\u0000\\u001b[2J\"}";
    assert_eq!(post(&notes("2026-03", &format!("{one},{one}"))).0, 200, "what is there twice is there once");
    let shown = centre.here.run(&["fleet", "notes", &centre.url]).expect_status(0).stdout;
    assert!(shown.lines().count() == 3 && !shown.contains('\u{1b}'), "{shown}");
    centre.send(&server).expect_status(0);
    let now = notes_in(&centre, "postgres");
    assert!(before.lines().all(|line| now.lines().any(|other| other == line)), "{before}\n{now}");
}
