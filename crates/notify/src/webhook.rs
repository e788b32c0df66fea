//! Notifies through a web server.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};
use url::Url;

use crate::delivery_error::DeliveryError;
use crate::message::Message;
use crate::secret::Secret;
use crate::template::Template;

/// The destination. For many services the address itself is the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebAddress {
    /// In the configuration file, which everybody may read.
    Open(Url),
    Secret(Secret),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub address: WebAddress,
    /// Sent as `Authorization: Bearer`, or as the receiver wants it.
    pub token: Option<Secret>,
    pub template: Template,
}

/// A `GET` of an address that expects one now and then, and raises an alarm when none comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    pub address: WebAddress,
}

impl WebAddress {
    fn describe(&self) -> String {
        match self {
            Self::Open(url) => url.to_string(),
            Self::Secret(secret) => format!("to the address in {secret:?}"),
        }
    }

    fn read(&self) -> Result<String, DeliveryError> {
        match self {
            Self::Open(url) => Ok(url.to_string()),
            Self::Secret(secret) => secret.read(),
        }
    }
}

impl Webhook {
    pub(crate) fn describe(&self) -> String {
        format!("POST {}", self.address.describe())
    }

    pub(crate) fn post(&self, message: &Message, timeout: Duration) -> Result<(), DeliveryError> {
        let token = self.token.as_ref().map(Secret::read).transpose()?;
        let sent = self.template.request(message, token.as_deref()).map_err(DeliveryError::Refused)?;
        let url = self.address.read()? + &sent.path;
        let mut request = agent(timeout).post(&url).header("Content-Type", "application/json");
        if let (Some(scheme), Some(token)) = (sent.scheme, token) {
            request = request.header("Authorization", format!("{scheme} {token}"));
        }
        answered(request.send(sent.body), timeout)
    }
}

impl Heartbeat {
    pub(crate) fn describe(&self) -> String {
        format!("GET {}", self.address.describe())
    }

    pub(crate) fn send(&self, timeout: Duration) -> Result<(), DeliveryError> {
        answered(agent(timeout).get(&self.address.read()?).call(), timeout)
    }
}

/// Whether the server took it. The library's messages name no address, so a secret one is not told.
fn answered(answer: Result<Response<Body>, ureq::Error>, timeout: Duration) -> Result<(), DeliveryError> {
    let answer = answer.map_err(|error| match error {
        ureq::Error::Timeout(_) => DeliveryError::Unreachable(format!("no answer within {timeout:?}")),
        error => DeliveryError::Unreachable(error.to_string()),
    })?;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(DeliveryError::Refused(format!("the server answered {}", answer.status())))
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
