//! Releases that go from a centre to servers: real PostgreSQL, the real service, real agents, and who would misuse them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use iostall_watch::release::{SigningKey, sealed};
use serde_json::Value;

use crate::fleet_centre::{Centre, assert_refused};
use crate::fleet_release::{Signer, apply};
use crate::support::{Ran, Workspace};
use crate::unprivileged::{is_root, unprivileged};

/// A centre, and somebody who signs releases.
pub(crate) struct Pushing {
    pub(crate) centre: Centre,
    pub(crate) signer: Signer,
}

impl Pushing {
    /// `None` without PostgreSQL.
    pub(crate) fn start(centre: Option<Centre>) -> Option<Self> {
        Some(Self { centre: centre?, signer: Signer::new() })
    }

    /// A verb of pushes.
    pub(crate) fn push(&self, verb: &str, options: &[&str]) -> Ran {
        let line = ["fleet", "push", verb, &self.centre.url];
        self.centre.here.run(&[&line[..], options].concat())
    }

    pub(crate) fn json(&self, verb: &str, options: &[&str]) -> Value {
        let ran = self.push(verb, &[options, &["--json"]].concat());
        serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
    }

    /// A server whose agent has asked.
    pub(crate) fn server(&self, name: &str, role: &str) -> Workspace {
        let server = self.centre.member(name);
        self.signer.allow(&server, &format!("role = \"{role}\""));
        self.ask(&server).expect_status(0);
        server
    }

