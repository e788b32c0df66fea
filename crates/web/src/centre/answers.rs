//! What servers send of their history, and what they ask about it.

use iostall_store::{BODY_BYTES_MAX, Member};
use iostall_watch::centre_protocol::{
    AFTER, AppendAnswer, KnownAnswer, KnownRequest, OutcomeAnswer, OutcomeRequest, PartRequest, PlaceAnswer,
    PlaceRequest, RunsAnswer, RunsRequest, SheetsAnswer, SheetsRequest, WantedAnswer, WantedRequest, code,
};
use iostall_watch::{intake, rollout};

use super::checks::{PLACEMENT_BYTES_MAX, Turn, check_texts, json_of, json_of_at_most};
use super::refusals;
use super::requests::{Failed, Shared};
use crate::server::{Answer, Connection, Head, Refusal};

impl Shared {
    pub(super) fn known(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let KnownRequest { source } = json_of(connection)??;
        let known = intake::known(&*self.writer(member)?, member, source)?;
        Ok(refusals::json(&KnownAnswer { appended: known.appended, newest: known.newest }))
    }

    pub(super) fn append(
        &self,
        connection: &mut Connection,
        head: &Head,
        member: &Member,
    ) -> Result<Answer, Failed> {
        let after: Option<u64> = head.query(AFTER).and_then(|text| text.parse().ok());
        let after = after.ok_or_else(Refusal::not_understood)?;
        let _turn = Turn::take(&self.appending, member.store).ok_or_else(refusals::slow_down)?;
        let body = connection.whole_body(BODY_BYTES_MAX)?.ok_or_else(refusals::too_long)?;
        self.check_bytes(member, &body)?;
        // Only so many batches are unpacked at a time as are written: they may be many times as long.
        let mut writer = self.writer(member)?;
        let is_added = intake::append(&mut writer, member, (after, &body), &self.quotas)?;
        if is_added {
            self.counts.stored_batch();
        }
        Ok(refusals::json(&AppendAnswer { is_added }))
    }

    pub(super) fn place(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let PlaceRequest { source, placements } = json_of_at_most(connection, PLACEMENT_BYTES_MAX)??;
        intake::place(&mut *self.writer(member)?, member, source, &placements)?;
        Ok(refusals::json(&PlaceAnswer {}))
    }

    pub(super) fn runs(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let RunsRequest { runs } = json_of(connection)??;
        let lacking = intake::lacking_runs(&*self.writer(member)?, member, &runs)?;
        Ok(refusals::json(&RunsAnswer { lacking }))
    }

    pub(super) fn run(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let _turn = Turn::take(&self.appending, member.store).ok_or_else(refusals::slow_down)?;
        let body = connection.whole_body(BODY_BYTES_MAX)?.ok_or_else(refusals::too_long)?;
        self.check_bytes(member, &body)?;
        // As with batches, which may be many times as long when they are unpacked.
        let writer = self.writer(member)?;
        let is_added = intake::put_run(&writer, member, &body)?;
        Ok(refusals::json(&AppendAnswer { is_added }))
    }

    pub(super) fn sheets(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let SheetsRequest { sheets } = json_of(connection)??;
        let lacking = intake::lacking_sheets(&*self.writer(member)?, member, &sheets)?;
        Ok(refusals::json(&SheetsAnswer { lacking }))
    }

    pub(super) fn sheet(&self, connection: &mut Connection, member: &Member) -> Result<Answer, Failed> {
        let _turn = Turn::take(&self.appending, member.store).ok_or_else(refusals::slow_down)?;
        let body = connection.whole_body(BODY_BYTES_MAX)?.ok_or_else(refusals::too_long)?;
        self.check_bytes(member, &body)?;
        let is_added = intake::put_sheet(&*self.writer(member)?, member, &body)?;
        Ok(refusals::json(&AppendAnswer { is_added }))
    }
}

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
