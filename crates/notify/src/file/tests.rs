//! What can be written, and what is refused with which words.

use iostall_model::BackupSort;
use iostall_model::alert::{Condition, Measured, VolumeLimit};

use super::{AlertFile, AlertFileError};

const CHANNEL: &str = "[channels.ops]\nwebhook = \"https://example.com/hook\"\n";
const RULE: &str =
    "[[rules]]\nname = \"r\"\nwhen = \"stall-per-read\"\nover = \"20ms\"\nfor = \"5m\"\nnotify = [\"ops\"]\n";

fn read(text: &str) -> Result<AlertFile, AlertFileError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("alerts.toml");
    std::fs::write(&path, text).unwrap();
    AlertFile::read(&path)
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_example_in_the_documentation_is_read_whole() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/alerts.toml");
    let file = AlertFile::read(path.as_ref()).unwrap();
    assert_eq!((file.channels.len(), file.pulses.len()), (5, 1));
    assert_eq!(file.book.classes.len(), 2);
    let slow = &file.book.rules[0];
    assert!((slow.condition.threshold(Some("flash")).unwrap() - 5e6).abs() < 1.0);
    assert!((slow.condition.threshold(None).unwrap() - 20e6).abs() < 1.0);
    assert!(file.book.rules.iter().any(|rule| rule.condition == Condition::Silent));
}

#[test]
fn what_a_rule_does_not_say_has_a_value_all_the_same() {
    let file = read(&format!("{CHANNEL}{RULE}")).unwrap();
    let rule = &file.book.rules[0];
    assert_eq!((rule.sustained_ns, rule.clear_ns), (300_000_000_000, 300_000_000_000));
    assert_eq!((rule.operations_min, rule.repeat_ns), (10, None));
    assert!(matches!(rule.condition, Condition::Over { measured: Measured::StallPerRead, .. }));
    assert_eq!(file.channels[0].attempts, 3);
}

#[test]
fn a_throughput_is_in_bytes_and_iops_are_a_number() {
    let rule = |when: &str, over: &str| {
        let text = RULE.replace("stall-per-read", when).replace("\"20ms\"", over);
        read(&format!("{CHANNEL}{text}")).unwrap().book.rules[0].condition.threshold(None).unwrap()
    };
    assert!((rule("throughput", "\"400MB/s\"") - 4e8).abs() < 0.5);
    assert!((rule("iops", "5000") - 5000.0).abs() < 1e-9);
    assert!((rule("size", "\"100GiB\"") - 107_374_182_400.0).abs() < 0.5);
}

/// What a commit waits for, the sync of the log, could not be alerted on.
#[test]
fn syncs_can_be_alerted_on_by_their_stall_and_their_number() {
    let rule = |when: &str, over: &str| {
        let text = RULE.replace("stall-per-read", when).replace("\"20ms\"", over);
        read(&format!("{CHANNEL}{text}")).unwrap().book.rules[0].condition.threshold(None).unwrap()
    };
    assert!((rule("stall-per-sync", "\"5ms\"") - 5e6).abs() < 0.5);
    assert!((rule("syncs", "200") - 200.0).abs() < 1e-9);
}

#[test]
fn a_receiver_with_one_address_needs_none_and_a_heartbeat_needs_no_rule() {
    let file = read("[channels.ops]\ntemplate = \"pagerduty\"\ntoken-env = \"KEY\"\n");
    assert!(file.is_err(), "no rule, no heartbeat: nothing would be told");
    let pager = "[channels.ops]\ntemplate = \"pagerduty\"\ntoken-env = \"KEY\"\n";
    let file = read(&format!("{pager}{RULE}")).unwrap();
    assert_eq!(file.channels[0].transport.describe(), "POST https://events.pagerduty.com/v2/enqueue");
    let file =
        read("[channels.a]\nheartbeat = \"https://x.example/1\"\nevery = \"5m\"\ntag = \"prod\"\n").unwrap();
    assert_eq!((file.pulses[0].every.as_secs(), file.pulses[0].of.tag.as_deref()), (300, Some("prod")));
    assert!(file.notified().is_empty());
}

