//! Rules about SQL Server.

use iostall_model::SettingVersion;
use jiff::SignedDuration;

use super::facts::{Facts, evidence, evidence_beside};
use super::linux::is_short;
use super::outcome::{Evidence, Outcome};
use super::rule::{Rule, Weight};

/// The server itself says so in its log from here on, when it starts a database.
const FRAGMENTS_MAX: u64 = 1_000;
/// Whoever makes full backups makes them each week at least.
const FULL_BACKUP_AGE_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Whoever makes log backups makes them each day at least.
const LOG_BACKUP_AGE_MAX: SignedDuration = SignedDuration::from_hours(24);
/// What a whole database is backed up by.
const FULL_SORTS: [&str; 3] = ["full", "copy-only", "snapshot"];

pub(super) static RULES: [Rule; 10] = [
    Rule {
        id: "page-verify-weak",
        weight: Weight::Safety,
        title: "pages of a database have no checksums",
        why: "what a disk, a controller or a cable damages is served as data, and copied into every backup",
        action: "ALTER DATABASE ... SET PAGE_VERIFY CHECKSUM; pages get one when they are written the next time",
        reference: "Microsoft Learn, ALTER DATABASE SET options: PAGE_VERIFY",
        check: |facts| {
            facts.check_each("database", "page verify", |version| version.setting.value != "CHECKSUM")
        },
    },
    Rule {
        id: "no-backup",
        weight: Weight::Safety,
        title: "a database has no full backup of the last seven days",
        why: "what was done since the last backup is lost with the disks",
        action: "make one: `iostall backup run --sqlserver URL --database NAME --to PATH`, or the plan that should have made it",
        reference: "Microsoft Learn, Back up and restore of SQL Server databases",
        check: no_backup,
    },
    Rule {
        id: "log-not-backed-up",
        weight: Weight::Safety,
        title: "a database in the recovery model FULL or BULK_LOGGED has no log backup of the last day",
        why: "its log grows until the disk is full, and it cannot be restored to a point in time",
        action: "back up its log, or choose the recovery model SIMPLE if the last full backup is enough",
        reference: "Microsoft Learn, Recovery models (SQL Server)",
        check: log_not_backed_up,
    },
    Rule {
        id: "growth-in-percent",
        weight: Weight::Speed,
        title: "a file grows in percent",
        why: "each growth is larger than the one before: a large file stops its writers for long, and its log gets uneven fragments",
        action: "ALTER DATABASE ... MODIFY FILE (NAME = ..., FILEGROWTH = 512MB), or what fits its size",
        reference: "Microsoft Learn, Considerations for the autogrow and autoshrink settings in SQL Server",
        check: |facts| facts.check_each("file", "growth", |version| version.setting.value.ends_with('%')),
    },
    Rule {
        id: "growth-tiny",
        weight: Weight::Speed,
        title: "a file grows by 1 MiB at a time",
        why: "each growth stops its writers, a log gets a fragment for each, and a volume a piece of file",
        action: "ALTER DATABASE ... MODIFY FILE (NAME = ..., FILEGROWTH = 64MB) or more",
        reference: "Microsoft Learn, ALTER DATABASE File and Filegroup Options: FILEGROWTH",
        check: |facts| {
            facts.check_each("file", "growth", |version| {
                ["0 MiB", "1 MiB"].contains(&version.setting.value.as_str())
            })
        },
    },
    Rule {
        id: "log-fragments",
        weight: Weight::Speed,
        title: "a log has very many fragments (virtual log files)",
        why: "starting the database, restoring it and reading its log take long",
        action: "shrink the log after a log backup, then give it its size in a few large steps",
        reference: "Microsoft Learn, SQL Server transaction log architecture and management guide; message 9017",
        check: |facts| {
            facts.check_each("log", "fragments", |version| {
                version.setting.value.parse::<u64>().is_ok_and(|count| count > FRAGMENTS_MAX)
            })
        },
    },
    Rule {
        id: "instant-initialization-off",
        weight: Weight::Speed,
        title: "files are filled with zeros when they grow",
        why: "data files that grow, are made or are restored are written twice, and those who write wait",
        action: "give the service account the right \"Perform volume maintenance tasks\", and restart the service",
        reference: "Microsoft Learn, Database instant file initialization",
        check: |facts| {
            facts.check_each("service", "instant file initialization", |version| {
                version.setting.value == "off"
            })
        },
    },
    Rule {
        id: "auto-shrink-on",
        weight: Weight::Speed,
        title: "a database shrinks by itself",
        why: "it moves pages to where they are out of order, gives space back, and grows again",
        action: "ALTER DATABASE ... SET AUTO_SHRINK OFF",
        reference: "Microsoft Learn, Considerations for the autogrow and autoshrink settings in SQL Server",
        check: |facts| facts.check_each("database", "auto shrink", |version| version.setting.value == "on"),
    },
    Rule {
        id: "auto-close-on",
        weight: Weight::Speed,
        title: "a database closes when its last user leaves",
        why: "the next one waits until it is open again and its pages are read from disk",
        action: "ALTER DATABASE ... SET AUTO_CLOSE OFF",
        reference: "Microsoft Learn, ALTER DATABASE SET options: AUTO_CLOSE",
        check: |facts| facts.check_each("database", "auto close", |version| version.setting.value == "on"),
    },
    Rule {
        id: "volume-space-short",
        weight: Weight::Care,
        title: "a volume has little space left",
        why: "a file that cannot grow stops its database",
        action: "extend it or move something away; `iostall report volumes` shows who grows",
        reference: "Microsoft Learn, Troubleshoot a full transaction log (SQL Server error 9002)",
        check: |facts| {
            facts.check_each("volume", "free bytes", |version| {
                let size = facts.number(&version.setting.subject, "size bytes");
                let free = version.setting.value.parse::<u64>().ok();
                free.zip(size).is_some_and(|(free, size)| is_short(free, size))
            })
        },
    },
];

