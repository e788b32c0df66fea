//! Rules in the file of alerts.

use std::collections::{BTreeMap, BTreeSet};

use iostall_measure::{ByteCount, Nanos};
use iostall_model::alert::{
    Condition, Grouping, Match, Measured, MuteHours, Rule, StorageClass, VolumeLimit,
};
use iostall_model::{BackupSort, Level};
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use serde::Deserialize;
use toml::Value;

const OPERATIONS_MIN: u64 = 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    name: String,
    when: When,
    over: Option<Value>,
    #[serde(default)]
    over_by_class: BTreeMap<String, Value>,
    #[serde(rename = "for")]
    sustained: Nanos,
    #[serde(rename = "clear-after")]
    clear: Option<Nanos>,
    level: Option<Level>,
    operations_min: Option<u64>,
    source: Option<String>,
    tag: Option<String>,
    database: Option<String>,
    file: Option<String>,
    volume: Option<String>,
    backup: Option<String>,
    counts: Option<Vec<BackupSort>>,
    credits: Option<f64>,
    refill: Option<f64>,
    empty_within: Option<Nanos>,
    repeat: Option<Nanos>,
    #[serde(default)]
    mute: Vec<WrittenMute>,
    notify: Vec<String>,
    group: Option<Grouping>,
    group_wait: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    StallPerRead,
    StallPerWrite,
    StallPerIo,
    StallPerSync,
    Syncs,
    Throughput,
    Iops,
    Size,
    Silent,
    NoDrill,
    NoBackup,
    HeldIops,
    HeldThroughput,
    Draining,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMute {
    from: Time,
    to: Time,
    #[serde(default)]
    days: Vec<String>,
    zone: Option<String>,
}

impl Written {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn checked(self, classes: &[StorageClass], channels: &BTreeSet<&str>) -> Result<Rule, String> {
        if self.name.trim().is_empty() {
            return Err("needs a name".into());
        }
        if self.notify.is_empty() {
            return Err("notify is empty: name the channels".into());
        }
        if let Some(unknown) = self.notify.iter().find(|name| !channels.contains(name.as_str())) {
            return Err(format!("there is no channel {unknown:?}: write [channels.{unknown}]"));
        }
        let condition = self.condition(classes)?;
        if self.backup.is_some() && !condition.is_about_drills() {
            return Err("backup is for when = \"no-drill\"".into());
        }
        let is_about_backups = matches!(condition, Condition::NotBackedUp { .. });
        let is_bucket =
            [self.credits.is_some(), self.refill.is_some(), self.empty_within.is_some()].contains(&true);
        if is_bucket && self.when != When::Draining {
            return Err("credits, refill and empty-within are for when = \"draining\"".into());
        }
        if self.counts.is_some() && !is_about_backups {
            return Err("counts is for when = \"no-backup\"".into());
        }
        if is_about_backups && self.sustained.nanos() == 0 {
            return Err("for must be above zero: every backup is some time ago".into());
        }
        if condition.is_about_drills() && self.sustained.nanos() == 0 {
            return Err("for must be above zero: every drill is some time ago".into());
        }
        if condition == Condition::Silent && self.sustained.nanos() == 0 {
            return Err("for must be above zero: every source is silent between its samples".into());
        }
        if self.repeat.is_some_and(|repeat| repeat.nanos() == 0) {
            return Err("repeat must be above zero".into());
        }
        Ok(Rule {
            name: self.name,
            condition,
            matches: Match {
                source: self.source,
                tag: self.tag,
                database: self.database,
                file: self.file,
                volume: self.volume,
            },
            level: if is_about_backups { Level::Databases } else { self.level.unwrap_or(Level::Files) },
            sustained_ns: self.sustained.nanos(),
            clear_ns: self.clear.unwrap_or(self.sustained).nanos(),
            operations_min: self.operations_min.unwrap_or(OPERATIONS_MIN),
            repeat_ns: self.repeat.map(Nanos::nanos),
            mute: self.mute.into_iter().map(WrittenMute::checked).collect::<Result<_, _>>()?,
            channels: self.notify,
            grouping: self.group.unwrap_or_default(),
            group_wait_ns: self.group_wait.map_or(0, Nanos::nanos),
        })
    }

