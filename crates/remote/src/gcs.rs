//! Google's Cloud Storage: a bucket and its client, with the requests that the library does not know.
//!
//! Most requests are those of its XML interface, which is S3's with other headers. It takes no condition where an upload in parts is completed,
//! so an upload has another name until then, and its own by a request of the JSON interface that does take one.

use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use iostall_model::backup::ObjectLock;
use object_store::client::HttpRequest;
use object_store::gcp::{
    GcpCredentialProvider, GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey,
};
use object_store::path::Path as Key;
use object_store::{CopyMode, CopyOptions, HeaderMap, HeaderValue, ObjectStore as _, ObjectStoreExt as _};
use serde_json::Value;
use ureq::http::header::AUTHORIZATION;
use ureq::http::{Method, StatusCode};
use url::Url;

use crate::ask::{Answer, Ask, Sign, answer};
use crate::endpoint::{is_yes, plain_url};
use crate::error::{GCS, OF_GCS_ENDPOINT, of_answer, of_store, refused};
use crate::http::{Amend, Connector, SERVICE};
use crate::lock::gcs_headers_of;
use crate::mark::{encoded, is_of};
use crate::wait::{retry, wait};

pub(crate) const SCHEME: &str = "gs://";
/// Unless the environment names another.
const GOOGLE: &str = "https://storage.googleapis.com";
const HTTP: &str = "GOOGLE_ALLOW_HTTP";

pub(crate) struct GoogleBucket {
    name: String,
    /// Without a slash at the end.
    url: String,
    store: GoogleCloudStorage,
    credentials: GcpCredentialProvider,
}

/// A client of the bucket of this name, with address and keys from the environment. Asks no server.
pub(crate) fn open(name: &str) -> io::Result<(GoogleCloudStorage, GoogleBucket)> {
    let url = base_url()?;
    let store = built(builder(name, &url, HeaderMap::new()))?;
    let credentials = Arc::clone(store.credentials());
    Ok((store.clone(), GoogleBucket { name: name.to_owned(), url, store, credentials }))
}

/// The address of the service. A file with a key may name one, too, which is not taken: it would send the backups elsewhere.
fn base_url() -> io::Result<String> {
    let named = GoogleCloudStorageBuilder::from_env().get_config_value(&GoogleConfigKey::BaseUrl);
    let Some(named) = named.filter(|text| !text.is_empty()) else { return Ok(GOOGLE.to_owned()) };
    let url = plain_url(&named).ok_or_else(|| {
        refused("the address of Google's store is no plain https:// address", Some(OF_GCS_ENDPOINT))
    })?;
    if url.scheme() != "https" && !env::var(HTTP).is_ok_and(|text| is_yes(&text)) {
        let origin = url.origin().ascii_serialization();
        return Err(refused(format!("{origin} is not encrypted"), Some(GCS.http)));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn builder(name: &str, url: &str, headers: HeaderMap) -> GoogleCloudStorageBuilder {
    let service = SERVICE.amended(Arc::new(OfObjects(headers)));
    GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(name)
        .with_base_url(url)
        .with_http_connector(Connector(service))
        .with_retry(retry())
}

fn built(builder: GoogleCloudStorageBuilder) -> io::Result<GoogleCloudStorage> {
    // What fails without asking a server fails for the keys.
    builder.build().map_err(|error| refused(of_store(&error, &GCS).to_string(), Some(GCS.keys)))
}

impl GoogleBucket {
    pub(crate) fn locking(&self, lock: &ObjectLock) -> io::Result<GoogleCloudStorage> {
        let credentials = Arc::clone(&self.credentials);
        built(builder(&self.name, &self.url, gcs_headers_of(lock)).with_credentials(credentials))
    }

    /// Gives what was uploaded as `from` the name `to`, at once. `AlreadyExists` if anything has it.
    pub(crate) fn rename_new(&self, from: &Key, to: &Key) -> io::Result<()> {
        let path = format!("/o/{}/moveTo/o/{}", encoded(from.as_ref()), encoded(to.as_ref()));
        let ask = Ask::new(Method::POST, to).query("ifGenerationMatch", "0");
        let Answer { status, body, .. } = wait(answer(&OfJson { bucket: self, path }, &ask), &GCS)?;
        match status {
            status if status.is_success() => Ok(()),
            // An earlier request may have been carried out whose answer was lost.
            StatusCode::PRECONDITION_FAILED | StatusCode::NOT_FOUND if self.was_uploaded_as(to, from)? => {
                // Where a move is a copy, what was copied may be left.
                let _ = wait(self.store.delete(from), &GCS);
                Ok(())
            }
            StatusCode::PRECONDITION_FAILED => Err(io::ErrorKind::AlreadyExists.into()),
            StatusCode::BAD_REQUEST
            | StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => self.copy_new(from, to),
            _ => Err(of_answer(status, &in_xml(&body), &GCS)),
        }
    }

    /// The same in a store that speaks XML alone: a copy, and then `from` goes.
    fn copy_new(&self, from: &Key, to: &Key) -> io::Result<()> {
        let options = CopyOptions { mode: CopyMode::Create, ..CopyOptions::default() };
        match wait(self.store.copy_opts(from, to, options), &GCS) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && self.was_uploaded_as(to, from)? => {}
            copied => copied?,
        }
        // What stays is found by `prune`.
        let _ = wait(self.store.delete(from), &GCS);
        Ok(())
    }

    fn was_uploaded_as(&self, name: &Key, until_complete: &Key) -> io::Result<bool> {
        wait(is_of(&self.store, name, until_complete), &GCS)
    }

    /// Whether its objects can be locked one by one; `None` if this account may not ask.
    pub(crate) fn can_be_locked(&self) -> io::Result<Option<bool>> {
        let ask = Ask::new(Method::GET, &Key::default()).query("fields", "objectRetention");
        let of_bucket = OfJson { bucket: self, path: String::new() };
        let Answer { status, body, .. } = wait(answer(&of_bucket, &ask), &GCS)?;
        match status {
            StatusCode::OK => {
                let found: Value = serde_json::from_slice(&body).unwrap_or_default();
                Ok(Some(found["objectRetention"]["mode"] == "Enabled"))
            }
            StatusCode::FORBIDDEN => Ok(None),
            _ => Err(of_answer(status, &in_xml(&body), &GCS)),
        }
    }

    async fn signed(&self, ask: &Ask, url: &str) -> object_store::Result<HttpRequest> {
        let wrong = |error| object_store::Error::Generic { store: "GCS", source: Box::new(error) };
        let mut request = ask.to(Url::parse(url).map_err(wrong)?)?;
        let token = self.credentials.get_credential().await?;
        // An account of a private store may need none.
        let bearer = Some(&token.bearer).filter(|bearer| !bearer.is_empty());
        if let Some(mut value) = bearer.and_then(|text| HeaderValue::from_str(&format!("Bearer {text}")).ok())
        {
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(request)
    }
}

/// Requests of the XML interface.
impl Sign for GoogleBucket {
    async fn request(&self, ask: &Ask) -> object_store::Result<HttpRequest> {
        let mut url = format!("{}/{}", self.url, encoded(&self.name));
        if !ask.key.as_ref().is_empty() {
            url.push('/');
            url.push_str(&encoded(ask.key.as_ref()));
        }
        self.signed(ask, &url).await
    }
}

/// A request of the JSON interface.
struct OfJson<'b> {
    bucket: &'b GoogleBucket,
    /// In the bucket.
    path: String,
}

impl Sign for OfJson<'_> {
    async fn request(&self, ask: &Ask) -> object_store::Result<HttpRequest> {
        let GoogleBucket { url, name, .. } = self.bucket;
        self.bucket.signed(ask, &format!("{url}/storage/v1/b/{}{}", encoded(name), self.path)).await
    }
}

