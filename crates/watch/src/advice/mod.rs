//! The advisor: named rules over the settings of a source. A rule speaks on evidence alone; what it cannot know it says.

mod facts;
mod linux;
mod mysql;
mod outcome;
mod postgres;
mod rule;
mod sqlserver;

use iostall_model::SettingVersion;
use iostall_store::History;
use jiff::Timestamp;
use serde::Serialize;

use crate::error::WatchError;
use crate::settings_history::{SourceChoice, SourceSettings, settings_at};

pub use outcome::{Evidence, Outcome};
pub use rule::{Rule, Weight};

use facts::Facts;

#[derive(Clone, Debug, Serialize)]
pub struct SourceAdvice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub source: String,
    pub read: Timestamp,
    pub rules: Vec<RuleAdvice>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RuleAdvice {
    #[serde(flatten)]
    pub rule: &'static Rule,
    #[serde(flatten)]
    pub outcome: Outcome,
}

pub fn rules() -> impl Iterator<Item = (&'static str, &'static Rule)> {
    let of = |engine, rules: &'static [Rule]| rules.iter().map(move |rule| (engine, rule));
    of("linux", &linux::RULES)
        .chain(of("postgres", &postgres::RULES))
        .chain(of("mysql", &mysql::RULES))
        .chain(of("sqlserver", &sqlserver::RULES))
}

/// What the rules say at `now` of each source that is meant. An error if the settings of none were ever read.
pub fn advise(
    history: &impl History,
    choice: &SourceChoice<'_>,
    now: Timestamp,
) -> Result<Vec<SourceAdvice>, WatchError> {
    let all = settings_at(history, choice, now)?;
    let of = |SourceSettings { server, source, last_read, settings, .. }: SourceSettings| {
        let rules = check_all(&settings, now);
        SourceAdvice { server, source, read: last_read, rules }
    };
    Ok(all.into_iter().map(of).collect())
}

/// The rules for the engine that `settings` are of; what matters most comes first.
fn check_all(settings: &[SettingVersion], now: Timestamp) -> Vec<RuleAdvice> {
    let facts = Facts { settings, now };
    let engine = facts.value("", "engine").unwrap_or_default();
    let about = rules().filter(|(of, _)| *of == engine);
    let mut all: Vec<RuleAdvice> =
        about.map(|(_, rule)| RuleAdvice { rule, outcome: (rule.check)(&facts) }).collect();
    all.sort_by_key(|advice| (advice.outcome.order(), advice.rule.weight));
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use iostall_model::Setting;
    use iostall_store::{CollectorState as _, SqliteHistory};

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_says_why_what_to_do_and_who_says_so() {
        let mut ids = BTreeSet::new();
        for (_, rule) in rules() {
            assert!(ids.insert(rule.id), "{} twice", rule.id);
            assert!(
                rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{}",
                rule.id
            );
            for text in [rule.title, rule.why, rule.action, rule.reference] {
                assert!(!text.is_empty() && !text.contains('\n'), "{}", rule.id);
            }
        }
    }

    #[test]
    fn only_rules_of_its_engine_speak_and_what_was_found_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        let id = store.source("db").unwrap().id;
        let hour = |hour: i64| Timestamp::from_second(hour * 3_600).unwrap();
        let settings = |fsync| [Setting::set("", "engine", "postgres"), Setting::set("", "fsync", fsync)];
        store.put_settings(id, hour(0), &settings("on")).unwrap();
        store.put_settings(id, hour(5), &settings("off")).unwrap();
        let advice = advise(&store, &SourceChoice::default(), hour(9)).unwrap().remove(0);
        assert_eq!(advice.rules.len(), postgres::RULES.len());
        let Outcome::Found { evidence } = &advice.rules[0].outcome else { panic!("{advice:?}") };
        assert_eq!((advice.rules[0].rule.id, evidence[0].since), ("fsync-off", hour(5)));
        assert!(advice.rules.iter().any(|rule| matches!(rule.outcome, Outcome::Unknown { .. })), "not read");
        let json = serde_json::to_value(&advice).unwrap();
        assert_eq!(
            (&json["rules"][0]["id"], &json["rules"][0]["outcome"]),
            (&"fsync-off".into(), &"found".into())
        );
    }
}
