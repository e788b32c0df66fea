//! Load tests whose latencies are sent: a distribution for each role and operation of a run.

use iostall_measure::{Histogram, Op};
use iostall_model::{Cell, LoadOutcome, OpOutcome, Run};
use iostall_store::{CollectorState, RunNumber, StoreError, Stored};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::otlp::Latencies;
use crate::state;

const KIND: &str = "load";
const EVERY: SignedDuration = SignedDuration::from_secs(5);

const SERVICE: (&str, &str) =
    ("iostall_run_service_seconds", "Time of requests of a load test from submission to completion.");
const RESPONSE: (&str, &str) = (
    "iostall_run_response_seconds",
    "Time of requests of a load test from their intended start to completion.",
);
const COMMIT: (&str, &str) =
    ("iostall_run_commit_seconds", "Time of commits of a load test, from the write to the end of its sync.");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    last: Option<u32>,
    since: Timestamp,
}

/// What the name begins with under which a position is kept.
pub(crate) const PUSHED_RUNS: &str = "runs pushed to ";

pub(crate) fn is_position_of_runs(text: &str) -> bool {
    serde_json::from_str::<Position>(text).is_ok()
}

pub(super) struct Runs {
    /// The name under which the position is kept.
    memory: String,
    position: Option<Position>,
    next: Option<Timestamp>,
}

impl Runs {
    pub(super) fn to(receiver: &str) -> Self {
        Self { memory: format!("{PUSHED_RUNS}{receiver}"), position: None, next: None }
    }

    /// The runs that were stored since, where it is time to look. The first time, from `now` on.
    pub(super) fn new_in(
        &mut self,
        store: &mut impl CollectorState,
        now: Timestamp,
    ) -> Result<Vec<Stored>, StoreError> {
        // A clock that was set back must not stop it for that long.
        if self.next.is_some_and(|next| now < next && next.duration_since(now) <= EVERY) {
            return Ok(Vec::new());
        }
        let position = if let Some(position) = self.position {
            position
        } else {
            let position = state::read(store, &self.memory)?.unwrap_or(Position { last: None, since: now });
            // Runs that are made while nobody collects are sent, too.
            store.put_state(&self.memory, &serde_json::to_string(&position).unwrap_or_default())?;
            position
        };
        self.position = Some(position);
        let found = store.runs_after(KIND, position.last.map(RunNumber))?;
        self.next = now.checked_add(EVERY).ok();
        Ok(found)
    }

    pub(super) fn is_new(&self, run: &Run) -> bool {
        self.position.is_some_and(|position| run.ended_utc >= position.since)
    }

    /// The run was sent, or is not to be sent.
    pub(super) fn done(
        &mut self,
        store: &mut impl CollectorState,
        number: RunNumber,
    ) -> Result<(), StoreError> {
        let Some(position) = &mut self.position else { return Ok(()) };
        position.last = Some(number.0);
        store.put_state(&self.memory, &serde_json::to_string(position).unwrap_or_default())
    }

    /// What is left is looked at again at once.
    pub(super) fn again(&mut self) {
        self.next = None;
    }
}

pub(super) fn latencies(run: &Run) -> Vec<Latencies> {
    let Some(load) = run.body.as_kind::<LoadOutcome>() else { return Vec::new() };
    let mut all = Vec::new();
    for (index, span) in load.spans.iter().enumerate() {
        for role in &span.roles {
            let attributes = |operation: &str| {
                vec![
                    ("iostall.run.id", run.id.0.to_string()),
                    ("iostall.run.name", run.name.clone()),
                    ("span", (index + 1).to_string()),
                    ("role", role.name.clone()),
                    ("operation", operation.to_owned()),
                ]
            };
            let mut add = |(name, help), operation: &str, latencies_ns: Option<&Histogram>| {
                if let Some(distribution) = latencies_ns.and_then(Distribution::of) {
                    all.push(Latencies { name, help, attributes: attributes(operation), distribution });
                }
            };
            for op in Op::ALL {
                let cells = role.cells.iter().filter(|cell: &&Cell| cell.op == op);
                let Some(sum) = OpOutcome::sum(cells) else { continue };
                add(SERVICE, op.name(), Some(&sum.service_ns));
                add(RESPONSE, op.name(), sum.response_ns.as_ref());
            }
            add(COMMIT, "commit", role.commit.as_ref());
        }
    }
    all
}
