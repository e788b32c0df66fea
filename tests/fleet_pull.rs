//! Sources without an agent, which the centre samples into its repository: real servers, and mock ones that hang or refuse.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use iostall_measure::{Clock as _, MonotonicClock};
use serde_json::Value;

use crate::fleet_centre::reference;
use crate::mariadb::{Mariadb, PASSWORD};
use crate::postgres::Postgres;
use crate::running::Running;
use crate::sqlserver::server::{self, Server};
use crate::support::{Ran, Workspace, skip, until};

/// A repository, and where the puller runs.
struct Centre {
    here: Workspace,
    server: Postgres,
    word: PathBuf,
    url: String,
}

impl Centre {
    /// `None`, with a word about it, without PostgreSQL.
    fn start() -> Option<Self> {
        let here = Workspace::new();
        let Some(server) = Postgres::made_with(&["-E", "UTF8"]) else {
            skip("a centre that pulls", "PostgreSQL 15 is not installed");
            return None;
        };
        let word = here.secret("word", "right\n");
        server.sql("CREATE DATABASE central");
        let url = server.url("central", &word);
        here.run(&["fleet", "init", &url]).expect_status(0);
        Some(Self { here, server, word, url })
    }

    /// A source on the server of the repository.
    fn source(&self, name: &str, rest: &str) -> String {
        source(name, &self.server.url("postgres", &self.word), rest)
    }

    fn write(&self, sources: &[String]) {
        std::fs::write(self.here.path("fleet.toml"), format!("source = [\n{}]\n", sources.concat())).unwrap();
    }

    fn once(&self) -> Ran {
        self.here.run(&["fleet", "pull", "--once", "--json", &self.url, "--sources", "fleet.toml"])
    }

    fn pull(&self, options: &[&str]) -> Running {
        let line = ["fleet", "pull", "--json", &self.url, "--sources", "fleet.toml"];
        self.here.start(&[&line[..], options].concat())
    }

    fn value(&self, text: &str) -> String {
        self.server.value_in("central", text)
    }

    fn counts(&self) -> String {
        self.value(include_str!("sql/count_samples.sql"))
    }

    /// Samples in the repository.
    fn samples(&self) -> u64 {
        self.counts().split('|').nth(2).unwrap().parse().unwrap()
    }

    fn wait_for_samples(&self, count: u64) {
        until("samples come", || (self.samples() >= count).then_some(()));
    }

    /// The repository has the samples of the spools: as another one has which gets all of each as from a server.
    #[track_caller]
    fn assert_same_as(&self, spool: &Path) {
        reference(&self.server, &self.word, spool, "reference");
        let content = include_str!("sql/pulled_content.sql");
        let (found, wanted) = (self.value(content), self.server.value_in("reference", content));
        assert_eq!(found, wanted);
        let counts: Vec<&str> = found.split(' ').collect();
        assert_eq!(counts[0], counts[1], "a time twice: {found}");
    }
}

/// A line of the file.
fn source(name: &str, url: &str, rest: &str) -> String {
    format!("  {{ name = \"{name}\", url = \"{url}\"{rest} }},\n")
}

fn outcomes(ran: &Ran) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stdout));
    let of = |one: &Value| (text(&one["source"]), text(&one["server"]), text(&one["state"]));
    all.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn sources_are_sampled_once_as_those_of_their_servers() {
    let Some(centre) = Centre::start() else { return };
    centre.write(&[centre.source("sales", ", server = \"db1\""), centre.source("stock", "")]);
    let ran = centre.once().expect_status(0);
    let wanted = [("sales", "db1", "sent"), ("stock", "127.0.0.1", "sent")];
    assert_eq!(outcomes(&ran), wanted.map(|(a, b, c)| (a.into(), b.into(), c.into())));
    assert!(centre.counts().starts_with("2|2|2|"), "servers, sources, samples: {}", centre.counts());
    let listed = centre.here.run(&["fleet", "servers", &centre.url, "--json"]).expect_status(0).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    for (place, name) in ["127.0.0.1", "db1"].into_iter().enumerate() {
        assert_eq!(
            (&listed[place]["name"], &listed[place]["state"]),
            (&name.into(), &"pulled".into()),
            "{listed}"
        );
    }
    centre.once().expect_status(0);
    assert!(centre.counts().starts_with("2|2|4|"), "{}", centre.counts());
    let settings = centre
        .here
        .run(&["fleet", "settings", &centre.url, "--name", "full_page_writes"])
        .expect_status(0)
        .stdout;
    assert!(settings.contains("db1") && settings.contains("127.0.0.1"), "{settings}");
    let report = centre.here.run(&["fleet", "report", &centre.url, "--json", "-"]).expect_status(0).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let servers = report["servers"].as_array().unwrap();
    assert!(servers.iter().any(|one| one["hostname"] == "db1" || one["server"] == "db1"), "{servers:?}");
    // One that refuses costs the others nothing, and is said.
    let wrong = centre.here.secret("bad", "wrong\n");
    let wrong = source("wrong", &centre.server.url("postgres", &wrong), "");
    centre.write(&[wrong, centre.source("sales", ", server = \"db1\"")]);
    let ran = centre.once().expect_status(2);
    assert_eq!(outcomes(&ran)[1], ("wrong".into(), "127.0.0.1".into(), "failing".into()));
    assert!(ran.stderr.contains("refused the login") && !ran.stderr.contains("wrong\n"), "{}", ran.stderr);
    assert!(centre.counts().contains("|5|"), "{}", centre.counts());
}

