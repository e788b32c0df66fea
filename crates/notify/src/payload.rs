//! A notice as JSON and as text.

use iostall_measure::foreign::shown;
use iostall_model::alert::{Measured, Notice, Occasion};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// Name of the document's format.
pub const SCHEMA: &str = "iostall-alert";
/// Version of the format.
pub const SCHEMA_VERSION: u32 = 2;

/// Nanoseconds in a millisecond and in a second.
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
    });
    let Some(about) = &notice.about else {
        document["metric"] = json!("silent_s");
        return document;
    };
    let (metric, factor) = metric(about.measured);
    for (key, value) in [
        ("level", json!(about.level)),
        ("kind", json!(about.kind)),
        ("name", json!(about.name)),
        ("class", json!(about.class)),
        ("metric", json!(metric)),
        ("threshold", json!(about.threshold / factor)),
        ("value", json!(about.value.map(|value| value / factor))),
        ("value_max", json!(about.value_max / factor)),
    ] {
        document[key] = value;
    }
    document
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
    }
}

/// One line of text: the subject of a mail, the text of a message.
pub(crate) fn summary(notice: &Notice) -> String {
    let (rule, source) = (shown(&notice.rule), shown(&notice.source));
    let lasted = length(notice.lasted_ns);
    let Some(about) = &notice.about else {
        return match notice.occasion {
            Occasion::Test => format!("test of {rule}: no source is silent"),
            Occasion::Firing | Occasion::StillFiring => {
                format!("{rule}: {source} has been silent for {lasted}")
            }
            Occasion::Resolved => format!("{rule}: {source} answers again after {lasted}"),
        };
    };
    let place = format!("{} on {source}", shown(&about.name));
    let limit = amount(about.measured, about.threshold);
    match notice.occasion {
        Occasion::Test => format!("test of {rule}: nothing is over {limit}"),
        Occasion::Firing | Occasion::StillFiring => {
            let value = amount(about.measured, about.value.unwrap_or(about.value_max));
            format!("{rule}: {place}: {value}, over {limit} for {lasted}")
        }
        Occasion::Resolved => {
            let max = amount(about.measured, about.value_max);
            format!("{rule}: {place}: ended after {lasted}, at most {max}, limit {limit}")
        }
    }
}

/// A number with its unit.
fn amount(about: Measured, value: f64) -> String {
    match about {
        Measured::StallPerRead => format!("{} ms/read", short(value / NS_PER_MS)),
        Measured::StallPerWrite => format!("{} ms/write", short(value / NS_PER_MS)),
        Measured::StallPerIo => format!("{} ms/io", short(value / NS_PER_MS)),
        Measured::StallPerSync => format!("{} ms/sync", short(value / NS_PER_MS)),
        Measured::Syncs => format!("{} syncs/s", short(value)),
        Measured::Throughput => format!("{} MB/s", short(value / 1e6)),
        Measured::Iops => format!("{} io/s", short(value)),
    }
}

fn short(number: f64) -> String {
    if number >= 100.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

/// A duration in whole seconds.
fn length(ns: u64) -> String {
    let seconds = SignedDuration::from_secs(i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX));
    format!("{seconds:#}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::message::Message;
    use iostall_model::alert::About;
    use iostall_model::{Kind, Level};

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
                measured: Measured::StallPerRead,
                threshold: 2e6,
                value: Some(31.25e6),
                value_max: 140e6,
            }),
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
    fn a_silent_source_has_no_file_and_no_threshold() {
        let silent = Notice { about: None, ..notice(Occasion::Resolved) };
        assert_eq!(summary(&silent), "slow reads: sqlserver://db1:1433 answers again after 5m");
        assert_eq!(payload(&silent)["metric"], "silent_s");
        assert_eq!(payload(&silent).get("value"), None);
    }
}
