//! An agent that asks its centre what is wanted, and does what its policy allows of it.

use crate::centre::Centre;
use crate::centre_protocol::{OutcomeRequest, PART_BYTES, PartRequest, Wanted, WantedRequest, code};
use crate::deploy::{Applied, PushAgent};
use crate::error::WatchError;
use crate::release::{RELEASE_BYTES_MAX, ReleaseError};

pub struct PushFollower {
    agent: PushAgent,
    centre: Centre,
}

#[derive(Debug)]
pub enum Asked {
    Nothing,
    Applied(Applied),
    Refused { reason: String, hint: Option<String> },
}

impl PushFollower {
    pub fn new(agent: PushAgent, centre: Centre) -> Self {
        Self { agent, centre }
    }

    /// Says what this server is, and does what is wanted. What became of it is said to the centre; if that cannot be reached then, it is
    /// asked for again the next time, and found done.
    pub fn ask(&mut self) -> Result<Asked, WatchError> {
        self.agent.recover()?;
        // With the newest key that the centre knows.
        self.centre.hello()?;
        let Some(wanted) = self.centre.wanted(&self.now())?.wanted else { return Ok(Asked::Nothing) };
        let done = match self.carry_out(&wanted) {
            // It is not known yet what becomes of it: the centre waits.
            Ok(Err(error @ ReleaseError::Pending { .. })) => return Err(error.into()),
            // The push was halted while this server took its parts.
            Err(WatchError::Centre(error)) if error.is(code::PUSH) => return Ok(Asked::Nothing),
            done => done?,
        };
        let reason = done.as_ref().err().map(ToString::to_string);
        let (push, is_undo) = (wanted.push, wanted.permit.is_some());
        self.centre.outcome(&OutcomeRequest { push, is_undo, reason, now: self.now() })?;
        Ok(match done {
            Ok(applied) => Asked::Applied(applied),
            Err(error) => Asked::Refused { reason: error.to_string(), hint: error.hint() },
        })
    }

    fn now(&self) -> WantedRequest {
        WantedRequest { labels: self.agent.policy().labels().clone(), objects: self.agent.objects() }
    }

    fn carry_out(&mut self, wanted: &Wanted) -> Result<Result<Applied, ReleaseError>, WatchError> {
        if let Some(permit) = &wanted.permit {
            let done = self.agent.apply(permit.as_bytes(), &mut |_| {});
            // It was never applied here, or is undone already: then everything is as it should be.
            if let Err(ReleaseError::NothingToUndo { version }) = done
                && self.agent.release() != Some(&wanted.release)
            {
                return Ok(Ok(Applied { version, is_undo: true, changes: Vec::new() }));
            }
            return Ok(done);
        }
        let too_long = || Ok(Err(ReleaseError::Form("it is too long".to_owned())));
        if u64::from(wanted.parts) > RELEASE_BYTES_MAX.div_ceil(PART_BYTES as u64) {
            return too_long();
        }
        let mut bytes = Vec::new();
        for number in 0..wanted.parts {
            bytes.extend(self.centre.part(&PartRequest { push: wanted.push, number })?);
            if bytes.len() as u64 > RELEASE_BYTES_MAX {
                return too_long();
            }
        }
        Ok(self.agent.apply(&bytes, &mut |_| {}))
    }
}