    fn condition(&self, classes: &[StorageClass]) -> Result<Condition, String> {
        let measured = match self.when {
            When::StallPerRead => Measured::StallPerRead,
            When::StallPerWrite => Measured::StallPerWrite,
            When::StallPerIo => Measured::StallPerIo,
            When::StallPerSync => Measured::StallPerSync,
            When::Syncs => Measured::Syncs,
            When::Throughput => Measured::Throughput,
            When::Iops => Measured::Iops,
            When::Size => Measured::Size,
            When::Silent => {
                let of_rows = [&self.database, &self.file, &self.volume].into_iter().any(Option::is_some);
                let is_more = self.over.is_some() || !self.over_by_class.is_empty() || self.level.is_some();
                if of_rows || is_more || self.operations_min.is_some() || self.clear.is_some() {
                    return Err(
                        "a silent source has neither a threshold nor files: only source, tag, for, repeat, \
                                mute and notify"
                            .into(),
                    );
                }
                return Ok(Condition::Silent);
            }
            When::NoBackup => return self.of_backups(),
            When::HeldIops => return self.of_limit(VolumeLimit::HeldIops),
            When::HeldThroughput => return self.of_limit(VolumeLimit::HeldThroughput),
            When::Draining => return self.of_bucket(),
            When::NoDrill => {
                let of_sources = [&self.source, &self.tag, &self.database, &self.file, &self.volume];
                let is_more = self.over.is_some() || !self.over_by_class.is_empty() || self.level.is_some();
                let has_sources = of_sources.into_iter().any(Option::is_some);
                if has_sources || is_more || self.operations_min.is_some() || self.clear.is_some() {
                    return Err(
                        "drills have neither a threshold nor sources: only backup, for, repeat, mute and notify"
                            .into(),
                    );
                }
                return Ok(Condition::Undrilled { backup: self.backup.clone() });
            }
        };
        self.over_limits(measured, classes)
    }

    fn of_backups(&self) -> Result<Condition, String> {
        let of_files = [&self.file, &self.volume].into_iter().any(Option::is_some);
        let is_more = self.over.is_some() || !self.over_by_class.is_empty() || self.level.is_some();
        if of_files || is_more || self.operations_min.is_some() || self.clear.is_some() {
            return Err("backups have neither a threshold nor files: only counts, source, tag, database, for, repeat, group, \
                        group-wait, mute and notify"
                .into());
        }
        let counts = self.counts.clone().unwrap_or_else(|| vec![BackupSort::Full]);
        if counts.is_empty() {
            return Err("counts is empty: name full, copy-only, snapshot, differential or log".into());
        }
        Ok(Condition::NotBackedUp { counts })
    }

    /// A limit has no threshold: what is held is found, not asked.
    fn of_limit(&self, limit: VolumeLimit) -> Result<Condition, String> {
        if self.over.is_some() || !self.over_by_class.is_empty() || self.operations_min.is_some() {
            return Err("a limit has no threshold: leave out over, over-by-class and operations-min".into());
        }
        Ok(Condition::Limit(limit))
    }

    fn of_bucket(&self) -> Result<Condition, String> {
        let (Some(credits), Some(refill_iops), Some(within)) = (self.credits, self.refill, self.empty_within)
        else {
            return Err("needs the bucket: credits = 5400000, refill = 300 and empty-within = \"40m\"; `iostall drive limits` finds \
                        the first two"
                .into());
        };
        if !(credits > 0.0
            && refill_iops > 0.0
            && credits.is_finite()
            && refill_iops.is_finite()
            && within.0 > 0)
        {
            return Err("credits, refill and empty-within must be above zero".into());
        }
        self.of_limit(VolumeLimit::Draining { credits, refill_iops, within_ns: within.nanos() })
    }

