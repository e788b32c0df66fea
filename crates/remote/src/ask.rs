//! Requests that the library does not know: locks, versions, uploads that were left.

use std::time::Duration;

use object_store::aws::{AmazonS3, AwsAuthorizer};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpService as _};
use object_store::path::Path as Key;
use object_store::signer::Signer as _;
use object_store::{HeaderMap, HeaderValue};
use ureq::http::{Method, Request, StatusCode};

use crate::http::SERVICE;

const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Of the signature that is made on the way to the address, which is not used.
const SIGNED_FOR: Duration = Duration::from_secs(60);

/// A request to a bucket, or to an object in it.
pub(crate) struct Ask {
    method: Method,
    key: Key,
    query: Vec<(&'static str, String)>,
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

    pub(crate) fn body(self, body: String) -> Self {
        Self { body, ..self }
    }
}

/// The store that requests are signed for.
pub(crate) struct Signed {
    pub(crate) store: AmazonS3,
    pub(crate) region: String,
}

impl Signed {
    /// Status and body of the answer. Where the store is busy or cannot be reached, it is asked again.
    pub(crate) async fn answer(&self, ask: &Ask) -> object_store::Result<(StatusCode, Vec<u8>)> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match self.try_once(ask).await? {
                Ok((status, body)) if !is_busy(status) => return Ok((status, body)),
                Err(error) if !is_of_network(&error) => return Err(generic(error)),
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        self.try_once(ask).await?.map_err(generic)
    }

    /// The outer error is of the keys, the inner one of the way to the store.
    async fn try_once(&self, ask: &Ask) -> object_store::Result<Result<(StatusCode, Vec<u8>), HttpError>> {
        // Only the library knows whether the name of the bucket stands in the host or in the path.
        let mut url = self.store.signed_url(ask.method.clone(), &ask.key, SIGNED_FOR).await?;
        url.set_query(None);
        url.query_pairs_mut().extend_pairs(&ask.query);
        let mut request: HttpRequest = Request::builder()
            .method(ask.method.clone())
            .uri(url.as_str())
            .body(HttpRequestBody::from(ask.body.clone()))
            .map_err(generic)?;
        *request.headers_mut() = ask.headers.clone();
        let credential = self.store.credentials().get_credential().await?;
        AwsAuthorizer::new(&credential, "s3", &self.region).try_authorize(&mut request, None)?;
        let answer = match SERVICE.call(request).await {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        let status = answer.status();
        Ok(answer.into_body().bytes().await.map(|body| (status, body.to_vec())))
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
    object_store::Error::Generic { store: "S3", source: Box::new(error) }
}
