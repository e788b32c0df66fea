//! Backups that are put together from increments which the server made itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::server::{Programs, Server, place};
use crate::support::{Ran, Workspace};
use crate::unprivileged::{give, is_root};

const IN_WHOLE: u64 = 2000;
const IN_LAST: u64 = 1500;

/// A server with a tablespace, and a whole backup and an increment of it in `b`.
struct Case<'a> {
    programs: &'a Programs,
    here: Workspace,
    server: Server<'a>,
    fast: tempfile::TempDir,
}

impl<'a> Case<'a> {
    fn new(programs: &'a Programs) -> Self {
        let (own, fast) = (place(), place());
        programs.make(own.path());
        let server = Server::on(programs, own, &["summarize_wal=on", "wal_level=replica"]).unwrap();
        let here = Workspace::new();
        fs::create_dir(here.path("b")).unwrap();
        let case = Self { programs, here, server, fast };
        let ask = |name: &str, values: &[(&str, &str)]| case.server.ask(name, values);
        ask("schema", &[]);
        ask("bulk", &[("from", "1"), ("to", &IN_WHOLE.to_string())]);
        ask("make_tablespace", &[("place", case.fast.path().to_str().unwrap())]);
        ask("fill_tablespace", &[]);
        ask("vacuum", &[]);
        case.back_up(&["--to", "b/0.iob"]);
        // Rows that everybody could see, by the map in the whole backup.
        ask("forget", &[("from", &IN_LAST.to_string())]);
        ask("change_tablespace", &[]);
        case.back_up(&["--to", "b/1.iob", "--base", "b"]);
        case
    }

    fn back_up(&self, rest: &[&str]) {
        let url = self.server.url();
        let words = [&["backup", "create", "--through", "replication"], rest, &[&url]].concat();
        self.here.run(&words).expect_status(0);
    }

    fn restore(&self, to: &Path, rest: &[&str]) -> Ran {
        let words = ["backup", "restore", "b/1.iob", "--json", "r.json", "--to", to.to_str().unwrap()];
        self.here.run(&[&words[..], rest].concat())
    }
}

/// The only warning about empty maps in a run.
fn of_maps(run: &Value) -> String {
    let warnings = run["warnings"].as_array().unwrap();
    let of_maps: Vec<_> =
        warnings.iter().filter(|warning| warning["code"] == "visibility-maps-empty").collect();
    assert_eq!(of_maps.len(), 1, "{warnings:?}");
    format!("{}; {}", of_maps[0]["message"].as_str().unwrap(), of_maps[0]["hint"].as_str().unwrap())
}

/// The story: after the restore every report took ten times as long, and nothing had said why.
#[test]
fn empty_visibility_maps_are_said_and_answers_are_right_without_them() {
    let Some(programs) = Programs::of(17) else { return };
    let case = Case::new(&programs);
    let place = place();
    let ran = case.restore(&place.path().join("data"), &[]).expect_status(0);
    let said = of_maps(&case.here.json("r.json"));
    assert!(said.contains("visibility maps are empty") && said.contains("vacuumdb --all"), "{said}");
    let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("visibility maps are empty") && shown.contains("vacuumdb --all"), "{shown}");
    let copy = Server::on(&programs, place, &[]).unwrap_or_else(|log| panic!("{log}"));
    assert_eq!(copy.ask("map_bytes", &[]), "0");
    assert_eq!(copy.ask("count_by_index", &[]), IN_LAST.to_string());
    copy.ask("vacuum", &[]);
    assert_ne!(copy.ask("map_bytes", &[]), "0", "VACUUM fills the map");
    assert_eq!(copy.ask("count_by_index", &[]), IN_LAST.to_string());

    let scratch = super::server::place();
    let mut drill = Command::new(programs.iostall());
    drill.current_dir(case.here.path(".")).env("TZ", "UTC").env("IOSTALL_STORE", case.here.path("store.db"));
    drill.args([
        "backup",
        "drill",
        "--scratch",
        scratch.path().to_str().unwrap(),
        "--json",
        "d.json",
        "b/1.iob",
    ]);
    drill.arg("--engine-dir").arg(programs.bin());
    drill.env("LD_LIBRARY_PATH", programs.bin().with_file_name("lib"));
    if is_root() {
        drill.args(["--user", "nobody"]);
    }
    let ran: Ran = drill.output().unwrap().into();
    ran.expect_status(0);
    assert_eq!(of_maps(&case.here.json("d.json")), said);
    // A whole backup has its maps.
    let whole = super::server::place();
    let to = whole.path().join("data");
    let words = ["backup", "restore", "b/0.iob", "--json", "r.json", "--to", to.to_str().unwrap()];
    case.here.run(&words).expect_status(0);
    let run = case.here.json("r.json");
    assert!(!run["warnings"].to_string().contains("visibility-maps-empty"), "{run}");
}

/// The story: the tablespace was to come back on its own device, and an increment could not be restored there.
#[test]
fn a_tablespace_of_an_increment_goes_to_a_place_of_its_own() {
    let Some(programs) = Programs::of(17) else { return };
    let case = Case::new(&programs);
    let (place, device) = (place(), super::server::place());
    let to = device.path().join("fast");
    let moved = format!("{}={}", case.fast.path().display(), to.display());
    case.restore(&place.path().join("data"), &["--tablespace", &moved]).expect_status(0);
    let left = |path: &Path| {
        let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).collect::<Vec<_>>()
    };
    for path in [&to, device.path(), place.path(), &place.path().join("data")] {
        assert!(left(path).is_empty(), "{}: {:?}", path.display(), left(path));
    }
    give(&to);
    let copy = Server::on(case.programs, place, &[]).unwrap_or_else(|log| panic!("{log}"));
    assert_eq!(copy.ask("where_tablespace", &[]), to.display().to_string());
    assert_eq!(copy.ask("changed_in_tablespace", &[]), "100");
    assert_eq!(copy.ask("count_by_index", &[]), IN_LAST.to_string());
}

#[test]
fn a_part_of_an_increment_is_refused_by_the_name_that_the_server_has_for_it() {
    let Some(programs) = Programs::of(17) else { return };
    let case = Case::new(&programs);
    let file = case.server.ask("file_of_ledger", &[]);
    let place = place();
    let to = place.path().join("part");
    for only in [file.as_str(), "base", &format!("./{}/", Path::new(&file).parent().unwrap().display())] {
        let ran = case.restore(&to, &["--only", only]).expect_status(2);
        assert!(ran.stderr.contains("has only what changed since its base"), "{only}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: restore all of the increment"), "{only}: {}", ran.stderr);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{only}");
    }
    // What the server sends as a whole is there as a whole.
    case.restore(&to, &["--only", "PG_VERSION"]).expect_status(0);
    assert_eq!(fs::read_to_string(&to).unwrap().trim(), "17");
}
