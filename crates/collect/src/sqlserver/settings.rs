//! The settings of an instance, its databases and files, its newest backups, and the free space of its volumes.
//!
//! Each statement is for itself: what an older version does not have, or the login may not see, leaves the others as they are, and
//! is said to be unread.

use std::time::Duration;

use iostall_connect::sqlserver::{Access, Columns, Connection, query, with_connection, within};
use iostall_connect::{Address, SourceError, Value};
use iostall_model::{Setting, SettingClass};
use jiff::Timestamp;

use super::backups::BACKUPS;
use crate::settings::of_row;

/// A statement, the class of its values, what begins the subjects of its rows, and how a row is read.
struct Asked {
    tag: &'static str,
    text: &'static str,
    class: SettingClass,
    hides: &'static str,
    read: fn(SettingClass, Columns) -> Option<Setting>,
}

const RIGHTS: &str = include_str!("sql/settings_rights.sql");

const ALL: [Asked; 10] = [
    Asked {
        tag: "iostall:settings_server",
        text: include_str!("sql/settings_server.sql"),
        class: SettingClass::Setting,
        hides: "",
        read: named,
    },
    Asked {
        tag: "iostall:settings_traces",
        text: include_str!("sql/settings_traces.sql"),
        class: SettingClass::Setting,
        hides: "trace flag",
        read: trace_flag,
    },
    Asked {
        tag: "iostall:settings_services",
        text: include_str!("sql/settings_services.sql"),
        class: SettingClass::Setting,
        hides: "service",
        read: named,
    },
    Asked {
        tag: "iostall:settings_databases",
        text: include_str!("sql/settings_databases.sql"),
        class: SettingClass::Setting,
        hides: "database",
        read: named,
    },
    Asked {
        tag: "iostall:settings_files",
        text: include_str!("sql/settings_files.sql"),
        class: SettingClass::Setting,
        hides: "file",
        read: named,
    },
    Asked {
        tag: "iostall:settings_groups",
        text: include_str!("sql/settings_groups.sql"),
        class: SettingClass::Setting,
        hides: "group",
        read: named,
    },
    Asked {
        tag: "iostall:settings_replicas",
        text: include_str!("sql/settings_replicas.sql"),
        class: SettingClass::Setting,
        hides: "replica",
        read: named,
    },
    Asked {
        tag: "iostall:settings_volumes",
        text: include_str!("sql/settings_volumes.sql"),
        class: SettingClass::Measured,
        hides: "volume",
        read: named,
    },
    Asked {
        tag: "iostall:backups",
        text: BACKUPS,
        class: SettingClass::Measured,
        hides: "backups",
        read: backup,
    },
    // The last one: with a thousand databases it takes the longest.
    Asked {
        tag: "iostall:settings_fragments",
        text: include_str!("sql/settings_fragments.sql"),
        class: SettingClass::Measured,
        hides: "log",
        read: named,
    },
];

/// All settings, each statement within `each`, and none begun after `until_ns` on the clock of this machine. The connection, if it is still
/// of use: one that a slow statement made useless is made anew, so that it silences no other.
pub(super) async fn read(
    address: &Address,
    access: &Access,
    kept: Option<Connection>,
    each: Duration,
    until_ns: u64,
) -> Result<(Vec<Setting>, Option<Connection>), SourceError> {
    let rights = async |address: &Address, connection: &mut Connection| {
        match query(address, connection, "iostall:settings_rights", RIGHTS).await {
            Err(error @ SourceError::Connect { .. }) => Err(error),
            // Where rights cannot be asked for, nothing is known to be hidden.
            answer => Ok(answer.unwrap_or_default()),
        }
    };
    let (connection, rights) = with_connection(address, access, kept, rights).await?;
    let mut usable = Some(connection);
    let mut all = vec![Setting::set("", "engine", "sqlserver")];
    all.extend(hidden(&rights));
    for asked in &ALL {
        let answer = if iostall_host::since_boot_ns() > until_ns {
            Err("no time was left for it".to_owned())
        } else {
            let taken = within(each, at_hand(address, access, &mut usable)).await;
            match taken {
                Some(Ok(connection)) => ask(address, connection, asked, each).await,
                Some(Err(error)) => Err((error.to_string(), false)),
                None => Err((format!("no connection within {each:?}"), false)),
            }
            .map_err(|(reason, is_usable)| {
                if !is_usable {
                    usable = None;
                }
                reason
            })
        };
        match answer {
            Ok(found) => all.extend(found.into_iter().filter_map(|row| (asked.read)(asked.class, row))),
            Err(reason) => all.push(Setting::unread(asked.hides, reason)),
        }
    }
    Ok((all, usable))
}

/// The connection, or a new one.
async fn at_hand<'a>(
    address: &Address,
    access: &Access,
    usable: &'a mut Option<Connection>,
) -> Result<&'a mut Connection, SourceError> {
    let connection = match usable.take() {
        Some(connection) => connection,
        None => with_connection(address, access, None, async |_, _| Ok(())).await?.0,
    };
    Ok(usable.insert(connection))
}

