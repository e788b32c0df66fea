//! Why there is no token.

#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) hint: String,
    /// Someone must fix something first: trying again soon is useless.
    pub(super) is_refused: bool,
}

impl Failure {
    /// What a person must fix.
    pub(super) fn refused(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into(), is_refused: true }
    }

    /// What may be over soon.
    pub(super) fn passing(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into(), is_refused: false }
    }
}
