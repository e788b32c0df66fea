//! Notifies through a web server.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::Url;

use crate::delivery_error::DeliveryError;
use crate::message::Message;
use crate::secret::Secret;

/// The destination. For many services the address itself is the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebAddress {
    /// In the configuration file, which everybody may read.
    Open(Url),
    Secret(Secret),
}

/// A `POST` of a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub address: WebAddress,
    /// Sent as `Authorization: Bearer`.
    pub token: Option<Secret>,
}

impl Webhook {
    pub(crate) fn describe(&self) -> String {
        match &self.address {
            WebAddress::Open(url) => format!("POST {url}"),
            WebAddress::Secret(secret) => format!("POST to the address in {secret:?}"),
        }
    }

    pub(crate) fn post(&self, message: &Message, timeout: Duration) -> Result<(), DeliveryError> {
        let url = match &self.address {
            WebAddress::Open(url) => url.to_string(),
            WebAddress::Secret(secret) => secret.read()?,
        };
        let mut request = agent(timeout).post(&url).header("Content-Type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {}", token.read()?));
        }
        // The library's messages contain no address, so a secret one is not revealed.
        let answer = request
            .send(message.payload().to_string())
            .map_err(|error| DeliveryError::Unreachable(error.to_string()))?;
        if answer.status().is_success() {
            Ok(())
        } else {
            Err(DeliveryError::Refused(format!("the server answered {}", answer.status())))
        }
    }
}

/// A client that uses this machine's trust store. It does not follow redirects, so that a token is not sent
/// to an unknown place.
fn agent(timeout: Duration) -> Agent {
    let found = rustls_native_certs::load_native_certs().certs;
    let roots = found.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from(roots))
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build();
    Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("iostall/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build()
        .new_agent()
}
