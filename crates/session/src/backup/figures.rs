//! What the backups of a source that the store knows say about its next ones: size, ratio, rates and growth, for a plan.

use std::collections::{BTreeMap, BTreeSet};

use iostall_measure::hinted;
use iostall_model::{BackupOutcome, RestoreOutcome, Run};
use iostall_stats::summary::median;
use iostall_stats::trend::{TimedValue, trend};
use iostall_store::{Filter, Selector, Store, StoreError};
use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use super::known::{key_of, source_of};
use crate::error::of_use_case;

/// As many of the newest give ratio and rates: settings and devices change.
const NEWEST: usize = 5;
/// As many of the newest give the growth: three years of nights.
const FOR_GROWTH: usize = 1100;
/// Less time than this says nothing about a year.
const GROWTH_DAYS_MIN: f64 = 14.0;
const DAY_S: f64 = 86_400.0;
const YEAR_DAYS: f64 = 365.25;
/// A share that a plan can count with.
const GROWTH_MAX: f64 = 100.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptFigures {
    pub source: String,
    pub backups: usize,
    pub first_utc: Timestamp,
    pub last_utc: Timestamp,
    pub size_bytes: u64,
    pub ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_bytes_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore_bytes_per_s: Option<f64>,
    /// As a share of the size in a year; `None` if they span too little time to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_per_year: Option<f64>,
}

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum KeptFiguresError {
        #[error(transparent)]
        Store(#[from] error: StoreError) => error.hint(),
        #[error("the store knows of no backup{}", prefix.as_ref().map(|prefix| format!(" of {prefix}")).unwrap_or_default())]
        Nothing { prefix: Option<String> }
            => "`iostall backup list` shows what it knows; or give --size, as 800G, with --ratio and --rate",
        #[error("the store knows backups of several sources")]
        Several { sources: Vec<String> }
            => format!("name the beginning of one of them, or give --size: {}", sources.join("; ")),
    }
}

of_use_case!(KeptFiguresError);

struct Made {
    source: String,
    key: Option<String>,
    set: String,
    at_utc: Timestamp,
    bytes: u64,
    stored_bytes: u64,
    elapsed_ns: u64,
}

impl Made {
    fn of(run: &Run, outcome: &BackupOutcome) -> Option<Self> {
        Some(Self {
            source: source_of(run, outcome),
            key: key_of(run, outcome),
            set: outcome.set.clone().filter(|_| outcome.is_whole())?,
            at_utc: run.started_utc,
            bytes: outcome.bytes,
            stored_bytes: outcome.stored_bytes,
            elapsed_ns: outcome.elapsed_ns,
        })
    }

    /// Whether its source, with or without the host, or its manifest begins with this.
    fn begins_with(&self, prefix: &str, manifest: Option<&str>) -> bool {
        let of_host = self.source.split_once(": ").map_or("", |(_, source)| source);
        [self.source.as_str(), of_host, manifest.unwrap_or_default()]
            .iter()
            .any(|name| name.starts_with(prefix))
    }
}

/// The figures of the backups whose source, or whose manifest's path, begins with `prefix`; of all of them without one. They must
/// be of one source.
pub fn kept_figures(store: &dyn Store, prefix: Option<&str>) -> Result<KeptFigures, KeptFiguresError> {
    let mut made = Vec::new();
    each(store, "backup", |run| {
        if let Some(outcome) = run.body.as_kind::<BackupOutcome>()
            && let Some(one) = Made::of(run, outcome)
            && prefix.is_none_or(|prefix| one.begins_with(prefix, outcome.manifest.as_deref()))
        {
            made.push(one);
        }
    })?;
    // Streams without a name go by what they are called: their sizes are compared, and nothing is deleted.
    let sources: BTreeMap<&str, &str> = made
        .iter()
        .map(|made| (made.key.as_ref().unwrap_or(&made.source).as_str(), made.source.as_str()))
        .collect();
    if sources.len() > 1 {
        let sources: BTreeSet<&str> = sources.into_values().collect();
        return Err(KeptFiguresError::Several { sources: sources.into_iter().map(str::to_owned).collect() });
    }
    made.sort_by_key(|made| made.at_utc);
    let mut restores = Vec::new();
    each(store, "restore", |run| {
        if let Some(outcome) = run.body.as_kind::<RestoreOutcome>()
            && outcome.is_whole
            && outcome.only.is_none()
            && made.iter().any(|made| made.set == outcome.set)
        {
            restores.extend(rate(outcome.bytes, outcome.elapsed_ns));
        }
    })?;
    of(&made, &restores).ok_or_else(|| KeptFiguresError::Nothing { prefix: prefix.map(str::to_owned) })
}

