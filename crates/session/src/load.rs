//! Runs one load: a profile on targets.

use iostall_model::{AskedProfile, Profile, Run};

use crate::error::SessionError;
use crate::session::Session;
use crate::targets::TargetRequest;

#[derive(Clone, Debug)]
pub struct LoadRequest {
    pub targets: TargetRequest,
    pub profile: Profile,
    /// The profile in the format of another tool, if it was given that way; stored with the run.
    pub asked: Option<AskedProfile>,
    pub name: String,
}

pub fn load(request: LoadRequest, session: &Session<'_>) -> Result<Run, SessionError> {
    let targets = session.prepare(&request.targets, &request.profile)?;
    session.measure_asked(request.profile, request.asked, &targets, &request.name)
}
