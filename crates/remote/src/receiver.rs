//! Another iostall that receives backups (`iostall backup receive`): its address, and what the environment says of it. It speaks
//! the part of S3 that this crate uses, with keys of its own.

use std::env;
use std::io;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{HeaderValue, RetryConfig};
use ureq::http::uri::Authority;

pub use crate::error::REFUSAL;
use crate::error::{OF_CERTIFICATE, OF_RECEIVER_ADDRESS, OF_RECEIVER_KEY, refused};
use crate::http::{Connector, Service};
use crate::tls::Fingerprint;

/// What its addresses begin with.
pub(crate) const SCHEME: &str = "iostall://";
/// Unless the address names another.
pub const PORT: u16 = 7443;
/// The version of what both sides speak; it stands where S3 has the name of a bucket.
pub const PROTOCOL: &str = "v1";

const KEY: &str = "IOSTALL_RECEIVER_KEY";
const CERTIFICATE: &str = "IOSTALL_RECEIVER_CERTIFICATE";

/// A client of the receiver at `HOST` or `HOST:PORT`. Asks no server.
pub(crate) fn store(place: &str, retry: RetryConfig) -> io::Result<AmazonS3> {
    let wrong = || refused(format!("{place:?} is no address of a receiver"), Some(OF_RECEIVER_ADDRESS));
    let authority: Authority = place.parse().map_err(|_| wrong())?;
    if place.contains('@') || authority.host().is_empty() || (place.contains(':') && has_no_port(&authority))
    {
        return Err(wrong());
    }
    let port = authority.port_u16().unwrap_or(PORT);
    let service = Service::of_receiver(&key()?, certificate()?)?;
    AmazonS3Builder::new()
        .with_bucket_name(PROTOCOL)
        .with_endpoint(format!("https://{}:{port}", authority.host()))
        .with_region("none")
        .with_skip_signature(true)
        .with_virtual_hosted_style_request(false)
        .with_http_connector(Connector(service))
        .with_retry(retry)
        .build()
        .map_err(|error| crate::error::of_store(&error, &crate::error::S3))
}

/// A colon stands in `[::1]`, too.
fn has_no_port(authority: &Authority) -> bool {
    authority.port_u16().is_none() && !authority.as_str().ends_with(']')
}

fn key() -> io::Result<HeaderValue> {
    let missing = || refused(format!("{KEY} is not set"), Some(OF_RECEIVER_KEY));
    let key = env::var(KEY).ok().filter(|key| !key.trim().is_empty()).ok_or_else(missing)?;
    let wrong = |_| refused(format!("{KEY} is no key of a receiver"), Some(OF_RECEIVER_KEY));
    let mut header = HeaderValue::from_str(&format!("Bearer {}", key.trim())).map_err(wrong)?;
    header.set_sensitive(true);
    Ok(header)
}

fn certificate() -> io::Result<Option<Fingerprint>> {
    let Some(named) = env::var(CERTIFICATE).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let wrong = || refused(format!("{CERTIFICATE} is no fingerprint"), Some(OF_CERTIFICATE));
    Fingerprint::parse(&named).map(Some).ok_or_else(wrong)
}