/// The newest backups of each database, and how many databases are backed up by another replica of their availability group: what this one's
/// history lacks says nothing about those.
fn backups<'a>(facts: &Facts<'a>) -> Result<(Vec<&'a SettingVersion>, usize), Outcome> {
    if let Some(reason) = facts.why_unread("backups") {
        return Err(Outcome::unknown(reason));
    }
    let is_secondary = facts.named("role").any(|version| version.setting.value == "secondary");
    let has_preference =
        facts.named("backups").any(|version| version.setting.subject.starts_with("replica "));
    if is_secondary && !has_preference {
        return Err(Outcome::unknown(ELSEWHERE));
    }
    let is_elsewhere = |version: &&SettingVersion| {
        let database = version.setting.subject.strip_prefix("backups ").unwrap_or_default();
        facts.value(&format!("replica {database}"), "backups") == Some("elsewhere")
    };
    let is_backup = |version: &&SettingVersion| version.setting.subject.starts_with("backups ");
    let (elsewhere, here): (Vec<_>, Vec<_>) =
        facts.settings.iter().filter(is_backup).partition(|version| is_elsewhere(version));
    Ok((here, elsewhere.len()))
}

const ELSEWHERE: &str = "backups of an availability group may be in the history of another replica";

/// What was found of the databases whose backups are here.
fn judged(found: Vec<Evidence>, here: usize, elsewhere: usize) -> Outcome {
    match (found.is_empty(), here, elsewhere) {
        (true, 0, 0) => Outcome::NotAbout,
        (true, _, 1..) => Outcome::unknown(ELSEWHERE),
        _ => Outcome::found(found),
    }
}

/// The name of the database of which this is a backup, unless it is younger than `age`, where that is known.
fn database_older_than<'a>(
    facts: &Facts<'_>,
    version: &'a SettingVersion,
    age: SignedDuration,
) -> Option<&'a str> {
    let database = version.setting.subject.strip_prefix("backups ")?;
    let subject = format!("database {database}");
    // The time of its creation is local to the server: a day more or less.
    let created = facts.value(&subject, "created").map(|text| format!("{}Z", text.trim_end_matches('Z')));
    let is_young = created.is_some_and(|created| facts.age(&created).is_some_and(|old| old < age));
    (!is_young).then_some(database)
}