#[test]
fn a_secret_in_the_file_is_refused_and_not_repeated() {
    for channel in [
        "[channels.ops]\nwebhook = \"https://me:hunter2@example.com/\"\n",
        "[channels.ops]\nsmtp = \"smtp://me:hunter2@example.com\"\nfrom = \"a@b.c\"\nto = [\"a@b.c\"]\n",
    ] {
        let said = refusal(&format!("{channel}{RULE}"));
        assert!(said.contains("-file") && !said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_password_is_not_sent_in_the_open_to_another_machine() {
    let channel = "[channels.ops]\nsmtp = \"smtp://me@example.com?tls=off\"\nfrom = \"a@b.c\"\nto = [\"a@b.c\"]\n\
                   password-env = \"P\"\n";
    assert!(refusal(&format!("{channel}{RULE}")).contains("remove tls=off"));
}

#[test]
fn what_cannot_be_is_refused_with_its_place_and_what_to_write() {
    let with = |old: &str, new: &str| format!("{CHANNEL}{RULE}").replace(old, new);
    for (text, wanted) in [
        (CHANNEL.to_owned(), "there is no rule"),
        (with("notify = [\"ops\"]", "notify = [\"pager\"]"), "there is no channel \"pager\""),
        (with("notify = [\"ops\"]", "notify = []"), "notify is empty"),
        (with("\"20ms\"", "20"), "write a length of time"),
        (with("\"20ms\"", "\"0ms\""), "above zero"),
        (with("over = \"20ms\"\n", ""), "needs a threshold"),
        (with("over = ", "over-by-class.gold = "), "no class \"gold\""),
        (with("stall-per-read", "silent"), "neither a threshold nor files"),
        (with("stall-per-read", "stall"), "unknown variant `stall`"),
        (with("for = ", "four = "), "unknown field `four`"),
        (format!("{CHANNEL}{RULE}{RULE}"), "is there twice"),
        (format!("{CHANNEL}[[classes]]\nname = \"all\"\n{RULE}"), "fits everything"),
        (with("webhook = ", "timeout = \"1s\"\ncommand = [\"x\"]\nwebhook = "), "exactly one of"),
        (with("https://", "ftp://"), "must begin with https"),
        (
            with("webhook = ", "template = \"fax\"\nwebhook = "),
            "there is no template \"fax\": document, slack",
        ),
        (with("webhook = ", "template = \"pagerduty\"\nwebhook = "), "needs its key in token-file"),
        (with("webhook = ", "template-file = \"none.json\"\nwebhook = "), "cannot read the template"),
        (with("webhook = ", "every = \"5m\"\nwebhook = "), "are for a heartbeat"),
        (with("webhook = ", "heartbeat = "), "a heartbeat needs every"),
        (with("webhook = ", "every = \"5m\"\nheartbeat = "), "there is no channel \"ops\""),
        (with("webhook = \"https://example.com/hook\"", "command = []"), "a program and its arguments"),
        (
            with("notify =", "mute = [{ from = \"22:00\", to = \"06:00\", days = [\"freitag\"] }]\nnotify ="),
            "is not a day",
        ),
        (
            with("notify =", "mute = [{ from = \"22:00\", to = \"06:00\", zone = \"Mars/Dome\" }]\nnotify ="),
            "time zone",
        ),
    ] {
        let said = refusal(&text);
        assert!(said.contains(wanted), "{said}\nfor:\n{text}");
    }
}

/// An alert on drills took the threshold of another rule that it was copied from, and meant nothing by it.
#[test]
fn a_rule_about_drills_names_a_backup_and_an_age_and_nothing_else() {
    let rule = |rest: &str| {
        format!("{CHANNEL}[[rules]]\nname = \"r\"\nwhen = \"no-drill\"\nnotify = [\"ops\"]\n{rest}\n")
    };
    let file = read(&rule("for = \"8d\"\nbackup = \"db1/shop\"")).unwrap();
    let read_rule = &file.book.rules[0];
    assert_eq!(read_rule.condition, Condition::Undrilled { backup: Some("db1/shop".into()) });
    assert_eq!(read_rule.sustained_ns, 8 * 24 * 3_600_000_000_000);
    assert_eq!(
        read(&rule("for = \"8d\"")).unwrap().book.rules[0].condition,
        Condition::Undrilled { backup: None }
    );
    assert!(refusal(&rule("for = \"0s\"")).contains("above zero"));
    assert!(refusal(&rule("for = \"8d\"\nover = \"20ms\"")).contains("neither a threshold"));
    assert!(refusal(&rule("for = \"8d\"\ntag = \"prod\"")).contains("nor sources"));
    let other = RULE.replace("over", "backup = \"x\"\nover");
    assert!(refusal(&format!("{CHANNEL}{other}")).contains("no-drill"));
}

#[test]
fn a_rule_about_backups_names_an_age_and_what_counts() {
    let rule = |rest: &str| {
        format!("{CHANNEL}[[rules]]\nname = \"r\"\nwhen = \"no-backup\"\nnotify = [\"ops\"]\n{rest}\n")
    };
    let counts = |rest: &str| read(&rule(rest)).unwrap().book.rules[0].condition.clone();
    let full = Condition::NotBackedUp { counts: vec![BackupSort::Full] };
    assert_eq!(counts("for = \"26h\"\ndatabase = \"sales\""), full);
    let wide = vec![BackupSort::Full, BackupSort::CopyOnly];
    assert_eq!(
        counts("for = \"26h\"\ncounts = [\"full\", \"copy-only\"]"),
        Condition::NotBackedUp { counts: wide }
    );
    assert!(refusal(&rule("for = \"0s\"")).contains("above zero"));
    assert!(refusal(&rule("for = \"26h\"\nover = \"20ms\"")).contains("neither a threshold"));
    assert!(refusal(&rule("for = \"26h\"\nfile = \"mdf\"")).contains("nor files"));
    assert!(refusal(&rule("for = \"26h\"\ncounts = []")).contains("counts is empty"));
    let other = RULE.replace("over", "counts = [\"log\"]\nover");
    assert!(refusal(&format!("{CHANNEL}{other}")).contains("no-backup"));
}

/// A bucket without its size cannot be empty in 40 minutes.
#[test]
fn a_rule_about_credits_needs_the_bucket_and_one_about_a_held_rate_nothing() {
    let rule = |when: &str, rest: &str| {
        format!(
            "{CHANNEL}[[rules]]\nname = \"r\"\nwhen = \"{when}\"\nfor = \"1m\"\nnotify = [\"ops\"]\n{rest}\n"
        )
    };
    let condition = |text: &str| read(text).unwrap().book.rules[0].condition.clone();
    let bucket = "credits = 5400000\nrefill = 300\nempty-within = \"40m\"";
    let draining =
        VolumeLimit::Draining { credits: 5.4e6, refill_iops: 300.0, within_ns: 2400 * 1_000_000_000 };
    assert_eq!(condition(&rule("draining", bucket)), Condition::Limit(draining));
    assert_eq!(condition(&rule("held-iops", "")), Condition::Limit(VolumeLimit::HeldIops));
    assert!(refusal(&rule("draining", "refill = 300.0")).contains("needs the bucket"));
    assert!(refusal(&rule("held-iops", bucket)).contains("draining"));
    assert!(refusal(&rule("held-throughput", "over = \"1MB\"")).contains("no threshold"));
}
