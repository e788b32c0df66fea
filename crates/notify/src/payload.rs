//! A notice as JSON and as text.

use iostall_measure::foreign::shown;
use iostall_measure::number::{age, throughput};
use iostall_model::Level;
use iostall_model::alert::{About, LastDrill, Measured, Notice, Occasion};
use jiff::SignedDuration;
use serde_json::{Value, json};

pub const SCHEMA: &str = "iostall-alert";
pub const SCHEMA_VERSION: u32 = 2;

const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// The document described in `docs/formats.md`.
pub(crate) fn payload(notice: &Notice) -> Value {
    let mut document = json!({
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "occasion": notice.occasion,
        "rule": notice.rule,
        "summary": summary(notice),
        "source": notice.source,
        "since": notice.since,
        "at": notice.at,
        "lasted_s": notice.lasted_ns as f64 / NS_PER_S,
        "group": notice.group,
        "count": notice.count,
        "firing_count": notice.firing_count,
    });
    if let Some(drill) = &notice.drill {
        document["metric"] = json!("drill_age_s");
        document["backup"] = json!(drill.backup);
        document["last_drill"] = json!(drill.at);
        return document;
    }
    let Some(about) = &notice.about else {
        document["metric"] = json!("silent_s");
        return document;
    };
    document["metric"] = json!(metric(about.measured).0);
    let values = about_json(about);
    for (key, value) in values.as_object().into_iter().flatten() {
        document[key] = value.clone();
    }
    document["others"] = notice.others.iter().map(about_json).collect();
    document
}

fn about_json(about: &About) -> Value {
    let (_, factor) = metric(about.measured);
    json!({
        "level": about.level,
        "kind": about.kind,
        "name": about.name,
        "class": about.class,
        "volume": about.volume,
        "threshold": about.threshold / factor,
        "value": about.value.map(|value| value / factor),
        "value_max": about.value_max / factor,
    })
}

/// The name of a metric with its unit, and the divisor for that unit.
fn metric(measured: Measured) -> (&'static str, f64) {
    match measured {
        Measured::StallPerRead => ("stall_ms_per_read", NS_PER_MS),
        Measured::StallPerWrite => ("stall_ms_per_write", NS_PER_MS),
        Measured::StallPerIo => ("stall_ms_per_io", NS_PER_MS),
        Measured::StallPerSync => ("stall_ms_per_sync", NS_PER_MS),
        Measured::Syncs => ("syncs_per_s", 1.0),
        Measured::Throughput => ("bytes_per_s", 1.0),
        Measured::Iops => ("io_per_s", 1.0),
        Measured::Size => ("size_bytes", 1.0),
        Measured::BackupAge => ("backup_age_s", NS_PER_S),
        Measured::HeldIops => ("held_io_per_s", 1.0),
        Measured::HeldThroughput => ("held_bytes_per_s", 1.0),
        Measured::EmptyIn => ("empty_in_s", NS_PER_S),
    }
}

/// One line of text: the subject of a mail, the text of a message.
pub(crate) fn summary(notice: &Notice) -> String {
    let (rule, source) = (shown(&notice.rule), shown(&notice.source));
    let lasted = length(notice.lasted_ns);
    if let Some(drill) = &notice.drill {
        return format!("{rule}: {}", drill_summary(notice, drill));
    }
    let Some(about) = &notice.about else {
        return match notice.occasion {
            Occasion::Test => format!("test of {rule}: no source is silent"),
            Occasion::Firing | Occasion::StillFiring => {
                format!("{rule}: {source} has been silent for {lasted}")
            }
            Occasion::Resolved => format!("{rule}: {source} answers again after {lasted}"),
        };
    };
    let place = place(notice, about);
    let limit = amount(about.measured, about.threshold);
    if about.measured == Measured::BackupAge {
        return format!("{rule}: {}", backup_summary(notice, about, &place, &limit));
    }
    if let Some(said) = limit_summary(notice, about, &place) {
        return format!("{rule}: {said}");
    }
    match notice.occasion {
        Occasion::Test => format!("test of {rule}: nothing is over {limit}"),
        Occasion::Firing | Occasion::StillFiring => {
            let value = amount(about.measured, about.value.unwrap_or(about.value_max));
            format!("{rule}: {place}: {value}, over {limit} for {lasted}")
        }
        Occasion::Resolved => {
            let max = amount(about.measured, about.value_max);
            let left = match (notice.firing_count, notice.count) {
                (0, _) => String::new(),
                (left, _) => format!("; {left} still firing"),
            };
            format!("{rule}: {place}: ended after {lasted}, at most {max}, limit {limit}{left}")
        }
    }
}

