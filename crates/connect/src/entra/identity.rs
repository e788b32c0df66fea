//! Tokens of the identity that Azure gives a machine or an app, and of an application registered in Entra, also called a service
//! principal.

use std::time::Duration;

use super::http::{self, Hints};
use super::token::{Failure, Token};
use crate::secret::Secret;

/// Azure's metadata service, at the same address in every machine.
const METADATA: &str = "http://169.254.169.254";
/// Another address of it, as Azure's own libraries understand it.
const METADATA_AT: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
/// The identity service of App Service, Functions and Container Apps, and the header it requires.
const SERVICE: &str = "IDENTITY_ENDPOINT";
const SERVICE_KEY: &str = "IDENTITY_HEADER";

const HINTS: Hints = Hints {
    unreachable: "managed identities exist only on Azure; elsewhere write auth=service-principal, or auth=entra with \
                  token-command=COMMAND",
    refused: "assign an identity to this machine or app in Azure, or name a user-assigned one by its client id \
              (sqlserver://CLIENT-ID@HOST/DATABASE?auth=managed-identity); elsewhere write auth=service-principal, or \
              auth=entra with token-command=COMMAND",
};

#[derive(Debug)]
pub(super) enum Endpoint {
    Metadata { host: String },
    Service { url: String, key: Secret },
}

impl Endpoint {
    /// According to the environment.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let host = || variable(METADATA_AT).unwrap_or_else(|| METADATA.to_owned());
        match (variable(SERVICE), variable(SERVICE_KEY)) {
            (Some(url), Some(key)) => Ok(Self::Service { url, key: Secret::typed(key) }),
            // Azure Arc also sets the address, and wants a file to be read that only administrators can read.
            (Some(_), None) => Err(Failure::refused(
                "the identity of a server in Azure Arc is not supported",
                "write auth=service-principal, or auth=entra with token-command=COMMAND",
            )),
            (None, _) => Ok(Self::Metadata { host: host().trim_end_matches('/').to_owned() }),
        }
    }

    /// A token for `resource`, of the identity `client_id` if it is not empty.
    pub(super) fn token(&self, resource: &str, client_id: &str, limit: Duration) -> Result<Token, Failure> {
        let mut query = vec![("resource", resource)];
        if !client_id.is_empty() {
            query.push(("client_id", client_id));
        }
        match self {
            Self::Metadata { host } => {
                let url = format!("{host}/metadata/identity/oauth2/token");
                query.push(("api-version", "2018-02-01"));
                let answer = http::get(&url, &query, ("Metadata", "true"), limit);
                http::token(&format!("the metadata service of Azure ({host})"), answer, &HINTS)
            }
            Self::Service { url, key } => {
                query.push(("api-version", "2019-08-01"));
                let answer = http::get(url, &query, ("X-IDENTITY-HEADER", key.reveal()), limit);
                http::token("the identity service of this app", answer, &HINTS)
            }
        }
    }
}

const APPLICATION_HINTS: Hints = Hints {
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
        let token = http::token(&self.url, http::post(&self.url, &form, limit), &APPLICATION_HINTS);
        token.map_err(|failure| Failure {
            // Whoever answers there may repeat what it was sent.
            reason: if secret.is_empty() { failure.reason } else { failure.reason.replace(secret, "…") },
            ..failure
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_environment_says_where_the_identity_is() {
        let of = |set: &[(&str, &str)]| {
            let found = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            Endpoint::of(found)
        };
        assert!(matches!(of(&[]), Ok(Endpoint::Metadata { host }) if host == METADATA));
        let app = of(&[(SERVICE, "http://127.0.0.1:41/msi/token"), (SERVICE_KEY, "key")]).unwrap();
        assert!(!format!("{app:?}").contains("key\""), "{app:?}");
        assert!(matches!(app, Endpoint::Service { .. }));
        let arc = of(&[(SERVICE, "http://localhost:40342/metadata/identity/oauth2/token")]).unwrap_err();
        assert!(arc.is_refused && arc.reason.contains("Arc"), "{arc:?}");
    }

    /// Outside Azure nothing answers at the address of the metadata service.
    #[test]
    fn a_metadata_service_that_does_not_answer_is_not_waited_for() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Metadata { host: format!("http://{}", silent.local_addr().unwrap()) };
        let failure = endpoint.token("r", "", Duration::from_millis(200)).unwrap_err();
        assert!(!failure.is_refused && failure.reason.contains("no answer within 200ms"), "{failure:?}");
        assert!(failure.hint.contains("only on Azure"), "{failure:?}");
    }
}
