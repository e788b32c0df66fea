//! The HTTP of the store's library, through the client that the rest of the program uses: one TLS library, and no second
//! client to compile.

use std::fmt;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use rustls::crypto::aws_lc_rs;
use ureq::config::ConfigBuilder;
use ureq::http::header::{HeaderValue, IF_NONE_MATCH};
use ureq::http::{HeaderMap, Method, Request, request};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector as _, TcpConnector};
use ureq::{Agent, Body, Error, Proxy};

use crate::lock::protection_of;
use crate::tls::{Fingerprint, TlsConnector};

/// The largest answer is a manifest, which is read at once.
const ANSWER_BYTES_MAX: u64 = 2 << 30;
const IDLE_MAX: usize = 64;
const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// A store puts thousands of parts together before it answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(180);
const BODY_LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(crate) struct Connector(pub(crate) Service);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

/// Makes requests, one after another: a request blocks the thread that waits for it, which has nothing else to do.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    encrypted: Agent,
    /// What is not encrypted stays on this network, and needs no proxy.
    plain: Agent,
    amend: Option<Arc<dyn Amend>>,
}

/// Adds to requests of the library what it has no option for.
#[async_trait]
pub(crate) trait Amend: fmt::Debug + Send + Sync {
    async fn amend(&self, request: &mut HttpRequest) -> object_store::Result<()>;
}

impl Service {
    /// The same, with the same connections, for a store that needs more.
    pub(crate) fn amended(&self, amend: Arc<dyn Amend>) -> Self {
        Self { amend: Some(amend), ..self.clone() }
    }
}

/// One for all buckets, so that connections are kept.
pub(crate) static SERVICE: LazyLock<Service> =
    LazyLock::new(|| Service { encrypted: agent(Proxy::try_from_env()), plain: agent(None), amend: None });

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(amend) = &self.amend {
            let unknown = |error| HttpError::new(HttpErrorKind::Unknown, error);
            amend.amend(&mut request).await.map_err(unknown)?;
        }
        let (mut head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        // Stores of other kinds have conditions of their own.
        if self.amend.is_none() && completes_an_upload(&head) {
            // What has appeared under this name meanwhile is not replaced.
            head.headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        let agent = if head.uri.scheme_str() == Some("http") { &self.plain } else { &self.encrypted };
        let has_body = matches!(head.method, Method::PUT | Method::POST);
        let answer = if has_body {
            agent.run(Request::from_parts(head, &body[..]))
        } else {
            agent.run(Request::from_parts(head, ()))
        };
        let (mut head, mut body) = answer.map_err(failed)?.into_parts();
        // The library knows nothing of locks, and passes on what is attached.
        head.extensions.insert(protection_of(&head.headers));
        let mut bytes = read(&mut body).map_err(failed)?;
        if bytes.is_empty() && !head.status.is_success() {
            bytes = code_of(&head.headers).into_bytes();
        }
        Ok(HttpResponse::from_parts(head, HttpResponseBody::from(bytes)))
    }
}

/// Azure says in a header, too, why it refuses a request whose answer has no body: as the body that others would have had.
fn code_of(headers: &HeaderMap) -> String {
    let code = headers.get("x-ms-error-code").and_then(|code| code.to_str().ok());
    code.map(|code| format!("<Error><Code>{code}</Code></Error>")).unwrap_or_default()
}

fn read(body: &mut Body) -> Result<Vec<u8>, Error> {
    body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()
}

fn completes_an_upload(head: &request::Parts) -> bool {
    let query = head.uri.query().unwrap_or_default();
    head.method == Method::POST && query.split('&').any(|part| part.starts_with("uploadId="))
}

fn failed(error: Error) -> HttpError {
    HttpError::new(fault(&error), error)
}

/// The kind decides whether the library tries again.
fn fault(error: &Error) -> HttpErrorKind {
    match error {
        Error::Timeout(_) => HttpErrorKind::Timeout,
        Error::HostNotFound | Error::ConnectionFailed => HttpErrorKind::Connect,
        Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable => HttpErrorKind::Connect,
            // A certificate that is not trusted.
            io::ErrorKind::InvalidData => HttpErrorKind::Unknown,
            _ => HttpErrorKind::Interrupted,
        },
        _ => HttpErrorKind::Unknown,
    }
}

/// A client of a server with this certificate, or with one of an authority.
pub(crate) fn pinned_agent(certificate: Option<Fingerprint>) -> io::Result<Agent> {
    let tls = TlsConnector::new(certificate).map_err(io::Error::other)?;
    let connector = ().chain(TcpConnector::default()).chain(tls);
    // The connector has its certificates: to read those of the machine again takes longer than a request.
    Ok(Agent::with_parts(settings(None).build(), connector, DefaultResolver::default()))
}

fn agent(proxy: Option<Proxy>) -> Agent {
    let found = rustls_native_certs::load_native_certs().certs;
    let roots = found.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from(roots))
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build();
    settings(proxy).tls_config(tls).build().new_agent()
}

/// What is the same for all, but for TLS.
fn settings(proxy: Option<Proxy>) -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_recv_response(Some(ANSWER_LIMIT))
        .timeout_send_body(Some(BODY_LIMIT))
        .timeout_recv_body(Some(BODY_LIMIT))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(IDLE_MAX)
        .max_idle_connections_per_host(IDLE_MAX)
        .proxy(proxy)
        .user_agent(concat!("iostall/", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: Method, uri: &str) -> request::Parts {
        Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_the_request_that_completes_an_upload_is_made_conditional() {
        assert!(completes_an_upload(&head(Method::POST, "http://h/b/k?uploadId=1")));
        assert!(!completes_an_upload(&head(Method::POST, "http://h/b/k?uploads")));
        assert!(!completes_an_upload(&head(Method::PUT, "http://h/b/k?partNumber=1&uploadId=1")));
        assert!(!completes_an_upload(&head(Method::DELETE, "http://h/b/k?uploadId=1")));
    }

    /// The limit of all tries was shorter than that of one: what got no answer was never sent again.
    #[test]
    fn a_request_that_takes_too_long_is_made_again() {
        for kind in [ureq::Timeout::RecvResponse, ureq::Timeout::SendBody] {
            assert_eq!(fault(&Error::Timeout(kind)), HttpErrorKind::Timeout);
        }
        assert!(crate::wait::retry().retry_timeout > ANSWER_LIMIT.max(BODY_LIMIT));
    }
}
