//! Which rules have met something that they can measure, and which have not although there was I/O.

use std::collections::BTreeMap;

use super::{Interval, Name, RuleEvaluator};
use crate::alert::rule::{Measured, Rule};
use crate::delta::Change;

/// How a rule has fared since it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Met {
    /// Nothing of the sources that were read has a name that it asks for.
    #[default]
    Nothing,
    /// There was I/O of what it asks for, without the figure.
    Unmeasured,
    Something,
    Told,
}

/// What a rule has met of `found`, after what it had met before.
pub(super) fn met(before: Met, measured: Measured, found: &BTreeMap<Name, Interval>) -> Met {
    if matches!(before, Met::Something | Met::Told) {
        return before;
    }
    let tells = |(name, interval): (&Name, &Interval)| {
        let has_worked = measured.operations(&interval.totals).is_some_and(|operations| operations > 0);
        let is_told = measured.value(&interval.totals, interval.size_bytes).is_some();
        measured.is_told_by(name.kind) && (is_told || !has_worked)
    };
    if found.iter().any(tells) {
        Met::Something
    } else if found.is_empty() {
        before
    } else {
        Met::Unmeasured
    }
}

pub(super) fn has_worked(changes: &[Change]) -> bool {
    changes.iter().filter_map(Change::delta).any(|totals| totals.iops().is_some_and(|iops| iops > 0.0))
}

impl RuleEvaluator {
    /// Rules that have met nothing that they can measure although all of their sources have done I/O since, each with why; each is
    /// given once.
    pub fn unmet(&mut self) -> Vec<(String, String)> {
        let Self { book, sources, met, .. } = self;
        let mut unmet = Vec::new();
        for (place, rule) in book.rules.iter().enumerate() {
            let (Some(state), true) = (met.get_mut(place), rule.measured().is_some()) else { continue };
            let mut its = sources
                .iter()
                .filter(|source| !source.is_retired && rule.matches.fits_source(&source.known))
                .peekable();
            if its.peek().is_none() || !its.all(|source| source.has_worked) {
                continue;
            }
            if let Some(reason) = why(*state, rule) {
                *state = Met::Told;
                unmet.push((rule.name.clone(), reason.to_owned()));
            }
        }
        unmet
    }
}

fn why(state: Met, rule: &Rule) -> Option<&'static str> {
    match state {
        Met::Something | Met::Told => None,
        Met::Nothing if rule.matches.file.is_some() || rule.matches.database.is_some() => {
            Some("no file, table or database there has a name that it asks for")
        }
        Met::Nothing => Some("nothing there counts at its level, or lies on what it asks for"),
        Met::Unmeasured => Some(
            "what it is about did I/O, and the server does not tell the figure (docs/alerts.md has a table)",
        ),
    }
}
