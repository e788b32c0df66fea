//! What rules look at.

use iostall_model::{Setting, SettingClass, SettingVersion};
use jiff::{SignedDuration, Timestamp};

use super::outcome::{Evidence, Outcome};

#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) settings: &'a [SettingVersion],
    pub(super) now: Timestamp,
}

impl<'a> Facts<'a> {
    /// All that were read of `name`, of whatever subject.
    pub(super) fn named(self, name: &'a str) -> impl Iterator<Item = &'a SettingVersion> {
        self.settings.iter().filter(move |version| {
            version.setting.name == name && version.setting.class != SettingClass::Unread
        })
    }

    pub(super) fn get(self, subject: &str, name: &'a str) -> Option<&'a SettingVersion> {
        self.named(name).find(|version| version.setting.subject == subject)
    }

    pub(super) fn value(self, subject: &str, name: &'a str) -> Option<&'a str> {
        self.get(subject, name).map(|version| version.setting.value.as_str())
    }

    pub(super) fn number(self, subject: &str, name: &'a str) -> Option<u64> {
        self.value(subject, name)?.parse().ok()
    }

    /// Why nothing is known of subjects that begin with `subject`.
    pub(super) fn why_unread(self, subject: &str) -> Option<String> {
        let mut all = self.settings.iter().map(|version| &version.setting);
        all.find(|setting: &&Setting| setting.hides(subject)).map(|setting| setting.value.clone())
    }

    /// A rule about one setting of the source: it speaks where `is_bad`.
    pub(super) fn check(self, name: &'a str, is_bad: impl Fn(&str) -> bool) -> Outcome {
        match self.get("", name) {
            Some(version) => Outcome::found(is_bad(&version.setting.value).then(|| evidence(version))),
            None => Outcome::unknown(self.why_unread("").unwrap_or_else(|| format!("{name} was not read"))),
        }
    }

    /// A rule about each of the settings called `name`, whose subjects begin with `subject`: it speaks where `is_bad`.
    pub(super) fn check_each(
        self,
        subject: &str,
        name: &'a str,
        is_bad: impl Fn(&SettingVersion) -> bool,
    ) -> Outcome {
        let all: Vec<_> =
            self.named(name).filter(|version| version.setting.subject.starts_with(subject)).collect();
        let bad: Vec<_> =
            all.iter().filter(|version| is_bad(version)).map(|version| evidence(version)).collect();
        match self.why_unread(subject) {
            // What a right hides beside it may be bad as well; this is bad anyway.
            Some(reason) if bad.is_empty() => Outcome::unknown(reason),
            None if all.is_empty() => Outcome::NotAbout,
            _ => Outcome::found(bad),
        }
    }

    /// How long ago the time in `text` is; `None` if it is none.
    pub(super) fn age(self, text: &str) -> Option<SignedDuration> {
        Some(self.now.duration_since(text.parse().ok()?))
    }
}

pub(super) fn evidence(version: &SettingVersion) -> Evidence {
    let Setting { subject, name, value, .. } = version.setting.clone();
    Evidence { subject, name, value, since: version.from, beside: None }
}

pub(super) fn evidence_beside(version: &SettingVersion, beside: String) -> Evidence {
    Evidence { beside: Some(beside), ..evidence(version) }
}

/// Whether a switch is off, however its server writes that.
pub(super) fn is_off(value: &str) -> bool {
    ["off", "0", "no", "false"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
pub(super) mod fixture {
    use super::*;

    /// Settings that hold since the beginning of 2026.
    pub(in super::super) fn versions(all: &[Setting]) -> Vec<SettingVersion> {
        let from = "2026-01-01T00:00:00Z".parse().unwrap();
        all.iter()
            .map(|setting| SettingVersion { setting: setting.clone(), from, to: None, is_change: false })
            .collect()
    }

    /// Settings of a server as a whole.
    pub(in super::super) fn server(all: &[(&str, &str)]) -> Vec<Setting> {
        all.iter().map(|(name, value)| Setting::set("", *name, *value)).collect()
    }

    /// What the rule `id` of `rules` says of `all`, at the beginning of November 2026: the values that it speaks about.
    pub(in super::super) fn said(
        rules: &[super::super::Rule],
        id: &str,
        all: &[Setting],
    ) -> Result<Vec<String>, Outcome> {
        let rule = rules.iter().find(|rule| rule.id == id).unwrap_or_else(|| panic!("no rule {id}"));
        let settings = versions(all);
        let now = "2026-11-01T00:00:00Z".parse().unwrap();
        match (rule.check)(&Facts { settings: &settings, now }) {
            Outcome::Found { evidence } => Ok(evidence
                .into_iter()
                .map(|found| format!("{} {}", found.subject, found.value).trim().to_owned())
                .collect()),
            other => Err(other),
        }
    }
}
