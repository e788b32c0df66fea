//! Settings from the rows of queries, whose columns are `subject`, `name` and `value` for every server.

use std::collections::HashSet;

use iostall_model::{Setting, SettingClass};

/// More than a server with thousands of databases has.
const SETTINGS_MAX: usize = 200_000;

/// A setting from a row; `None` where the name or the value is NULL, which is none.
pub(crate) fn of_row(
    class: SettingClass,
    subject: Option<String>,
    name: Option<String>,
    value: Option<String>,
) -> Option<Setting> {
    let (subject, name, value) = (subject.unwrap_or_default(), name?, value?);
    Some(match class {
        SettingClass::Setting => Setting::set(subject, name, value),
        SettingClass::Measured => Setting::measured(subject, name, value),
        SettingClass::Unread => Setting::unread(subject, value),
    })
}

/// At most as many as anybody has. One of each name: the first, as a server may name two things alike.
pub(crate) fn checked(mut settings: Vec<Setting>) -> Vec<Setting> {
    settings.truncate(SETTINGS_MAX);
    let mut seen = HashSet::new();
    settings.retain(|setting| seen.insert((setting.class, setting.subject.clone(), setting.name.clone())));
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_no_setting_and_a_missing_subject_is_the_server() {
        let of = |subject: Option<&str>, value: Option<&str>| {
            let [subject, name, value] = [subject, Some("growth"), value].map(|text| text.map(str::to_owned));
            of_row(SettingClass::Measured, subject, name, value)
        };
        assert_eq!(of(Some("file a"), Some("7")), Some(Setting::measured("file a", "growth", "7")));
        assert_eq!(of(None, Some("7")), Some(Setting::measured("", "growth", "7")));
        assert_eq!(of(Some("file a"), None), None);
    }

    #[test]
    fn two_of_one_name_are_one() {
        let twice = vec![Setting::set("", "a", "1"), Setting::set("", "a", "2"), Setting::set("b", "a", "3")];
        assert_eq!(checked(twice).len(), 2);
    }
}
