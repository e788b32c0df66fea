//! Requests that the library does not know: locks, versions, uploads that were left, and what Azure deletes.

use std::time::Duration;

use object_store::aws::{AmazonS3, AwsAuthorizer};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpService as _};
use object_store::path::Path as Key;
use object_store::signer::Signer as _;
use object_store::{HeaderMap, HeaderValue};
use ureq::http::{Method, Request, StatusCode};
use url::Url;

use crate::http::SERVICE;

/// As often as the library, for half a minute: the last request of an upload is one of these.
const ATTEMPTS: u32 = 9;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Of the signature that is made on the way to the address, which is not used.
const SIGNED_FOR: Duration = Duration::from_secs(60);

/// A request to a bucket, or to an object in it.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) key: Key,
    pub(crate) query: Vec<(&'static str, String)>,
    headers: HeaderMap,
    body: String,
}

impl Ask {
    /// With an empty key, to the bucket.
    pub(crate) fn new(method: Method, key: &Key) -> Self {
        Self { method, key: key.clone(), query: Vec::new(), headers: HeaderMap::new(), body: String::new() }
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers.extend(headers);
        self
    }

    pub(crate) fn body(self, body: String) -> Self {
        Self { body, ..self }
    }
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

pub(crate) trait Sign {
    async fn request(&self, ask: &Ask) -> object_store::Result<HttpRequest>;
}

/// The answer to a request. Where the store is busy or cannot be reached, it is asked again.
pub(crate) async fn answer(signer: &impl Sign, ask: &Ask) -> object_store::Result<Answer> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match sent(signer.request(ask).await?).await {
            Ok(answer) if !is_busy(answer.status) => return Ok(answer),
            Err(error) if !is_of_network(&error) => return Err(generic(error)),
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause = PAUSE_MAX.min(pause * 2);
    }
    sent(signer.request(ask).await?).await.map_err(generic)
}

async fn sent(request: HttpRequest) -> Result<Answer, HttpError> {
    let (head, body) = SERVICE.call(request).await?.into_parts();
    Ok(Answer { status: head.status, headers: head.headers, body: body.bytes().await?.to_vec() })
}

impl Ask {
    /// As a request to this address, which is not signed yet.
    pub(crate) fn to(&self, mut url: Url) -> object_store::Result<HttpRequest> {
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let mut request: HttpRequest = Request::builder()
            .method(self.method.clone())
            .uri(url.as_str())
            .body(HttpRequestBody::from(self.body.clone()))
            .map_err(generic)?;
        *request.headers_mut() = self.headers.clone();
        Ok(request)
    }
}

/// The store that speaks S3 and that requests are signed for.
pub(crate) struct Signed {
    pub(crate) store: AmazonS3,
    pub(crate) region: String,
}

impl Sign for Signed {
    async fn request(&self, ask: &Ask) -> object_store::Result<HttpRequest> {
        // Only the library knows whether the name of the bucket stands in the host or in the path.
        let mut url = self.store.signed_url(ask.method.clone(), &ask.key, SIGNED_FOR).await?;
        url.set_query(None);
        let mut request = ask.to(url)?;
        let credential = self.store.credentials().get_credential().await?;
        AwsAuthorizer::new(&credential, "s3", &self.region).try_authorize(&mut request, None)?;
        Ok(request)
    }
}

fn is_busy(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

fn is_of_network(error: &HttpError) -> bool {
    matches!(
        error.kind(),
        HttpErrorKind::Connect | HttpErrorKind::Request | HttpErrorKind::Timeout | HttpErrorKind::Interrupted
    )
}

fn generic(error: impl std::error::Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic { store: "store", source: Box::new(error) }
}