/// What is said of a volume at its limit; `None` if it is about something else.
fn limit_summary(notice: &Notice, about: &About, place: &str) -> Option<String> {
    let value = amount(about.measured, about.value.unwrap_or(about.value_max));
    let lasted = length(notice.lasted_ns);
    let is_bucket = match about.measured {
        Measured::EmptyIn => true,
        Measured::HeldIops | Measured::HeldThroughput => false,
        _ => return None,
    };
    Some(match (notice.occasion, is_bucket) {
        (Occasion::Test, _) => "test; no volume is at its limit".to_owned(),
        (Occasion::Resolved, true) => format!("{place}: its credits last again, after {lasted}"),
        (Occasion::Resolved, false) => format!("{place}: no longer held, after {lasted}"),
        (Occasion::Firing | Occasion::StillFiring, true) => {
            format!("{place}: credits empty in {value} at most, at the present rate")
        }
        (Occasion::Firing | Occasion::StillFiring, false) => {
            format!("{place}: held at {value} for {lasted}, while more is asked for")
        }
    })
}

fn backup_summary(notice: &Notice, about: &About, place: &str, limit: &str) -> String {
    let left = match notice.firing_count {
        0 => String::new(),
        left => format!("; {left} still without"),
    };
    match (notice.occasion, about.value) {
        (Occasion::Test, _) => format!("test; no backup is older than {limit}"),
        (Occasion::Resolved, _) => format!("{place}: backed up again, or gone{left}"),
        (Occasion::Firing | Occasion::StillFiring, None) => format!("{place}: never backed up"),
        (Occasion::Firing | Occasion::StillFiring, Some(age_ns)) => {
            format!("{place}: last backup {} ago, limit {limit}", amount(Measured::BackupAge, age_ns))
        }
    }
}

fn drill_summary(notice: &Notice, drill: &LastDrill) -> String {
    let of = drill.backup.as_deref().map_or_else(|| "any backup".to_owned(), shown);
    match (notice.occasion, drill.at) {
        (Occasion::Test, _) => format!("test; {of} is not known to lack a drill"),
        (Occasion::Resolved, _) => format!("{of} has a good drill again"),
        (Occasion::Firing | Occasion::StillFiring, Some(at)) => {
            format!("the last good drill of {of} was on {at:.0}, {} ago", length(notice.lasted_ns))
        }
        (Occasion::Firing | Occasion::StillFiring, None) => format!("there never was a good drill of {of}"),
    }
}

/// Where it is: the one thing, or how many there are and the worst of them.
fn place(notice: &Notice, about: &About) -> String {
    let (source, name) = (shown(&notice.source), shown(&about.name));
    let volume = about.volume.as_deref().filter(|volume| *volume != about.name);
    match (notice.count, volume) {
        (0 | 1, _) => format!("{name} on {source}"),
        (count, Some(volume)) => {
            format!("{count} {} on {} of {source}, worst {name}", noun(about.level), shown(volume))
        }
        (count, None) => format!("{count} {} of {source}, worst {name}", noun(about.level)),
    }
}

fn noun(level: Level) -> &'static str {
    match level {
        Level::Files => "files",
        Level::Databases => "databases",
        Level::Volumes => "volumes",
        Level::Server => "totals",
    }
}