/// The rows, or why there are none and whether the connection is still of use.
async fn ask(
    address: &Address,
    connection: &mut Connection,
    asked: &Asked,
    each: Duration,
) -> Result<Vec<Columns>, (String, bool)> {
    match within(each, query(address, connection, asked.tag, asked.text)).await {
        Some(Ok(found)) => Ok(found),
        Some(Err(error)) => Err((error.to_string(), !matches!(error, SourceError::Connect { .. }))),
        None => Err((format!("no answer within {each:?}"), false)),
    }
}

/// What is unread because the login lacks a right without which the server leaves rows out.
fn hidden(rights: &[Columns]) -> Vec<Setting> {
    let lacks = |right: &str| {
        let column = rights.iter().flatten().find(|(name, _)| name == right);
        matches!(column, Some((_, Value::Number(0))))
    };
    let unread = |subject, right| {
        Setting::unread(subject, format!("the login lacks {right}, so the server may leave some of them out"))
    };
    let mut hidden = Vec::new();
    if lacks("sees_definitions") {
        hidden.extend(["file", "group"].map(|subject| unread(subject, "VIEW ANY DEFINITION")));
    }
    if lacks("sees_databases") {
        hidden.extend(["database", "backups", "log"].map(|subject| unread(subject, "VIEW ANY DATABASE")));
    }
    hidden
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Missing => None,
    }
}

fn named(class: SettingClass, columns: Columns) -> Option<Setting> {
    let (mut subject, mut name, mut value) = (None, None, None);
    for (column, found) in columns {
        match column.as_str() {
            "subject" => subject = text(found),
            "name" => name = text(found),
            "value" => value = text(found),
            _ => {}
        }
    }
    of_row(class, subject, name, value)
}

/// One that is on for the whole instance.
fn trace_flag(class: SettingClass, columns: Columns) -> Option<Setting> {
    let (mut flag, mut is_on, mut is_global) = (None, false, false);
    for (column, found) in columns {
        match (column.as_str(), found) {
            ("TraceFlag", Value::Number(number)) => flag = Some(number),
            ("Status", found) => is_on = matches!(found, Value::Number(1)),
            ("Global", found) => is_global = matches!(found, Value::Number(1)),
            _ => {}
        }
    }
    let flag = flag.filter(|_| is_on && is_global)?;
    of_row(class, Some(format!("trace flag {flag}")), Some("state".to_owned()), Some("on".to_owned()))
}

/// When the newest backup of a sort was done, or that there is none.
fn backup(class: SettingClass, columns: Columns) -> Option<Setting> {
    let (mut database, mut sort, mut finished) = (None, None, None);
    for (column, found) in columns {
        match (column.as_str(), found) {
            ("database", found) => database = text(found),
            ("name", found) => sort = text(found),
            ("backup_finished_utc_s", Value::Number(second)) => finished = Some(second),
            _ => {}
        }
    }
    let finished = match finished {
        Some(second) => Timestamp::from_second(i64::try_from(second).ok()?).ok()?.to_string(),
        None => "never".to_owned(),
    };
    of_row(class, Some(format!("backups {}", database?)), Some(sort?), Some(finished))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(all: impl IntoIterator<Item = (&'static str, Value)>) -> Columns {
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn a_flag_counts_where_it_is_on_for_all_and_a_backup_that_never_was_says_so() {
        let flag = |global| {
            let row = [("TraceFlag", 1117), ("Status", 1), ("Global", global), ("Session", 0)];
            trace_flag(
                SettingClass::Setting,
                columns(row.map(|(name, number)| (name, Value::Number(number)))),
            )
        };
        assert_eq!(flag(1), Some(Setting::set("trace flag 1117", "state", "on")));
        assert_eq!(flag(0), None);
        let of = |finished| {
            let text = |text: &str| Value::Text(text.into());
            let row =
                [("database", text("sales")), ("name", text("full")), ("backup_finished_utc_s", finished)];
            backup(SettingClass::Measured, columns(row)).unwrap().value
        };
        assert_eq!(of(Value::Number(86_400)), "1970-01-02T00:00:00Z");
        assert_eq!(of(Value::Missing), "never");
    }

    /// The story: VIEW ANY DEFINITION was revoked. The server left the files out without a word, and each was reported as gone.
    #[test]
    fn what_a_missing_right_may_hide_is_unread_and_not_gone() {
        let rights = |definitions, databases| {
            let row = [("sees_definitions", definitions), ("sees_databases", databases)];
            let row = columns(row.map(|(name, number)| (name, Value::Number(number))));
            hidden(&[row]).into_iter().map(|setting| setting.subject).collect::<Vec<_>>()
        };
        assert_eq!(rights(0, 1), ["file", "group"]);
        assert_eq!(rights(1, 0), ["database", "backups", "log"]);
        assert!(rights(1, 1).is_empty() && hidden(&[]).is_empty(), "where nobody knows, nothing is hidden");
    }

    #[test]
    fn every_statement_carries_its_tag_and_names_its_columns() {
        for asked in &ALL {
            assert!(asked.text.starts_with(&format!("/* {} */", asked.tag)), "{}", asked.tag);
        }
    }
}
