//! What a rule can measure, and where: a rule that can never fire looks like one that watches.

use super::rule::{Condition, Measured, Rule, RuleBook};
use super::volume_limit::VolumeLimit;
use crate::kind::Kind;
use crate::level::Level;
use crate::sample::Subject;
use crate::scope::{DeviceRole, Scope};

impl Measured {
    /// Whether rows of `kind` tell it.
    pub fn comes_from(self, kind: Kind) -> bool {
        use Kind::{
            LinuxDevice, MysqlFile, MysqlInnodb, MysqlRedo, PostgresDatabase, PostgresIo, PostgresIoBlocks,
            PostgresWal, SqlServerBackup, SqlServerFile,
        };
        let of_backends = [PostgresIo, PostgresIoBlocks].contains(&kind);
        match self {
            Self::StallPerRead => {
                of_backends || [SqlServerFile, MysqlFile, PostgresDatabase, LinuxDevice].contains(&kind)
            }
            Self::StallPerWrite => {
                of_backends || [SqlServerFile, MysqlFile, PostgresWal, LinuxDevice].contains(&kind)
            }
            Self::StallPerIo => Self::StallPerRead.comes_from(kind) || Self::StallPerWrite.comes_from(kind),
            Self::StallPerSync => of_backends || [MysqlFile, PostgresWal, LinuxDevice].contains(&kind),
            Self::Syncs => Self::StallPerSync.comes_from(kind) || [MysqlRedo, MysqlInnodb].contains(&kind),
            Self::Throughput | Self::Iops | Self::HeldIops | Self::HeldThroughput | Self::EmptyIn => {
                !matches!(kind, SqlServerBackup | Kind::LinuxPressure | Kind::PostgresCheckpointer)
            }
            Self::Size => kind == SqlServerFile,
            Self::BackupAge => kind == SqlServerBackup,
        }
    }
}

impl Level {
    pub const ALL: [Self; 4] = [Self::Files, Self::Databases, Self::Volumes, Self::Server];

    /// Whether rows of `kind` count at this level.
    pub fn counts(self, kind: Kind) -> bool {
        let is_device = kind == Kind::LinuxDevice;
        let scope = if is_device { Scope::Device(DeviceRole::Disk) } else { Scope::Database("a".to_owned()) };
        let (name, identity) = ("a".to_owned(), "a".to_owned());
        let subject = Subject { kind, scope, name, identity, volume: Some("a".to_owned()) };
        self.group(&subject).is_some()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Databases => "databases",
            Self::Volumes => "volumes",
            Self::Server => "server",
        }
    }
}

/// The kinds of row of a source with this scheme; all where it is none that is known.
pub fn kinds_of(scheme: &str) -> Vec<Kind> {
    let is_of_it = |kind: &Kind| kind.name().split('-').next() == Some(scheme);
    let found: Vec<Kind> = Kind::ALL.into_iter().filter(is_of_it).collect();
    if found.is_empty() { Kind::ALL.to_vec() } else { found }
}

impl RuleBook {
    /// Rules that can fire on none of the sources that they name, each with why.
    pub fn rules_that_never_fire(&self) -> Vec<(&str, String)> {
        let never = |rule: &Rule| rule.why_never(&kinds_of(rule.scheme().unwrap_or_default()));
        self.rules.iter().filter_map(|rule| Some((rule.name.as_str(), never(rule)?))).collect()
    }
}

impl Rule {
    /// The scheme of the sources that it is about, where it says so.
    pub fn scheme(&self) -> Option<&str> {
        const SCHEMES: [&str; 5] = ["postgres", "mysql", "sqlserver", "linux", "smart"];
        let scheme = self.matches.source.as_deref()?.split_once(':')?.0;
        SCHEMES.contains(&scheme).then_some(scheme)
    }

    /// What it measures in intervals of rows; `None` where it goes by something else.
    pub fn measured(&self) -> Option<Measured> {
        match &self.condition {
            Condition::Over { measured, .. } => Some(*measured),
            Condition::Limit(VolumeLimit::HeldThroughput) => Some(Measured::Throughput),
            Condition::Limit(VolumeLimit::HeldIops | VolumeLimit::Draining { .. }) => Some(Measured::Iops),
            Condition::Silent | Condition::Undrilled { .. } | Condition::NotBackedUp { .. } => None,
        }
    }

    /// Why it can never fire on rows of `kinds`, and what would; `None` if it can.
    pub fn why_never(&self, kinds: &[Kind]) -> Option<String> {
        if matches!(self.condition, Condition::NotBackedUp { .. }) {
            let is_kept = kinds.contains(&Kind::SqlServerBackup);
            return (!is_kept).then(|| "only SQL Server keeps a history of its backups".to_owned());
        }
        let measured = self.measured()?;
        let known_at =
            |level: Level| kinds.iter().any(|kind| level.counts(*kind) && measured.comes_from(*kind));
        if known_at(self.level) {
            return None;
        }
        let others: Vec<String> = Level::ALL
            .into_iter()
            .filter(|level| known_at(*level))
            .map(|level| format!("level = {:?}", level.name()))
            .collect();
        let what = format!("nothing that is sampled there tells its figure at level {:?}", self.level.name());
        let more = if others.is_empty() {
            "; another `when` or source does".to_owned()
        } else {
            format!("; {} does", others.join(" or "))
        };
        Some(what + &more)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::alert::Grouping;

    fn rule(measured: Measured, level: Level) -> Rule {
        let threshold = Some(1.0);
        Rule {
            name: "a".into(),
            condition: Condition::Over { measured, threshold, by_class: BTreeMap::new() },
            matches: crate::alert::Match::default(),
            level,
            sustained_ns: 0,
            clear_ns: 0,
            operations_min: 0,
            repeat_ns: None,
            mute: Vec::new(),
            channels: Vec::new(),
            grouping: Grouping::Each,
            group_wait_ns: 0,
        }
    }

    /// The story: whoever watched PostgreSQL with the example's "slow reads" believed to be covered.
    #[test]
    fn a_rule_that_no_row_of_its_source_can_meet_says_where_it_could() {
        let never = |scheme: &str, measured, level| rule(measured, level).why_never(&kinds_of(scheme));
        let tables = never("postgres", Measured::StallPerRead, Level::Files).unwrap();
        assert!(tables.contains("\"databases\"") && tables.contains("\"server\""), "{tables}");
        assert!(never("postgres", Measured::StallPerWrite, Level::Databases).is_some());
        assert!(never("postgres", Measured::Size, Level::Files).is_some());
        for (scheme, measured, level) in [
            ("postgres", Measured::StallPerRead, Level::Databases),
            ("postgres", Measured::StallPerSync, Level::Server),
            ("postgres", Measured::Iops, Level::Files),
            ("mysql", Measured::StallPerSync, Level::Files),
            ("sqlserver", Measured::Size, Level::Files),
            ("linux", Measured::Throughput, Level::Volumes),
            ("prod-db-17", Measured::Size, Level::Files),
        ] {
            assert_eq!(never(scheme, measured, level), None, "{scheme} {measured:?}");
        }
    }

    #[test]
    fn every_kind_of_source_is_known_by_its_scheme() {
        for kind in Kind::ALL {
            let scheme = kind.name().split('-').next().unwrap();
            assert!(kinds_of(scheme).contains(&kind));
        }
        assert!(kinds_of("mysql").iter().all(|kind| kind.name().starts_with("mysql")));
    }
}