/// The next worst things of a group, a line each.
pub(crate) fn details(notice: &Notice) -> Vec<String> {
    let line = |about: &About| {
        let value = match (notice.occasion, about.value) {
            (Occasion::Resolved, _) => about.value_max,
            (_, None) if about.measured == Measured::BackupAge => {
                return format!("{}: never backed up", shown(&about.name));
            }
            (_, value) => value.unwrap_or(about.value_max),
        };
        format!("{}: {}", shown(&about.name), amount(about.measured, value))
    };
    let named = 1 + notice.others.len() as u64;
    let mut lines: Vec<String> = notice.others.iter().map(line).collect();
    if notice.count > named {
        lines.push(format!("and {} more", notice.count - named));
    }
    lines
}

fn amount(about: Measured, value: f64) -> String {
    match about {
        Measured::StallPerRead => format!("{} ms/read", short(value / NS_PER_MS)),
        Measured::StallPerWrite => format!("{} ms/write", short(value / NS_PER_MS)),
        Measured::StallPerIo => format!("{} ms/io", short(value / NS_PER_MS)),
        Measured::StallPerSync => format!("{} ms/sync", short(value / NS_PER_MS)),
        Measured::Syncs => format!("{} syncs/s", short(value)),
        Measured::Throughput | Measured::HeldThroughput => throughput(value),
        Measured::Iops | Measured::HeldIops => format!("{} io/s", short(value)),
        Measured::Size => format!("{} MiB", short(value / 1_048_576.0)),
        Measured::BackupAge | Measured::EmptyIn => age(whole(value)),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
fn whole(ns: f64) -> u64 {
    ns as u64
}

fn short(number: f64) -> String {
    if number >= 100.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

fn length(ns: u64) -> String {
    let seconds = SignedDuration::from_secs(i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX));
    format!("{seconds:#}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::message::Message;
    use iostall_model::Kind;

    /// A notice about a slow file.
    pub(crate) fn notice(occasion: Occasion) -> Notice {
        Notice {
            occasion,
            rule: "slow reads".into(),
            channels: vec!["ops".into()],
            source: "sqlserver://db1:1433".into(),
            about: Some(About {
                level: Level::Files,
                kind: Kind::SqlServerFile,
                name: "E:\\a.mdf".into(),
                class: Some("flash".into()),
                volume: Some("E:\\".into()),
                measured: Measured::StallPerRead,
                threshold: 2e6,
                value: Some(31.25e6),
                value_max: 140e6,
            }),
            drill: None,
            others: Vec::new(),
            count: 1,
            firing_count: 1,
            group: "slow reads | sqlserver://db1:1433 | E:\\".into(),
            since: "2026-11-21T12:00:00Z".parse().unwrap(),
            at: "2026-11-21T12:05:00Z".parse().unwrap(),
            lasted_ns: 300_000_000_000,
        }
    }

    /// The message of the same notice.
    pub(crate) fn message(occasion: Occasion) -> Message {
        notice(occasion).into()
    }

    #[test]
    fn the_document_carries_units_in_the_name_of_its_metric() {
        let document = payload(&notice(Occasion::Firing));
        let wanted = json!({
            "schema": "iostall-alert",
            "schema_version": 2,
            "occasion": "firing",
            "rule": "slow reads",
            "summary": "slow reads: E:\\a.mdf on sqlserver://db1:1433: 31.25 ms/read, over 2.00 ms/read for 5m",
            "source": "sqlserver://db1:1433",
            "since": "2026-11-21T12:00:00Z",
            "at": "2026-11-21T12:05:00Z",
            "lasted_s": 300.0,
            "group": "slow reads | sqlserver://db1:1433 | E:\\",
            "count": 1,
            "firing_count": 1,
            "volume": "E:\\",
            "others": [],
            "level": "files",
            "kind": "sql-server-file",
            "name": "E:\\a.mdf",
            "class": "flash",
            "metric": "stall_ms_per_read",
            "threshold": 2.0,
            "value": 31.25,
            "value_max": 140.0,
        });
        assert_eq!(document, wanted);
    }

    #[test]
    fn two_hundred_files_are_one_line_with_the_worst_of_them() {
        let mut notice = notice(Occasion::Firing);
        let about = notice.about.clone().unwrap();
        notice.others = vec![About { name: "E:\\b.ndf".into(), value: Some(9e6), ..about }];
        (notice.count, notice.firing_count) = (200, 200);
        let wanted = "slow reads: 200 files on E:\\ of sqlserver://db1:1433, worst E:\\a.mdf: 31.25 ms/read, over 2.00 \
                      ms/read for 5m";
        assert_eq!(summary(&notice), wanted);
        assert_eq!(details(&notice), ["E:\\b.ndf: 9.00 ms/read", "and 198 more"]);
        assert_eq!(payload(&notice)["others"][0]["value"], 9.0);
        (notice.occasion, notice.firing_count) = (Occasion::Resolved, 3);
        assert!(summary(&notice).ends_with("limit 2.00 ms/read; 3 still firing"), "{}", summary(&notice));
    }

    #[test]
    fn a_missing_drill_is_said_with_its_backup_and_its_age() {
        let drill = |at: Option<&str>| LastDrill {
            backup: Some("db1/shop".into()),
            at: at.map(|at| at.parse().unwrap()),
        };
        let old = Notice {
            about: None,
            drill: Some(drill(Some("2026-11-13T02:30:00Z"))),
            lasted_ns: 9 * 24 * 3_600_000_000_000,
            ..notice(Occasion::Firing)
        };
        assert_eq!(
            summary(&old),
            "slow reads: the last good drill of db1/shop was on 2026-11-13T02:30:00Z, 216h ago"
        );
        let document = payload(&old);
        assert_eq!(
            (&document["metric"], &document["backup"], &document["last_drill"]),
            (&json!("drill_age_s"), &json!("db1/shop"), &json!("2026-11-13T02:30:00Z"))
        );
        let never = Notice { drill: Some(drill(None)), ..old.clone() };
        assert_eq!(summary(&never), "slow reads: there never was a good drill of db1/shop");
        let again = Notice { occasion: Occasion::Resolved, ..never };
        assert_eq!(summary(&again), "slow reads: db1/shop has a good drill again");
    }

    #[test]
    fn a_missing_backup_is_said_with_its_age_and_its_limit() {
        let hours = |hours: f64| hours * 3600.0 * 1e9;
        let about = |name: &str, age_h: Option<f64>| About {
            level: Level::Databases,
            kind: Kind::SqlServerBackup,
            name: name.into(),
            class: None,
            volume: None,
            measured: Measured::BackupAge,
            threshold: hours(26.0),
            value: age_h.map(hours),
            value_max: age_h.map_or(0.0, hours),
        };
        let old = Notice {
            rule: "backups".into(),
            about: Some(about("sales", Some(75.5))),
            ..notice(Occasion::Firing)
        };
        assert_eq!(
            summary(&old),
            "backups: sales on sqlserver://db1:1433: last backup 3d 3h ago, limit 26h 0m"
        );
        let document = payload(&old);
        assert_eq!((&document["metric"], &document["value"]), (&json!("backup_age_s"), &json!(271_800.0)));
        let never = Notice {
            about: Some(about("hr", None)),
            others: vec![about("sales", Some(75.5)), about("stock", None)],
            count: 3,
            ..old.clone()
        };
        assert_eq!(
            summary(&never),
            "backups: 3 databases of sqlserver://db1:1433, worst hr: never backed up"
        );
        assert_eq!(details(&never), ["sales: 3d 3h", "stock: never backed up"]);
        let again = Notice { occasion: Occasion::Resolved, firing_count: 0, ..old };
        assert!(summary(&again).ends_with("sales on sqlserver://db1:1433: backed up again, or gone"));
    }

    #[test]
    fn a_silent_source_has_no_file_and_no_threshold() {
        let silent = Notice { about: None, ..notice(Occasion::Resolved) };
        assert_eq!(summary(&silent), "slow reads: sqlserver://db1:1433 answers again after 5m");
        assert_eq!(payload(&silent)["metric"], "silent_s");
        assert_eq!(payload(&silent).get("value"), None);
    }
}
