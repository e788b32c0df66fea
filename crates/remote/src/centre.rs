//! A client of the service at the centre of a fleet (`iostall fleet serve`): requests with a body, and what it answers.

use std::io;

use ureq::Agent;
use ureq::http::header::{AUTHORIZATION, HeaderValue};
use ureq::http::uri::Authority;
use ureq::http::{Request, Response};
use ureq::{Body, Error};

use crate::error::{OF_CENTRE_ADDRESS, REFUSAL, of_centre, refused};
use crate::http::pinned_agent;
use crate::tls::Fingerprint;

pub const SCHEME: &str = "https://";
/// Unless the address names another.
pub const PORT: u16 = 7444;
/// Answers are short.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Connections are kept for the next request.
#[derive(Debug)]
pub struct CentreClient {
    agent: Agent,
    address: String,
}

#[derive(Debug)]
pub struct CentreAnswer {
    pub is_success: bool,
    pub refusal: Option<CentreRefusal>,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CentreRefusal {
    pub code: String,
    pub reason: String,
}

/// The address of a centre in full, from `https://HOST` or `https://HOST:PORT`.
pub fn centre_address(text: &str) -> io::Result<String> {
    let wrong = || refused(format!("{text:?} is no address of a centre"), Some(OF_CENTRE_ADDRESS));
    let place = text.strip_prefix(SCHEME).ok_or_else(wrong)?;
    let place = place.strip_suffix('/').unwrap_or(place);
    let authority: Authority = place.parse().map_err(|_| wrong())?;
    // A colon stands in `[::1]`, too.
    let names_port = place.contains(':') && !place.ends_with(']');
    let is_wrong = place.contains('@')
        || authority.host().is_empty()
        || (names_port && authority.port_u16().is_none_or(|port| port == 0));
    if is_wrong {
        return Err(wrong());
    }
    Ok(format!("{SCHEME}{}:{}", authority.host(), authority.port_u16().unwrap_or(PORT)))
}

impl CentreClient {
    /// Of the centre at `address`, in full, which has this certificate, or without one a certificate that this machine's authorities
    /// issued. Asks no server.
    pub fn new(address: &str, certificate: Option<Fingerprint>) -> io::Result<Self> {
        Ok(Self { agent: pinned_agent(certificate)?, address: address.to_owned() })
    }

    /// Sends `body` to `path`, as the owner of `key`.
    pub fn post(&self, path: &str, key: Option<&str>, body: &[u8]) -> io::Result<CentreAnswer> {
        let mut request = Request::post(format!("{}{path}", self.address));
        if let Some(key) = key {
            let mut header = HeaderValue::from_str(&format!("Bearer {key}")).map_err(io::Error::other)?;
            header.set_sensitive(true);
            request = request.header(AUTHORIZATION, header);
        }
        let request = request.body(body).map_err(io::Error::other)?;
        self.agent.run(request).and_then(read).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &Error) -> io::Error {
        io::Error::other(of_centre(error, &self.address))
    }
}

fn read(answer: Response<Body>) -> Result<CentreAnswer, Error> {
    let (head, mut body) = answer.into_parts();
    let refusal = head.headers.get(REFUSAL).and_then(|text| text.to_str().ok());
    let refusal = refusal.and_then(|text| text.split_once(' ')).map(|(code, reason)| CentreRefusal {
        code: code.to_owned(),
        reason: iostall_measure::foreign::said(reason),
    });
    let body = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
    Ok(CentreAnswer { is_success: head.status.is_success(), refusal, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_perhaps_a_port_and_nothing_else() {
        for (text, full) in [
            ("https://central", "https://central:7444"),
            ("https://central:8443/", "https://central:8443"),
            ("https://[::1]", "https://[::1]:7444"),
            ("https://10.0.0.1:1", "https://10.0.0.1:1"),
        ] {
            assert_eq!(centre_address(text).unwrap(), full);
        }
        for wrong in [
            "",
            "central",
            "http://central",
            "https://",
            "https://a:",
            "https://a:0",
            "https://u@a",
            "https://a/b",
        ] {
            assert!(centre_address(wrong).is_err(), "{wrong}");
        }
    }
}
