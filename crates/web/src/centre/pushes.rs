//! What agents ask about releases, and what became of these.

use iostall_store::Member;
use iostall_watch::centre_protocol::{
    OutcomeAnswer, OutcomeRequest, PartRequest, WantedAnswer, WantedRequest, code,
};
use iostall_watch::rollout;

use super::checks::{check_texts, json_of, json_of_at_most};
use super::refusals;
use super::requests::{Failed, Shared};
use crate::server::{Answer, Connection, Refusal};

/// Thousands of objects.
const STATE_BYTES_MAX: usize = 1 << 20;

impl Shared {
    pub(super) fn wanted(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let request: WantedRequest = json_of_at_most(connection, STATE_BYTES_MAX)??;
        check_state(&request)?;
        let wanted = rollout::wanted(&*self.writer(member)?, member, &request)?;
        Ok(refusals::json(&WantedAnswer { wanted }))
    }

    pub(super) fn part(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let PartRequest { push, number } = json_of(connection)??;
        let part = rollout::part(&*self.writer(member)?, member, push, number)?;
        let none = || Refusal::new(409, code::PUSH, "this is not wanted of this server any more");
        Ok(refusals::bytes(part.ok_or_else(none)?))
    }

    pub(super) fn outcome(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let request: OutcomeRequest = json_of_at_most(connection, STATE_BYTES_MAX)??;
        check_state(&request.now)?;
        rollout::note_outcome(&*self.writer(member)?, member, &request)?;
        Ok(refusals::json(&OutcomeAnswer {}))
    }
}

/// Nothing but what agents send: the tables take no other text.
fn check_state(state: &WantedRequest) -> Result<(), Refusal> {
    let labels = state.labels.iter().flat_map(|(name, value)| [name, value]);
    let names = state.objects.iter().flat_map(|object| [&object.name].into_iter().chain(&object.sha256));
    let texts: Vec<&str> = labels.chain(names).map(String::as_str).collect();
    if texts.iter().any(|text| text.contains('\0')) {
        return Err(Refusal::not_understood());
    }
    check_texts(&texts)
}
