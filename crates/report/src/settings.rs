//! Settings of sources, and what changed of them, as text.

use iostall_measure::foreign::shown;
use iostall_model::{SettingClass, SettingVersion};
use iostall_watch::{SourceChanges, SourceSettings};

use crate::zone::{column, heading, timestamp};

pub fn settings_list(all: &[SourceSettings]) -> String {
    let mut text = String::new();
    for of in all {
        let (source, last) = (titled(of.server.as_ref(), &of.source), timestamp(of.last_read));
        text.push_str(&format!("{source}, read at {last}\n"));
        if of.settings.is_empty() {
            text.push_str("  nothing is known of that time\n");
            continue;
        }
        let names: Vec<String> =
            of.settings.iter().map(|version| shown(&version.setting.full_name())).collect();
        let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
        let since = heading("since");
        let since_width = since.chars().count().max(19);
        text.push_str(&format!("  {since:since_width$}  {:name_width$}  value\n", "name"));
        for (version, name) in of.settings.iter().zip(&names) {
            let (from, value) = (column(version.from), value(version));
            text.push_str(&format!("  {from:since_width$}  {name:name_width$}  {value}\n"));
        }
    }
    text
}

/// A source, and its server where there are several.
pub(crate) fn titled(server: Option<&String>, source: &str) -> String {
    server.map_or_else(|| shown(source), |server| format!("{}: {}", shown(server), shown(source)))
}

fn value(version: &SettingVersion) -> String {
    let value = shown(&version.setting.value);
    match version.setting.class {
        SettingClass::Setting => value,
        SettingClass::Measured => format!("{value} (now)"),
        SettingClass::Unread => format!("could not be read: {value}"),
    }
}

pub fn changes_list(all: &[SourceChanges]) -> String {
    let mut text = String::new();
    for of in all {
        text.push_str(&format!(
            "{}, known since {}\n",
            titled(of.server.as_ref(), &of.source),
            timestamp(of.first_read)
        ));
        if of.changes.is_empty() {
            text.push_str("  nothing changed\n");
        }
        for change in &of.changes {
            let at = change.at.map_or_else(String::new, |at| format!("{}  ", timestamp(at)));
            text.push_str(&format!("  {at}{}\n", shown(&change.sentence())));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use iostall_model::{Setting, SettingChange};
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn settings_say_since_when_and_what_is_not_known() {
        let at = Timestamp::from_second(0).unwrap();
        let version = |setting| SettingVersion { setting, from: at, to: None, is_change: false };
        let settings = vec![
            version(Setting::set("disk sda", "scheduler", "none\u{1b}[31m")),
            version(Setting::measured("mount /", "free bytes", "7")),
            version(Setting::unread("file", "denied")),
        ];
        let of =
            SourceSettings { server: None, source: "db".into(), first_read: at, last_read: at, settings };
        let text = settings_list(&[of]);
        assert!(text.contains("disk sda scheduler") && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("7 (now)") && text.contains("could not be read: denied"), "{text}");
    }

    #[test]
    fn a_source_without_a_change_says_so() {
        let at = Timestamp::from_second(0).unwrap();
        let change = SettingChange {
            at: Some(at),
            subject: String::new(),
            name: "fsync".into(),
            before: Some("on".into()),
            after: Some("off".into()),
        };
        let of = |source: &str, changes| SourceChanges {
            server: Some("s".into()),
            source: source.into(),
            first_read: at,
            changes,
        };
        let text = changes_list(&[of("a", vec![change]), of("b", Vec::new())]);
        assert!(text.contains("fsync: on → off") && text.contains("nothing changed"), "{text}");
    }
}
