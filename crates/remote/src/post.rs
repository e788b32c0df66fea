//! Documents posted to a web server: one connection that is kept, and answers of which only the beginning is read.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use thiserror::Error;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};
use url::Url;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// For a whole request: a receiver that takes longer is overloaded.
const LIMIT: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: u64 = 64 << 10;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostError {
    #[error("this is no address of a web server: {reason}")]
    Address { reason: String },
    /// A password in an address would be seen by everybody who lists processes.
    #[error("there is a password in the address")]
    PasswordInAddress,
    #[error("there is no certificate in PEM form in it")]
    Certificate,
    #[error("cannot start: {reason}")]
    Start { reason: String },
}

/// A checked address: `http` or `https`, without a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostAddress(Url);

impl PostAddress {
    /// Checks the address. No error repeats it.
    pub fn parse(text: &str) -> Result<Self, PostError> {
        let url =
            Url::parse(text.trim()).map_err(|error| PostError::Address { reason: error.to_string() })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(PostError::PasswordInAddress);
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(PostError::Address { reason: "it does not begin with http:// or https://".into() });
        }
        if url.fragment().is_some() {
            return Err(PostError::Address { reason: "there is a # in it".into() });
        }
        Ok(Self(url))
    }

    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The whole address, which must not be shown: there may be a key in it.
    pub fn whole(&self) -> &str {
        self.0.as_str()
    }

    pub fn is_local(&self) -> bool {
        matches!(self.0.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
    }

    /// The same with `path` instead of none.
    #[must_use]
    pub fn or_path(&self, path: &str) -> Self {
        let mut url = self.0.clone();
        if matches!(url.path(), "" | "/") {
            url.set_path(path);
        }
        Self(url)
    }
}

impl fmt::Display for PostAddress {
    /// Without the query, which may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.clone();
        shown.set_query(None);
        write!(f, "{shown}")
    }
}

pub(crate) fn roots(named: Option<&[u8]>) -> Result<Vec<CertificateDer<'static>>, PostError> {
    let mut roots = rustls_native_certs::load_native_certs().certs;
    if let Some(text) = named {
        let named: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        roots.extend(named.ok().filter(|named| !named.is_empty()).ok_or(PostError::Certificate)?);
    }
    Ok(roots)
}

pub fn basic_authorization(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub retry_after: Option<String>,
    pub body: Vec<u8>,
}

pub struct Poster {
    agent: Agent,
    address: PostAddress,
}

impl Poster {
    /// Posts to `address`. Its certificate must be signed by an authority of this system, or by one in `authorities`, in PEM form.
    pub fn new(address: PostAddress, authorities: Option<&[u8]>) -> Result<Self, PostError> {
        let roots = roots(authorities)?;
        let roots = roots.iter().map(|one| Certificate::from_der(one).to_owned());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(roots))
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .build();
        let proxy = if address.is_encrypted() { Proxy::try_from_env() } else { None };
        // Redirects are not followed, so that a token is not sent to an unknown place.
        let agent = Agent::config_builder()
            .timeout_connect(Some(CONNECT_LIMIT))
            .timeout_global(Some(LIMIT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .user_agent(concat!("iostall/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build()
            .new_agent();
        Ok(Self { agent, address })
    }

    /// Posts `body` with these headers. Without an answer, the reason, which names no address.
    pub fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, String> {
        let mut request = self.agent.post(self.address.0.as_str());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send(body).map_err(|error| error.to_string())?;
        let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let (status, retry_after) = (answer.status().as_u16(), retry_after.map(str::to_owned));
        let mut body = Vec::new();
        // What the receiver says is only shown: one that breaks off has answered all the same.
        let _ = answer.into_body().into_reader().take(ANSWER_BYTES_MAX).read_to_end(&mut body);
        Ok(Answer { status, retry_after, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_password_is_refused_and_shown_nowhere() {
        let refused = PostAddress::parse("https://me:hunter2@h/api").unwrap_err();
        assert_eq!(refused, PostError::PasswordInAddress);
        assert!(!PostAddress::parse("https:/hunter2@").unwrap_err().to_string().contains("hunter2"));
        for wrong in ["", "h:9090", "ftp://h/", "http://", "http://h/#a", "/api/v1/write"] {
            assert!(matches!(PostAddress::parse(wrong), Err(PostError::Address { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_key_in_the_query_is_not_shown() {
        let address = PostAddress::parse("http://h:8428/api/v1/write?key=hunter2").unwrap();
        assert_eq!(address.to_string(), "http://h:8428/api/v1/write");
        assert!(!address.is_encrypted());
    }

    #[test]
    fn only_an_address_without_a_path_gets_the_usual_one() {
        let shown = |text: &str| PostAddress::parse(text).unwrap().or_path("/v1/metrics").to_string();
        assert_eq!(shown("http://h:4318"), "http://h:4318/v1/metrics");
        assert_eq!(shown("http://h:4318/otel/v1/metrics"), "http://h:4318/otel/v1/metrics");
    }
}