    pub(crate) fn ask(&self, server: &Workspace) -> Ran {
        let agent = ["fleet", "agent", &self.centre.address(), "--policy", "push.toml", "--once"];
        if !is_root() {
            return server.run(&agent);
        }
        // It refuses to be root: what it works with belongs to the account without rights.
        let given = Command::new("chown").args(["-R", "65534:65534"]).arg(server.path(".")).status();
        assert!(given.unwrap().success());
        let asked = server.command(&agent);
        let mut command = unprivileged(asked.get_program().as_ref());
        command.args(asked.get_args()).current_dir(asked.get_current_dir().unwrap()).stdin(Stdio::null());
        command.envs(asked.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().unwrap().into()
    }
}

fn read(server: &Workspace, name: &str) -> String {
    fs::read_to_string(server.path("etc").join(name)).unwrap_or_default()
}

#[test]
fn a_release_goes_out_ring_by_ring_drifts_and_comes_back() {
    let Some(pushing) = Pushing::start(Centre::start()) else { return };
    let servers: Vec<Workspace> = ["db1", "db2", "db3"].map(|name| pushing.server(name, "standby")).into();
    let other = pushing.server("db4", "primary");
    let first = pushing.signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    let plan = pushing.json("plan", &[&first, "--where", "role=standby"]);
    let rings: Vec<u64> =
        plan["servers"].as_array().unwrap().iter().map(|one| one["ring"].as_u64().unwrap()).collect();
    assert_eq!(
        (rings, &plan["servers"][2]["changes"][0]),
        (vec![1, 2, 2], &"settings/a.toml".into()),
        "{plan}"
    );
    assert_refused(
        pushing.push("plan", &[&first, "--where", "role=witness"]),
        &["no server whose agent has asked"],
    );
    pushing.push("apply", &[&first, "--where", "role=standby"]).expect_status(0);
    assert_refused(pushing.push("apply", &[&first]), &["another push wants something of db1"]);
    // The second ring waits for the first.
    pushing.ask(&servers[1]).expect_status(0);
    assert_eq!(read(&servers[1], "a.toml"), "");
    assert!(
        pushing
            .ask(&servers[0])
            .expect_status(0)
            .stdout
            .contains("applied release 1\n  add      settings/a.toml")
    );
    let status = pushing.json("status", &[]);
    assert_eq!(
        (&status[0]["state"], &status[0]["ring"], &status[0]["asked"]),
        (&"running".into(), &2.into(), &2.into())
    );
    for server in &servers {
        pushing.ask(server).expect_status(0);
        assert_eq!(read(server, "a.toml"), "a = 1\n");
    }
    pushing.ask(&other).expect_status(0);
    assert_eq!(read(&other, "a.toml"), "", "it has another label");
    assert_eq!(pushing.json("status", &[])[0]["state"], "done");
    assert!(
        pushing.push("drift", &[]).expect_status(0).stdout.contains("3 of 3 objects are as they should be")
    );
    fs::write(servers[1].path("etc/a.toml"), "a = 9\n").unwrap();
    fs::remove_file(servers[2].path("etc/a.toml")).unwrap();
    for server in &servers {
        pushing.ask(server).expect_status(0);
    }
    let drift = pushing.push("drift", &[]).expect_status(1).stdout;
    assert!(
        drift.contains("db2  settings/a.toml  wanted ") && drift.contains("there nothing\n1 of 3"),
        "{drift}"
    );
    for server in &servers[1..] {
        fs::write(server.path("etc/a.toml"), "a = 1\n").unwrap();
    }
    halt_and_undo(&pushing, &servers, &first);
}

/// A release that one of them refuses, and back.
fn halt_and_undo(pushing: &Pushing, servers: &[Workspace], first: &str) {
    let text = fs::read_to_string(servers[0].path("push.toml")).unwrap();
    servers[0].secret("push.toml", &text.replace("*.toml", "a.toml"));
    let second = pushing.signer.release(2, &[("settings/a.toml", "a = 2\n"), ("settings/b.toml", "b = 2\n")]);
    pushing
        .push("apply", &[&second, "--rings", "2", "--max-failed", "0", "--where", "role=standby"])
        .expect_status(0);
    pushing.ask(&servers[1]).expect_status(0);
    assert_eq!(read(&servers[1], "b.toml"), "b = 2\n");
    let ran = pushing.ask(&servers[0]).expect_status(1);
    assert!(
        ran.stderr.contains("does not allow settings/b.toml") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    let status = pushing.json("status", &["2"]);
    assert_eq!(
        (&status[0]["state"], &status[0]["failed"], &status[0]["left"]),
        (&"halted".into(), &1.into(), &1.into())
    );
    let failed =
        status[0]["servers"].as_array().unwrap().iter().find(|one| one["state"] == "failed").unwrap();
    assert!(failed["reason"].as_str().unwrap().contains("no rule allows this name"), "{status}");
    pushing.ask(&servers[2]).expect_status(0);
    assert_eq!(read(&servers[2], "a.toml"), "a = 1\n", "nobody begins after that");
    assert_refused(
        pushing.push("rollback", &["2", "--permit", &pushing.signer.permit(first)]),
        &["another release"],
    );
    pushing.push("rollback", &["2", "--permit", &pushing.signer.permit(&second)]).expect_status(0);
    for server in servers {
        pushing.ask(server).expect_status(0);
        assert_eq!((read(server, "a.toml"), read(server, "b.toml")), ("a = 1\n".into(), String::new()));
    }
    assert_eq!(pushing.json("status", &["2"])[0]["state"], "undone");
    pushing.push("drift", &[]).expect_status(0);
}

#[test]
fn a_server_that_is_off_is_skipped_and_takes_the_release_when_it_is_back() {
    let Some(pushing) = Pushing::start(Centre::start()) else { return };
    let servers = ["db1", "db2", "db3"].map(|name| pushing.server(name, "standby"));
    let release =
        |version| pushing.signer.release(version, &[("settings/a.toml", &format!("a = {version}\n"))]);
    let state = |push: &str| pushing.json("status", &[push])[0].clone();
    let first = release(1);
    pushing.push("apply", &[&first]).expect_status(0);
    // db1 is off: the second ring waits for it.
    pushing.ask(&servers[1]).expect_status(0);
    assert_eq!(read(&servers[1], "a.toml"), "");
    assert_refused(pushing.push("skip", &["1", "db9"]), &["does not wait for a server \"db9\""]);
    assert_refused(pushing.push("skip", &["7", "db1"]), &["there is no push 7"]);
    pushing.push("skip", &["1", "db1"]).expect_status(0);
    assert_refused(pushing.push("skip", &["1", "db1"]), &["does not wait for a server \"db1\""]);
    for server in &servers[1..] {
        pushing.ask(server).expect_status(0);
        assert_eq!(read(server, "a.toml"), "a = 1\n");
    }
    let now = state("1");
    assert_eq!(
        (&now["state"], &now["applied"], &now["skipped"]),
        (&"done".into(), &2.into(), &1.into()),
        "{now}"
    );
    assert_eq!(now["servers"][0]["state"], "skipped", "{now}");
    assert!(pushing.push("status", &[]).expect_status(0).stdout.contains("2 applied, 1 skipped"));
    let drift = pushing.push("drift", &[]).expect_status(1).stdout;
    assert!(drift.contains("db1  settings/a.toml  wanted ") && drift.contains("there nothing"), "{drift}");
    // Back, it takes what the others have.
    pushing.ask(&servers[0]).expect_status(0);
    assert_eq!(read(&servers[0], "a.toml"), "a = 1\n");
    assert_eq!(state("1")["applied"], 3);
    pushing.push("drift", &[]).expect_status(0);
    // Skipped again, and a newer one reaches it first: the older one is not wanted any more.
    pushing.push("apply", &[&release(2)]).expect_status(0);
    pushing.push("skip", &["2", "db1"]).expect_status(0);
    for server in &servers[1..] {
        pushing.ask(server).expect_status(0);
    }
    pushing.push("apply", &[&release(3)]).expect_status(0);
    for server in servers.iter().chain(&servers) {
        pushing.ask(server).expect_status(0);
        assert_eq!(read(server, "a.toml"), "a = 3\n");
    }
    let now = (state("2"), state("3"));
    assert_eq!((&now.0["skipped"], &now.1["applied"]), (&1.into(), &3.into()), "{now:?}");
    end_a_push(&pushing, &servers, &release(4), &release(5));
}

/// A push that is ended before all of its servers were asked, and one whose undoing is.
fn end_a_push(pushing: &Pushing, servers: &[Workspace; 3], fourth: &str, fifth: &str) {
    pushing.push("apply", &[fourth]).expect_status(0);
    assert_refused(pushing.push("apply", &[fifth]), &["another push wants something of db1"]);
    pushing.push("end", &["4"]).expect_status(0);
    assert_refused(pushing.push("end", &["4"]), &["push 4 is ended, and cannot be ended"]);
    for server in servers {
        pushing.ask(server).expect_status(0);
        assert_eq!(read(server, "a.toml"), "a = 3\n", "nobody is asked any more");
    }
    let status = pushing.json("status", &["4"]);
    assert_eq!((&status[0]["state"], &status[0]["left"]), (&"ended".into(), &3.into()), "{status}");
    pushing.push("apply", &[fifth, "--rings", "3"]).expect_status(0);
    for server in servers {
        pushing.ask(server).expect_status(0);
        assert_eq!(read(server, "a.toml"), "a = 5\n");
    }
    let permit = pushing.signer.permit(fifth);
    pushing.push("rollback", &["5", "--permit", &permit]).expect_status(0);
    pushing.ask(&servers[0]).expect_status(0);
    pushing.push("skip", &["5", "db2"]).expect_status(0);
    pushing.push("end", &["5"]).expect_status(0);
    let status = pushing.json("status", &["5"]);
    assert_eq!(
        (&status[0]["state"], &status[0]["undone"], &status[0]["undo_failed"]),
        (&"undone".into(), &1.into(), &2.into()),
        "{status}"
    );
    assert_refused(pushing.push("end", &["5"]), &["push 5 is undone, and cannot be ended"]);
    // Those that did not answer are asked once more.
    pushing.push("rollback", &["5", "--permit", &permit]).expect_status(0);
    for server in servers {
        pushing.ask(server).expect_status(0);
        assert_eq!(read(server, "a.toml"), "a = 3\n");
    }
    assert_eq!(pushing.json("status", &["5"])[0]["undone"], 3);
}

#[test]
fn a_plan_names_the_servers_that_no_push_reaches() {
    let Some(pushing) = Pushing::start(Centre::start()) else { return };
    let _server = pushing.server("db1", "standby");
    let without_agent = pushing.centre.member("db2");
    let release = pushing.signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    let plan = pushing.json("plan", &[&release]);
    let unreached: Vec<(&str, &str)> = plan["unreached"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["server"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(unreached, [("db2", "no-agent")], "{plan}");
    assert_eq!(plan["servers"].as_array().unwrap().len(), 1, "{plan}");
    let status = pushing.push("status", &[]).expect_status(0).stdout;
    assert!(status.contains("no push reaches db2: no `iostall fleet agent` has asked there"), "{status}");
    // It is signed all the same: somebody takes it there.
    pushing.signer.allow(&without_agent, "role = \"standby\"");
    apply(&without_agent, &release, &[]).expect_status(0);
    assert_eq!(read(&without_agent, "a.toml"), "a = 1\n");
}

/// Files that a centre might hand on in place of release 3: what each is, and what a server says of it.
fn forged_files(signer: &Signer, first: &str) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let third = signer.release(3, &[("settings/a.toml", "a = 3\n")]);
    let bytes = fs::read(&third).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let unsigned = text.lines().enumerate().filter(|(line, _)| *line != 2).map(|(_, line)| line);
    let unsigned = unsigned.collect::<Vec<_>>().join("\n") + "\n";
    let elsewhere = Signer::new();
    let elsewhere = elsewhere.release(3, &[("settings/a.toml", "a = 3\n")]);
    let short = signer.here.path("short").to_str().unwrap().to_owned();
    let make = [
        "fleet",
        "release",
        "make",
        "from-3",
        "--version",
        "3",
        "--key",
        "key",
        "--valid",
        "1ms",
        "--to",
        &short,
    ];
    signer.here.run(&make).expect_status(0);
    let forbidden = signer.release(4, &[("alerts/a.toml", "")]);
    // Even who may sign cannot name a place.
    let key = SigningKey::read(&signer.here.path("key")).unwrap();
    let manifest = text.lines().nth(1).unwrap().replace("\"a.toml\"", "\"../a.toml\"");
    let astray = [sealed("iostall-release 1", &manifest, &key), b"a = 3\n".to_vec()].concat();
    vec![
        ("with a name that leads elsewhere", astray, "settings/../a.toml is invalid"),
        ("unsigned", unsigned.into_bytes(), "no release"),
        ("signed by somebody", fs::read(elsewhere).unwrap(), "none of the keys of the policy"),
        ("replayed", fs::read(first).unwrap(), "release 1 is not newer than 2"),
        ("altered", text.replace("a = 3", "a = 4").into_bytes(), "is not the one that was signed"),
        ("renamed", text.replace("a.toml", "../a.toml").into_bytes(), "does not hold"),
        (
            "with another version",
            text.replace("\"version\":3", "\"version\":9").into_bytes(),
            "does not hold",
        ),
        ("expired", fs::read(short).unwrap(), "it expired at"),
        ("of a kind that is forbidden", fs::read(forbidden).unwrap(), "no rule allows this kind"),
        ("cut", bytes[..bytes.len() - 1].to_vec(), "is not the one that was signed"),
    ]
}

#[test]
fn a_centre_in_the_wrong_hands_changes_nothing_on_a_server() {
    let Some(pushing) = Pushing::start(Centre::start()) else { return };
    let server = pushing.server("db1", "standby");
    let signer = &pushing.signer;
    let first = signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    let second = signer.release(2, &[("settings/a.toml", "a = 2\n")]);
    for release in [&first, &second] {
        pushing.push("apply", &[release]).expect_status(0);
        pushing.ask(&server).expect_status(0);
    }
    for (what, file, words) in forged_files(signer, &first) {
        let third = signer.release(3, &[("settings/a.toml", &format!("a = 3 # {what}\n"))]);
        let number = pushing.json("apply", &[&third])["push"].to_string();
        let hex = file.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        pushing.centre.server.sql(&include_str!("sql/forge_part.sql").replace("{hex}", &hex));
        let ran = pushing.ask(&server).expect_status(1);
        assert!(ran.stderr.contains(words), "{what}: {}", ran.stderr);
        let status = pushing.json("status", &[&number]);
        assert!(status[0]["servers"][0]["reason"].as_str().unwrap().contains(words), "{what}: {status}");
        assert_eq!(status[0]["state"], "halted", "{what}");
        assert_eq!(read(&server, "a.toml"), "a = 2\n", "{what}");
        assert_eq!(fs::read_dir(server.path("etc")).unwrap().count(), 1, "{what}");
    }
    // A push that was written into the tables by hand brings nothing else either.
    pushing.centre.server.sql(include_str!("sql/forge_push.sql"));
    let ran = pushing.ask(&server).expect_status(1);
    assert!(ran.stderr.contains("is not the one that was signed"), "{}", ran.stderr);
    assert_eq!(read(&server, "a.toml"), "a = 2\n");
}

/// The agent of a server ran as root, and wrote where an application's user owned the directory: that user had a program of his run, and
/// a file of root's given to him.
#[test]
fn an_agent_does_not_run_as_root_and_writes_nowhere_that_others_can_change() {
    let Some(pushing) = Pushing::start(Centre::start()) else { return };
    let server = pushing.server("db1", "standby");
    let release = pushing.signer.release(1, &[("settings/a.toml", "a = 1\n")]);
    pushing.push("apply", &[&release]).expect_status(0);
    let etc = server.path("etc");
    fs::set_permissions(&etc, fs::Permissions::from_mode(0o777)).unwrap();
    let ran = pushing.ask(&server).expect_status(1);
    assert!(ran.stderr.contains("another account") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert_eq!(fs::read_dir(&etc).unwrap().count(), 0);
    if is_root() {
        let agent = ["fleet", "agent", &pushing.centre.address(), "--policy", "push.toml", "--once"];
        let ran = server.run(&agent).expect_status(2);
        assert!(ran.stderr.contains("root") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
}