    fn over_limits(&self, measured: Measured, classes: &[StorageClass]) -> Result<Condition, String> {
        if self.over.is_none() && self.over_by_class.is_empty() {
            return Err("needs a threshold: over, or over-by-class".into());
        }
        let mut by_class = BTreeMap::new();
        for (name, value) in &self.over_by_class {
            if !classes.iter().any(|class| class.name == *name) {
                return Err(format!("over-by-class: there is no class {name:?}: write [[classes]]"));
            }
            by_class.insert(name.clone(), threshold(measured, value)?);
        }
        let threshold = self.over.as_ref().map(|value| threshold(measured, value)).transpose()?;
        Ok(Condition::Over { measured, threshold, by_class })
    }
}

/// A threshold with its unit: a duration for stalls, a size in bytes, or a number.
fn threshold(measured: Measured, value: &Value) -> Result<f64, String> {
    let number = match (measured, value) {
        (
            Measured::StallPerRead | Measured::StallPerWrite | Measured::StallPerIo | Measured::StallPerSync,
            Value::String(text),
        ) => text.parse::<Nanos>().map_err(|error| error.to_string())?.nanos() as f64,
        (Measured::Throughput, Value::String(text)) => {
            let bytes: ByteCount = text.trim_end_matches("/s").parse().map_err(|error| format!("{error}"))?;
            bytes.bytes() as f64
        }
        (Measured::Size, Value::String(text)) => {
            text.parse::<ByteCount>().map_err(|error| format!("{error}"))?.bytes() as f64
        }
        (Measured::Iops | Measured::Syncs, Value::Integer(number)) => *number as f64,
        (Measured::Iops | Measured::Syncs, Value::Float(number)) => *number,
        (Measured::Iops | Measured::Syncs, Value::String(text)) if text.parse::<f64>().is_ok() => {
            return Err(format!("over = {value}: a number stands without quotation marks: over = {text}"));
        }
        (Measured::Iops | Measured::Syncs, _) => {
            return Err(format!("over = {value}: write a number, such as 5000"));
        }
        (Measured::Size, _) => return Err(format!("over = {value}: write a size, such as \"100GiB\"")),
        (Measured::Throughput, _) => {
            return Err(format!("over = {value}: write bytes a second, such as \"400MB\""));
        }
        _ => return Err(format!("over = {value}: write a length of time, such as \"20ms\"")),
    };
    if number > 0.0 { Ok(number) } else { Err(format!("over = {value}: must be above zero")) }
}

impl WrittenMute {
    fn checked(self) -> Result<MuteHours, String> {
        let zone = match &self.zone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|error| {
                format!(
                    "mute: the time zone {name:?} is not known here ({error}): write UTC, or install tzdata"
                )
            })?,
        };
        let days = self.days.iter().map(|day| weekday(day)).collect::<Result<_, _>>()?;
        Ok(MuteHours { from: self.from, to: self.to, days, zone })
    }
}

fn weekday(text: &str) -> Result<Weekday, String> {
    Ok(match text {
        "mon" => Weekday::Monday,
        "tue" => Weekday::Tuesday,
        "wed" => Weekday::Wednesday,
        "thu" => Weekday::Thursday,
        "fri" => Weekday::Friday,
        "sat" => Weekday::Saturday,
        "sun" => Weekday::Sunday,
        _ => return Err(format!("mute: {text:?} is not a day; write mon, tue, wed, thu, fri, sat or sun")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: `over = "20"` was answered with "write a number".
    #[test]
    fn a_number_in_quotation_marks_is_said_to_be_one() {
        let said = threshold(Measured::Iops, &Value::String("20".into())).unwrap_err();
        assert!(said.contains("without quotation marks"), "{said}");
        assert!(threshold(Measured::Iops, &Value::String("many".into())).unwrap_err().contains("5000"));
    }
}