fn no_backup(facts: &Facts<'_>) -> Outcome {
    let (all, elsewhere) = match backups(facts) {
        Ok(all) => all,
        Err(outcome) => return outcome,
    };
    let is_full = |version: &&SettingVersion| FULL_SORTS.contains(&version.setting.name.as_str());
    let is_recent = |version: &&SettingVersion| {
        facts.age(&version.setting.value).is_some_and(|age| age <= FULL_BACKUP_AGE_MAX)
    };
    let mut found: Vec<Evidence> = Vec::new();
    for full in all.iter().filter(|version| version.setting.name == "full") {
        let Some(_) = database_older_than(facts, full, FULL_BACKUP_AGE_MAX) else { continue };
        let mut of_it = all.iter().copied().filter(|version| version.setting.subject == full.setting.subject);
        if !of_it.clone().filter(is_full).any(|version| is_recent(&version)) {
            let newest = of_it.by_ref().filter(is_full).filter(|version| version.setting.value != "never");
            let newest = newest.max_by(|one, other| one.setting.value.cmp(&other.setting.value));
            found.push(evidence(newest.unwrap_or(full)));
        }
    }
    judged(found, all.len(), elsewhere)
}

fn log_not_backed_up(facts: &Facts<'_>) -> Outcome {
    let (all, elsewhere) = match backups(facts) {
        Ok(all) => all,
        Err(outcome) => return outcome,
    };
    if let Some(reason) = facts.why_unread("database") {
        return Outcome::unknown(reason);
    }
    let mut found: Vec<Evidence> = Vec::new();
    for version in all.iter().filter(|version| version.setting.name == "log") {
        let Some(database) = database_older_than(facts, version, LOG_BACKUP_AGE_MAX) else { continue };
        let model = facts.value(&format!("database {database}"), "recovery model").unwrap_or_default();
        let is_recent = facts.age(&version.setting.value).is_some_and(|age| age <= LOG_BACKUP_AGE_MAX);
        // model is a template and nobody writes to it; of master there are no log backups, whatever its model says.
        let is_of_it = !["model", "master"].contains(&database);
        if model != "SIMPLE" && !model.is_empty() && !is_recent && is_of_it {
            found.push(evidence_beside(version, format!("recovery model {model}")));
        }
    }
    judged(found, all.len(), elsewhere)
}

#[cfg(test)]
mod tests {
    use iostall_model::Setting;

    use super::*;
    use crate::advice::facts::fixture;

    fn said(id: &str, all: &[(&str, &str, &str)]) -> Result<Vec<String>, Outcome> {
        let all: Vec<Setting> =
            all.iter().map(|(subject, name, value)| Setting::set(*subject, *name, *value)).collect();
        fixture::said(&RULES, id, &all)
    }

    #[test]
    fn each_rule_speaks_on_its_value_and_is_silent_on_the_other_and_where_there_is_none() {
        for (id, subject, name, bad, fine) in [
            ("page-verify-weak", "database sales", "page verify", "TORN_PAGE_DETECTION", "CHECKSUM"),
            ("growth-in-percent", "file sales/data", "growth", "10 %", "64 MiB"),
            ("growth-tiny", "file sales/data", "growth", "1 MiB", "none"),
            ("log-fragments", "log sales", "fragments", "1001", "1000"),
            ("instant-initialization-off", "service", "instant file initialization", "off", "on"),
            ("auto-shrink-on", "database sales", "auto shrink", "on", "off"),
            ("auto-close-on", "database sales", "auto close", "on", "off"),
        ] {
            assert_eq!(said(id, &[(subject, name, bad)]), Ok(vec![format!("{subject} {bad}")]), "{id}");
            assert_eq!(said(id, &[(subject, name, fine)]), Err(Outcome::Fine), "{id}");
            assert_eq!(said(id, &[]), Err(Outcome::NotAbout), "{id}");
            let kind = subject.split(' ').next().unwrap();
            let unread = [Setting::unread(kind, "denied")];
            assert_eq!(fixture::said(&RULES, id, &unread), Err(Outcome::unknown("denied")), "{id}");
        }
    }

