//! What agents ask the centre, and what follows from their answers.

use iostall_store::{AgentReport, Member, PostgresHistory, WantedPush};

use super::rings::{FailedMax, Next};
use crate::centre_protocol::{OutcomeRequest, Wanted, WantedRequest};
use crate::error::RolloutError;

const REASON_CHARS_MAX: usize = 1_000;

pub fn wanted(
    repository: &PostgresHistory,
    member: &Member,
    request: &WantedRequest,
) -> Result<Option<Wanted>, RolloutError> {
    put_agent(repository, member, request)?;
    let wanted = |WantedPush { push, release, parts, permit }| Wanted { push, release, parts, permit };
    Ok(repository.wanted_push(member)?.map(wanted))
}

fn put_agent(repository: &PostgresHistory, member: &Member, now: &WantedRequest) -> Result<(), RolloutError> {
    let labels = serde_json::to_string(&now.labels).unwrap_or_default();
    let objects = serde_json::to_string(&now.objects).unwrap_or_default();
    let report = AgentReport { labels: &labels, objects: &objects };
    Ok(repository.put_push_agent(member, &report)?)
}

pub fn part(
    repository: &PostgresHistory,
    member: &Member,
    push: u64,
    number: u32,
) -> Result<Option<Vec<u8>>, RolloutError> {
    Ok(repository.release_part(member, push, number)?)
}

pub fn note_outcome(
    repository: &PostgresHistory,
    member: &Member,
    outcome: &OutcomeRequest,
) -> Result<(), RolloutError> {
    let reason =
        outcome.reason.as_ref().map(|reason| reason.chars().take(REASON_CHARS_MAX).collect::<String>());
    let state = match (outcome.is_undo, reason.is_some()) {
        (false, false) => "applied",
        (false, true) => "failed",
        (true, false) => "undone",
        (true, true) => "undo-failed",
    };
    put_agent(repository, member, &outcome.now)?;
    repository.change_pushes(|repository| {
        if repository.put_pushed(member, outcome.push, outcome.is_undo, state, reason.as_deref())? {
            advance(repository, outcome.push)?;
        }
        Ok(())
    })
}

pub(super) fn advance(repository: &PostgresHistory, number: u64) -> Result<(), RolloutError> {
    let Some(push) = repository.pushes(Some(number))?.pop() else { return Ok(()) };
    if push.state == "undoing" && push.counts.undo == 0 {
        repository.put_push_state(number, "undone", push.ring)?;
    }
    if push.state != "running" {
        return Ok(());
    }
    match push.failed_max.parse::<FailedMax>()?.next(&push.counts) {
        Next::Wait => {}
        Next::Halt => {
            repository.put_push_state(number, "halted", push.ring)?;
            repository.leave_servers(number)?;
        }
        Next::Continue => {
            repository.put_push_state(number, "running", push.ring + 1)?;
            repository.ask_ring(number, push.ring + 1)?;
        }
        Next::Complete => repository.put_push_state(number, "done", push.ring)?,
    }
    Ok(())
}