/// Calls `found` with every run of a kind, newest first. One that cannot be read, such as that of a newer iostall, is passed over.
fn each(store: &dyn Store, kind: &str, mut found: impl FnMut(&Run)) -> Result<(), StoreError> {
    for entry in store.list(&Filter { kind: Some(kind.to_owned()), ..Filter::default() })? {
        if let Ok(stored) = store.get(&Selector::Number(entry.number.0)) {
            found(&stored.run);
        }
    }
    Ok(())
}

/// `made` are in order of time, `restores` are the rates of restores, newest first.
fn of(made: &[Made], restores: &[f64]) -> Option<KeptFigures> {
    let (first, last) = (made.first()?, made.last()?);
    let newest = &made[made.len().saturating_sub(NEWEST)..];
    let sum = |part: fn(&Made) -> u64| newest.iter().map(part).sum::<u64>() as f64;
    let rates: Vec<f64> = newest.iter().filter_map(|made| rate(made.bytes, made.elapsed_ns)).collect();
    Some(KeptFigures {
        source: last.source.clone(),
        backups: made.len(),
        first_utc: first.at_utc,
        last_utc: last.at_utc,
        size_bytes: last.bytes,
        ratio: sum(|made| made.bytes) / sum(|made| made.stored_bytes).max(1.0),
        backup_bytes_per_s: median(&rates),
        restore_bytes_per_s: median(&restores[..restores.len().min(NEWEST)]),
        growth_per_year: growth(&made[made.len().saturating_sub(FOR_GROWTH)..]),
    })
}

fn rate(bytes: u64, elapsed_ns: u64) -> Option<f64> {
    (bytes > 0 && elapsed_ns > 0).then(|| bytes as f64 / (elapsed_ns as f64 / 1e9))
}

/// A database grows by a share of itself, so the trend is that of the logarithm.
fn growth(made: &[Made]) -> Option<f64> {
    let begin = made.first()?.at_utc;
    let day = |at: Timestamp| (at.as_second() - begin.as_second()) as f64 / DAY_S;
    if day(made.last()?.at_utc) < GROWTH_DAYS_MIN {
        return None;
    }
    let points: Vec<TimedValue> = made
        .iter()
        .filter(|made| made.bytes > 0)
        .map(|made| TimedValue { day: day(made.at_utc), value: (made.bytes as f64).ln() })
        .collect();
    let trend = trend(&points, None, 0.95)?;
    Some(((trend.slope_per_day * YEAR_DAYS).exp() - 1.0).clamp(-0.99, GROWTH_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(day: i64, bytes: u64, stored_bytes: u64, seconds: u64) -> Made {
        Made {
            source: "db1: /srv/shop".into(),
            key: None,
            set: format!("{day}"),
            at_utc: Timestamp::from_second(1_780_000_000 + day * 86_400).unwrap(),
            bytes,
            stored_bytes,
            elapsed_ns: seconds * 1_000_000_000,
        }
    }

    /// The story: the plan was made with the ratio of the vendor's leaflet and the size of last year.
    #[test]
    fn size_and_growth_are_those_of_the_kept_backups() {
        let nights: Vec<Made> = (0..60)
            .map(|day| {
                let bytes = 1_000_000_000 + u64::try_from(day).unwrap() * 1_000_000;
                made(day, bytes, bytes / 2, 10)
            })
            .collect();
        let figures = of(&nights, &[]).unwrap();
        assert_eq!((figures.backups, figures.size_bytes), (60, 1_059_000_000));
        assert!((figures.ratio - 2.0).abs() < 1e-6);
        assert!((figures.backup_bytes_per_s.unwrap() / 105.7e6 - 1.0).abs() < 1e-2, "{figures:?}");
        let growth = figures.growth_per_year.unwrap();
        assert!((0.40..0.45).contains(&growth), "a thousandth a day is {growth} a year");
        assert_eq!(figures.restore_bytes_per_s, None);
    }

    #[test]
    fn a_few_days_say_nothing_about_a_year_and_one_slow_night_nothing_about_the_others() {
        let nights: Vec<Made> =
            (0..5).map(|day| made(day, 1_000_000, 500_000, if day == 3 { 1000 } else { 1 })).collect();
        let figures = of(&nights, &[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(figures.growth_per_year, None);
        assert_eq!((figures.backup_bytes_per_s, figures.restore_bytes_per_s), (Some(1e6), Some(2.0)));
        assert!(of(&[], &[]).is_none());
    }

    #[test]
    fn a_source_is_named_by_its_beginning_with_or_without_its_host_or_by_its_manifest() {
        let one = made(1, 1, 1, 1);
        for prefix in ["db1: /srv", "/srv/shop", "/b1/shop"] {
            assert!(one.begins_with(prefix, Some("/b1/shop-2026.iob.manifest")), "{prefix}");
        }
        assert!(!one.begins_with("shop", None));
    }
}
