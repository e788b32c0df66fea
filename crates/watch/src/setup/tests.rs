//! Valid files, and the messages for invalid ones.

use super::*;

fn read(text: &str) -> Result<CollectorSetup, SetupError> {
    CollectorSetup::parse(text, Path::new("collector.toml"))
}

const CHANNEL: &str = "[channels.ops]\nwebhook = \"https://example.com/hook\"\n";
const SOURCE: &str = "[[source]]\nurl = \"postgres://mon@db1/sales\"\n";
const JOB: &str = "[[job]]\nname = \"drill\"\ncalendar = \"30 2 * * *\"\ncommand = [\"true\"]\n";

#[test]
fn the_example_is_read_whole() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/collector.toml");
    let setup = CollectorSetup::read(path.as_ref()).unwrap();
    assert!(setup.sources.len() >= 3 && setup.jobs.len() >= 3 && !setup.alerts.book.rules.is_empty());
    assert!(
        setup.sources.iter().any(|source| source.name == "sales primary" && source.tags == ["prod", "sales"])
    );
}

#[test]
fn what_a_source_or_a_job_does_not_say_has_a_value_all_the_same() {
    let setup = read(&format!("interval = \"30s\"\n{SOURCE}{JOB}")).unwrap();
    let source = &setup.sources[0];
    assert_eq!(
        (source.name.as_str(), source.interval),
        ("postgres://db1:5432/sales", Duration::from_secs(30))
    );
    assert_eq!((source.timeout, setup.keep_raw), (TIMEOUT, KEEP_RAW));
    assert_eq!(setup.keep_raw, Duration::from_secs(1_209_600), "two weeks");
    let job = &setup.jobs[0];
    assert_eq!((job.deadline, job.user.as_str()), (Duration::from_secs(3_600), "iostall"));
}

#[test]
fn what_cannot_be_is_refused_with_its_place_and_what_to_write() {
    let with = |text: &str, old: &str, new: &str| text.replace(old, new);
    for (text, wanted) in [
        (String::new(), "nothing would ever be done"),
        (format!("{SOURCE}{SOURCE}"), "is there twice: its samples would mix"),
        (with(SOURCE, "postgres://mon", "postgres://mon:hunter2"), "password-file"),
        (with(SOURCE, "sales\"", "sales?password=prompt\""), "nobody can be asked"),
        (format!("{SOURCE}interval = \"10ms\"\n"), "the shortest interval is 1s"),
        (format!("{SOURCE}colour = 1\n"), "unknown field `colour`"),
        (format!("{SOURCE}server = \"db1\"\n"), "server is for `iostall fleet pull`"),
        (format!("{JOB}{JOB}"), "is there twice"),
        (format!("{JOB}notify = [\"pager\"]\n"), "there is no channel \"pager\""),
        (format!("{JOB}deadline = \"0s\"\n"), "the shortest deadline is 1s"),
        (format!("{JOB}user = \"a b\"\n"), "no name of an account"),
        (with(JOB, "30 2", "61 2"), "job \"drill\": calendar"),
        (with(JOB, "[\"true\"]", "[]"), "a program and its arguments"),
        (format!("alerts = \"none.toml\"\n{SOURCE}"), "cannot read the file of alerts"),
        (format!("alerts = \"none.toml\"\n{CHANNEL}{SOURCE}"), "one place is enough"),
        (
            format!("{SOURCE}[[rules]]\nname = \"r\"\nwhen = \"silent\"\nfor = \"1m\"\nnotify = [\"x\"]\n"),
            "no channel \"x\"",
        ),
    ] {
        let said = read(&text).unwrap_err().to_string();
        assert!(said.contains(wanted), "{said}\nfor:\n{text}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

/// A rule about a source of another name never fired, and nobody was told.
#[test]
fn a_rule_that_is_about_no_source_is_named() {
    let rule = |name: &str, source: &str| {
        format!(
            "[[rules]]\nname = \"{name}\"\nwhen = \"silent\"\nfor = \"1m\"\nsource = \"{source}\"\nnotify = [\"ops\"]\n"
        )
    };
    let setup = read(&format!("{CHANNEL}{SOURCE}{}{}", rule("right", "db1"), rule("wrong", "db2"))).unwrap();
    assert_eq!(setup.rules_about_nothing(), ["wrong"]);
}

#[test]
fn what_is_pulled_counts_for_its_host_or_a_server_by_name_and_is_kept_shortly() {
    let read = |text: &str| CollectorSetup::parse_for(text, Path::new("fleet.toml"), Purpose::Pull);
    let setup = read(&format!("{SOURCE}{}server = \"sales\"\n", SOURCE.replace("db1", "db2"))).unwrap();
    let servers: Vec<String> = setup.sources.iter().map(WatchedSource::server).collect();
    assert_eq!((servers, setup.keep_raw), (vec!["db1".into(), "sales".into()], Duration::from_secs(3_600)));
    let kept = Purpose::Pull.retention(setup.keep_raw);
    assert_eq!((kept.raw.as_secs(), kept.days), (3_600, Some(kept.hours)));
    let said = read("[[source]]\nurl = \"linux:\"\n").unwrap_err().to_string();
    assert!(said.contains("on its own host"), "{said}");
    assert!(read(&format!("{SOURCE}server = \" \"\n")).unwrap_err().to_string().contains("the server must"));
}
