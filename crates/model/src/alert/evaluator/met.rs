//! Which rules have met something that they can measure, and which have not although there was I/O.

use crate::alert::rule::{Measured, Rule};
use crate::delta::Change;
use crate::kind::Kind;
use crate::totals::Totals;

/// How a rule has fared since it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Met {
    /// Nothing of the sources that were read has a name that it asks for.
    #[default]
    Nothing,
    /// There was I/O of what it asks for, without the figure.
    Unmeasured,
    Something,
    /// It was said.
    Said,
}

impl Met {
    /// After an interval in which groups of these kinds did so much, and had such sizes.
    pub(super) fn after<'a>(
        self,
        measured: Measured,
        found: impl Iterator<Item = (Kind, &'a Totals, Option<u64>)>,
    ) -> Self {
        if matches!(self, Self::Something | Self::Said) {
            return self;
        }
        let mut met = self;
        for (kind, totals, size_bytes) in found {
            let has_worked = measured.operations(totals).is_some_and(|operations| operations > 0);
            let is_known = measured.value(totals, size_bytes).is_some();
            if measured.comes_from(kind) && (is_known || !has_worked) {
                return Self::Something;
            }
            met = Self::Unmeasured;
        }
        met
    }

    /// Why `rule` cannot fire, if that is so and has not been said.
    pub(super) fn why(self, rule: &Rule) -> Option<&'static str> {
        match self {
            Self::Something | Self::Said => None,
            Self::Nothing if rule.matches.file.is_some() || rule.matches.database.is_some() => {
                Some("no file, table or database there has a name that it asks for")
            }
            Self::Nothing => Some("nothing there counts at its level, or lies on what it asks for"),
            Self::Unmeasured => Some(
                "what it is about did I/O, and the server does not say the figure (docs/alerts.md has a table)",
            ),
        }
    }
}

pub(super) fn has_worked(changes: &[Change]) -> bool {
    changes.iter().filter_map(Change::delta).any(|totals| totals.iops().is_some_and(|iops| iops > 0.0))
}