    fn backups(
        full: &'static str,
        log: &'static str,
        model: &'static str,
    ) -> Vec<(&'static str, &'static str, &'static str)> {
        vec![
            ("backups sales", "full", full),
            ("backups sales", "copy-only", "never"),
            ("backups sales", "log", log),
            ("database sales", "recovery model", model),
            ("database sales", "created", "2026-01-01T00:00:00"),
        ]
    }

    const FRESH: &str = "2026-10-31T20:00:00Z";
    const OLD: &str = "2026-10-01T00:00:00Z";

    #[test]
    fn a_database_without_a_recent_full_backup_is_found_with_the_last_one() {
        assert_eq!(said("no-backup", &backups(OLD, FRESH, "FULL")), Ok(vec![format!("backups sales {OLD}")]));
        assert_eq!(
            said("no-backup", &backups("never", FRESH, "FULL")),
            Ok(vec!["backups sales never".to_owned()])
        );
        assert_eq!(said("no-backup", &backups(FRESH, "never", "FULL")), Err(Outcome::Fine));
        let mut copied = backups("never", FRESH, "FULL");
        copied[1].2 = FRESH;
        assert_eq!(said("no-backup", &copied), Err(Outcome::Fine), "a copy-only one restores as well");
        let mut young = backups("never", "never", "FULL");
        young[4].2 = "2026-10-31T23:00:00";
        assert_eq!(said("no-backup", &young), Err(Outcome::Fine), "made an hour ago");
        assert_eq!(said("log-not-backed-up", &young), Err(Outcome::Fine));
    }

    #[test]
    fn a_log_that_nobody_backs_up_is_found_unless_its_recovery_model_is_simple() {
        let found = said("log-not-backed-up", &backups(FRESH, OLD, "FULL"));
        assert_eq!(found, Ok(vec![format!("backups sales {OLD}")]));
        assert_eq!(said("log-not-backed-up", &backups(FRESH, FRESH, "FULL")), Err(Outcome::Fine));
        assert_eq!(said("log-not-backed-up", &backups(FRESH, OLD, "SIMPLE")), Err(Outcome::Fine));
    }

    #[test]
    fn on_a_secondary_nothing_is_known_of_backups() {
        let mut all = backups("never", "never", "FULL");
        all.push(("group ag", "role", "secondary"));
        for id in ["no-backup", "log-not-backed-up"] {
            assert!(matches!(said(id, &all), Err(Outcome::Unknown { .. })), "{id}");
        }
    }

    /// The story: a server was primary of one group and secondary of another, and of the databases in no group nobody said that they had
    /// no backup; where secondaries were preferred, the primary was blamed every day.
    #[test]
    fn a_database_is_judged_where_its_group_wants_its_backups() {
        let mut all = backups("never", "never", "FULL");
        all.push(("group ag", "role", "secondary"));
        all.push(("replica other", "backups", "elsewhere"));
        assert_eq!(said("no-backup", &all), Ok(vec!["backups sales never".to_owned()]), "it is in no group");
        all.push(("replica sales", "backups", "elsewhere"));
        for id in ["no-backup", "log-not-backed-up"] {
            assert!(matches!(said(id, &all), Err(Outcome::Unknown { .. })), "{id}");
        }
        all.pop();
        all.push(("replica sales", "backups", "here"));
        assert_eq!(said("log-not-backed-up", &all), Ok(vec!["backups sales never".to_owned()]));
        let mut master = backups(FRESH, "never", "FULL");
        for one in &mut master {
            one.0 = if one.0.starts_with("backups") { "backups master" } else { "database master" };
        }
        assert_eq!(said("log-not-backed-up", &master), Err(Outcome::Fine), "there are no log backups of it");
    }

    #[test]
    fn a_full_volume_is_found() {
        let volume =
            |free| [("volume E:\\", "free bytes", free), ("volume E:\\", "size bytes", "107374182400")];
        assert_eq!(said("volume-space-short", &volume("1")), Ok(vec!["volume E:\\ 1".to_owned()]));
        assert_eq!(said("volume-space-short", &volume("53687091200")), Err(Outcome::Fine));
    }
}