/// Headers of each request that puts an object as a whole, for which the library has no option.
struct OfObjects(HeaderMap);

impl fmt::Debug for OfObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headers", self.0.len())
    }
}

#[async_trait]
impl Amend for OfObjects {
    async fn amend(&self, request: &mut HttpRequest) -> object_store::Result<()> {
        if request.method() == Method::PUT && request.uri().query().is_none() {
            request.headers_mut().extend(self.0.clone());
        }
        Ok(())
    }
}

/// What an answer of the JSON interface says, as the other one would have said it.
fn in_xml(body: &[u8]) -> Vec<u8> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &answer["error"];
    let Some(message) = error["message"].as_str() else { return Vec::new() };
    let code = error["errors"][0]["reason"].as_str().unwrap_or("error");
    let escaped = |text| quick_xml::escape::escape(text).into_owned();
    let (code, message) = (escaped(code), escaped(message));
    format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_json_is_quoted_like_one_in_xml() {
        let body = br#"{"error":{"code":403,"message":"a <b> may not","errors":[{"reason":"forbidden"}]}}"#;
        let error = of_answer(StatusCode::FORBIDDEN, &in_xml(body), &GCS);
        assert_eq!(error.to_string(), "the store answered 403 Forbidden forbidden: a <b> may not");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(in_xml(b"<html>").is_empty() && in_xml(b"").is_empty());
    }

    /// A lock on an upload's parts would be none, and one on the name that it has until it is complete would keep it there.
    #[test]
    fn only_what_is_put_as_a_whole_gets_more_headers() {
        let of_lock = OfObjects(HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("x"))]));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (method, query, is_amended) in [
            (Method::PUT, "", true),
            (Method::PUT, "?partNumber=1&uploadId=a", false),
            (Method::POST, "?uploads", false),
            (Method::GET, "", false),
        ] {
            let url = format!("https://storage.googleapis.com/b/k{query}");
            let mut request = Ask::new(method, &Key::from("k")).to(Url::parse(&url).unwrap()).unwrap();
            runtime.block_on(of_lock.amend(&mut request)).unwrap();
            assert_eq!(request.headers().contains_key(AUTHORIZATION), is_amended, "{url}");
        }
    }
}