#[test]
fn what_cannot_be_pulled_is_refused_and_a_store_is_no_spool() {
    let Some(centre) = Centre::start() else { return };
    centre.write(&[source("host", "linux:", "")]);
    let ran = centre.once().expect_status(2);
    assert!(ran.stderr.contains("on its own host") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    centre.write(&[centre.source("sales", "")]);
    centre.here.run(&["collect", "once", "linux:"]).expect_status(0);
    let line = ["fleet", "pull", "--once", &centre.url, "--sources", "fleet.toml", "--spool", "store.db"];
    let ran = centre.here.run(&line).expect_status(2);
    assert!(
        ran.stderr.contains("has a history of its own") && ran.stderr.contains("--spool"),
        "{}",
        ran.stderr
    );
    let kept = centre.here.run(&["store", "sources"]).expect_status(0).stdout;
    assert!(kept.contains("linux:") && !kept.contains("sales"), "{kept}");
    let nowhere = centre.server.url("postgres", &centre.word);
    let ran =
        centre.here.run(&["fleet", "pull", "--once", &nowhere, "--sources", "fleet.toml"]).expect_status(2);
    assert!(ran.stderr.contains("has no repository"), "{}", ran.stderr);
    let file = "server = \"db1\", ";
    centre.write(&[source(
        "sales",
        &centre.server.url("postgres", &centre.word),
        &format!(", {}", file.trim_end_matches(", ")),
    )]);
    let ran = centre.here.run(&["collect", "check", "fleet.toml"]).expect_status(2);
    assert!(ran.stderr.contains("fleet pull"), "{}", ran.stderr);
}

/// Until each of the few sources has so many samples, and each of the many.
fn reached(centre: &Centre, few: u64, many: u64) {
    until("samples come", || {
        let counts = centre.value(include_str!("sql/pulled_counts.sql"));
        let counts: Vec<u64> = counts.split('|').map_while(|count| count.parse().ok()).collect();
        matches!(counts[..], [a, b, 44] if a >= few && b >= many).then_some(())
    });
}

/// 44 sources that answer, one that hangs, one that refuses, and one with a wrong password, through kills of both sides.
#[test]
fn kills_of_the_puller_and_the_repository_lose_nothing_and_store_nothing_twice() {
    let Some(mut centre) = Centre::start() else { return };
    let (Some(second), Some(mariadb)) = (Postgres::start(), Mariadb::made_with(&["--performance-schema=on"]))
    else {
        return skip("a centre that pulls", "MariaDB is not installed");
    };
    let Some(third) = Postgres::start() else { return };
    mariadb.sql(include_str!("sql/mariadb_collector.sql"));
    second.sql(include_str!("sql/pulled_make_orders.sql"));
    let secret = centre.here.secret("mariadb", &format!("{PASSWORD}\n"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (silent.local_addr().unwrap().port(), silent);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let wrong = centre.here.secret("bad", "wrong\n");
    let every = ", interval = \"1s\"";
    let mut sources = vec![
        centre.source("few 1", every),
        source("few 2", &second.url("postgres", &centre.word), every),
        source("few 3", &third.url("postgres", &centre.word), every),
        source("few 4", &mariadb.url(&secret), every),
        source(
            "hangs",
            &format!("postgres://u@127.0.0.1:{}/d", silent.0),
            ", interval = \"1s\", timeout = \"2s\"",
        ),
        source("refuses", &format!("postgres://u@127.0.0.1:{closed}/d"), every),
        source("wrong", &third.url("postgres", &wrong), every),
    ];
    let many = |number| {
        source(
            &format!("many {number}"),
            &second.url("postgres", &centre.word),
            ", interval = \"5s\", server = \"farm\"",
        )
    };
    sources.extend((0..40).map(many));
    centre.write(&sources);
    let clock = MonotonicClock::new();
    let began_ns = clock.now_ns();
    let pulling = centre.pull(&["--workers", "8"]);
    reached(&centre, 3, 1);
    pulling.signal("KILL");
    drop(pulling);
    let mut pulling = centre.pull(&["--workers", "8"]);
    reached(&centre, 6, 1);
    centre.server.stop();
    pulling.wait_for("samples wait in the spool");
    centre.server.resume();
    pulling.wait_for("samples are sent to the repository again");
    reached(&centre, 9, 2);
    pulling.signal("INT");
    let ran = pulling.ended().expect_status(0);
    for (source, _, state) in outcomes(&ran) {
        let fails = ["hangs", "refuses", "wrong"].contains(&source.as_str());
        assert_eq!(state, if fails { "failing" } else { "sent" }, "{source}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("did not answer within 2s"), "{}", ran.stderr);
    // The pauses of each of both pullers double, so the tries are few however long a busy machine takes.
    let doublings = ((clock.now_ns() - began_ns) / 1_000_000_000).max(1).ilog2() as usize + 3;
    assert!(third.logged("password authentication failed") <= 2 * doublings, "{}", third.log());
    assert_eq!(centre.value(include_str!("sql/pulled_twice.sql")), "0");
    let seconds: u64 = centre.value(include_str!("sql/pulled_seconds.sql")).parse().unwrap();
    assert!(seconds >= 4, "the many are read in {seconds} of five seconds");
    let orders = second.value(include_str!("sql/reference_orders.sql"));
    assert_eq!(centre.value(include_str!("sql/pulled_orders.sql")), orders);
    centre.assert_same_as(&centre.here.path("store.db.pull"));
}

/// Two instances on one machine, as a scripted server answers for both: no iostall is on their host to look.
#[test]
fn instances_of_sql_server_on_one_volume_are_neighbours() {
    let Some(centre) = Centre::start() else { return };
    let server = Server::start(None);
    let answer = "written by a test\nfile\tvolume\tvolume_id\tmachine\n\
        5/1\tE:\\\t\\\\?\\Volume{6A1D}\\\tNODE1\n5/2\tL:\\\t\\\\?\\Volume{77AA}\\\tNODE1\n";
    server.answer_with("iostall:volumes", answer);
    let word = centre.here.secret("sql", &format!("{}\n", server::PASSWORD));
    let url = |host: &str| {
        let port = server.port;
        format!("sqlserver://{}@{host}:{port}?password-file={}", server::USER, word.display())
    };
    let patient = ", timeout = \"10m\"";
    centre.write(&[source("one", &url("127.0.0.1"), patient), source("two", &url("localhost"), patient)]);
    for (instance, files) in [
        (
            include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv"),
            include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv"),
        ),
        (
            include_str!("../crates/collect/testdata/sqlserver/2019_instance_2.tsv"),
            include_str!("../crates/collect/testdata/sqlserver/2019_files_2.tsv"),
        ),
    ] {
        server.answer_with("iostall:instance", instance);
        server.answer_with("iostall:files", files);
        centre.once().expect_status(0);
    }
    let report = centre.here.run(&["fleet", "report", &centre.url, "--json", "-"]).expect_status(0).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let devices = report["devices"].as_array().unwrap();
    let log = devices.iter().find(|device| device["identity"] == "node1/volume{77aa}");
    let log = log.unwrap_or_else(|| panic!("{report}"));
    let volumes = log["volumes"].as_array().unwrap();
    let mut sources: Vec<&str> = volumes.iter().map(|volume| volume["source"].as_str().unwrap()).collect();
    sources.sort_unstable();
    assert_eq!((&log["kind"], sources), (&"sqlserver-volume".into(), vec!["one", "two"]), "{log}");
}

#[test]
fn of_two_pullers_one_stands_by_and_takes_over_when_the_other_is_gone() {
    let Some(centre) = Centre::start() else { return };
    centre.write(&[centre.source("few 1", ", interval = \"1s\"")]);
    let first = centre.pull(&[]);
    centre.wait_for_samples(2);
    let mut second = centre.pull(&["--spool", "second.pull"]);
    second.wait_for("another puller samples few 1");
    first.signal("KILL");
    drop(first);
    second.wait_for("sampled here from now on: few 1");
    centre.wait_for_samples(centre.samples() + 2);
    // What the first has in its spool is older: it is not added after that of the second.
    let mut first = centre.pull(&[]);
    first.wait_for("another puller samples few 1");
    second.signal("INT");
    let ran = second.ended().expect_status(0);
    assert_eq!(outcomes(&ran)[0].2, "sent");
    first.signal("INT");
    assert_eq!(outcomes(&first.ended().expect_status(0))[0].2, "elsewhere");
    assert_eq!(centre.value(include_str!("sql/pulled_twice.sql")), "0");
    assert!(centre.counts().starts_with("1|1|"), "{}", centre.counts());
}

#[test]
fn a_file_that_changes_adds_and_removes_sources_and_the_rest_of_a_removed_one_is_sent() {
    let Some(mut centre) = Centre::start() else { return };
    let every = ", interval = \"1s\"";
    let other = Postgres::start().unwrap();
    let of_other = |name: &str| source(name, &other.url("postgres", &centre.word), every);
    centre.write(&[of_other("few 1"), of_other("few 2")]);
    let mut pulling = centre.pull(&[]);
    centre.wait_for_samples(4);
    centre.server.stop();
    pulling.wait_for("samples wait in the spool");
    centre.write(&[of_other("few 1"), of_other("few 3")]);
    pulling.wait_for("has changed and counts from now on");
    centre.server.resume();
    pulling.wait_for("samples are sent to the repository again");
    until("the new one comes", || centre.counts().starts_with("1|3|").then_some(()));
    until("settings come", || {
        let ran = centre.here.run(&["fleet", "settings", &centre.url, "--name", "full_page_writes"]);
        ran.stdout.contains("few 3, read at").then_some(())
    });
    pulling.signal("INT");
    pulling.ended().expect_status(0);
    centre.assert_same_as(&centre.here.path("store.db.pull"));
}
