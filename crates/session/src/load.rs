//! One load: a profile on targets.

use iostall_model::{Profile, Run};

use crate::error::SessionError;
use crate::session::Session;
use crate::targets::TargetRequest;

/// A load that is asked for.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// On what.
    pub targets: TargetRequest,
    /// What is done to it.
    pub profile: Profile,
    /// As the run is called.
    pub name: String,
}

/// Runs it, and checks its numbers.
pub fn load(request: LoadRequest, session: &Session<'_>) -> Result<Run, SessionError> {
    let targets = session.prepare(&request.targets, &request.profile)?;
    session.measure(request.profile, &targets, &request.name)
}
