//! `iostall load` and everything built on it.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, CapacityPoint, IoShape};
use crate::entry::Summary;
use crate::figures::rows;
use crate::measured::Measured;
use crate::outcome::{EngineUse, SpanOutcome};
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// With every default filled in.
    pub profile: Profile,
    /// The profile in the format of another tool, if it was given that way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedProfile>,
    /// One per span that was started, in order.
    pub spans: Vec<SpanOutcome>,
}

/// A profile in another tool's format, from which that tool's report can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedProfile {
    pub format: AskedFormat,
    /// The complete profile, with templates filled in.
    pub document: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskedFormat {
    DiskspdXml,
}

impl Outcome for LoadOutcome {
    fn kind(&self) -> &'static str {
        "load"
    }

    fn used_bytes(&self, index: usize, _whole_bytes: u64) -> Option<u64> {
        self.spans.iter().filter_map(|span| span.target_bytes.get(index).copied()).max()
    }

    fn profile(&self) -> Option<&Profile> {
        Some(&self.profile)
    }

    fn engines(&self) -> Vec<&EngineUse> {
        self.spans.iter().flat_map(|span| &span.roles).map(|role| &role.engine).collect()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        let several = self.profile.spans.len() > 1;
        let mut all = Vec::new();
        for (index, span) in self.spans.iter().enumerate() {
            let prefix = if several { format!("span {} ", index + 1) } else { String::new() };
            for role in &span.roles {
                let moving = rows(role).into_iter().filter(|row| row.kind.moves_data());
                all.extend(moving.filter_map(|row| Measured::of_row(&prefix, span, role, &row)));
            }
        }
        all
    }

    fn capacities(&self, targets: usize) -> Vec<Capacity> {
        let (1, Some(shape)) = (targets, IoShape::of_profile(&self.profile)) else { return Vec::new() };
        let curve = self.spans.iter().filter_map(CapacityPoint::of_span).collect();
        vec![Capacity { target: 0, shape, curve }]
    }

    fn summary(&self) -> Summary {
        Summary::of_spans(&self.profile, &self.spans)
    }
}
