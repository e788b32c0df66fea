//! Tokens of an application registered in Entra, also called a service principal.

use std::time::Duration;

use super::failure::Failure;
use super::http::{self, Hints};
use super::token::Token;
use crate::secret::Secret;

const HINTS: Hints = Hints {
    unreachable: "check that this machine reaches that address, perhaps through a proxy (HTTPS_PROXY); \
                  authority=URL names another one",
    refused: "check the client id, the tenant, and the client secret with its expiry date; the number after AADSTS can be \
              looked up",
};

pub(super) struct Application {
    pub(super) url: String,
    pub(super) client_id: String,
    pub(super) secret: Secret,
}

impl Application {
    pub(super) fn token(&self, resource: &str, limit: Duration) -> Result<Token, Failure> {
        let secret = self.secret.reveal();
        let scope = format!("{resource}.default");
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", self.client_id.as_str()),
            ("client_secret", secret),
            ("scope", scope.as_str()),
        ];
        let token = http::token(&self.url, http::post(&self.url, &form, limit), &HINTS);
        token.map_err(|failure| Failure {
            // Whoever answers there may repeat what it was sent.
            reason: if secret.is_empty() { failure.reason } else { failure.reason.replace(secret, "…") },
            ..failure
        })
    }
}
