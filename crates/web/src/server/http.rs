//! A connection: requests with bodies of a known length, and answers. Nothing else of HTTP is understood.

use std::io::{self, Read as _, Write as _};

use percent_encoding::percent_decode_str;

use super::answer::{Answer, Refusal, phrase};
use super::lobby::Presence;
use super::socket::{Patience, Stream};

/// A request without its body is longer only by mistake, or on purpose.
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 48;
/// For what has a length: this, and the time that it takes at the slowest rate, bytes a second.
const BASE_NS: u64 = 30_000_000_000;
const RATE_MIN: u64 = 32 << 10;
const NS_PER_S: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
    /// One that no server here knows.
    Other,
}

#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    /// Decoded, without the slash that it begins with.
    pub(crate) path: String,
    query: Vec<(String, String)>,
    pub(crate) body_bytes: u64,
    /// What follows `Bearer`.
    pub(crate) key: Option<String>,
    expects_go_ahead: bool,
    is_last: bool,
}

impl Head {
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// `None` if there is more to come.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Err(Refusal::new(431, "TooLong", "the head of the request is too long"));
            }
            Err(_) => return Err(Refusal::not_understood()),
        };
        let method = match request.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            Some("POST") => Method::Post,
            _ => Method::Other,
        };
        let (path, query) = target(request.path.unwrap_or_default()).ok_or_else(Refusal::not_understood)?;
        let mut head = Self {
            method,
            path,
            query,
            body_bytes: 0,
            key: None,
            expects_go_ahead: false,
            is_last: request.version != Some(1),
        };
        let mut has_length = false;
        for header in request.headers.iter() {
            let value = std::str::from_utf8(header.value).map_err(|_| Refusal::not_understood())?.trim();
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                // Two of them would be two requests for somebody between.
                let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                let bytes = value.parse().ok().filter(|_| digits && !has_length);
                head.body_bytes = bytes.ok_or_else(Refusal::not_understood)?;
                has_length = true;
            } else if is("transfer-encoding") {
                return Err(Refusal::new(411, "LengthRequired", "the request does not say its length"));
            } else if is("authorization") {
                head.key = value.strip_prefix("Bearer ").map(|key| key.trim().to_owned());
            } else if is("expect") {
                head.expects_go_ahead = value.eq_ignore_ascii_case("100-continue");
            } else if is("connection") {
                head.is_last |= value.eq_ignore_ascii_case("close");
            }
        }
        Ok(Some((head, length)))
    }
}

/// Path and query of a request, decoded.
fn target(text: &str) -> Option<(String, Vec<(String, String)>)> {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let path = percent_decode_str(path.strip_prefix('/')?).decode_utf8().ok()?.into_owned();
    let decoded = |text: &str| {
        percent_decode_str(&text.replace('+', " ")).decode_utf8().ok().map(std::borrow::Cow::into_owned)
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name)?, decoded(value)?))
    });
    Some((path, pairs.collect::<Option<_>>()?))
}

pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    /// What was read and not used yet.
    read: Vec<u8>,
    /// Bytes of the body of the request that is being answered, not read yet.
    left: u64,
    owes_go_ahead: bool,
    /// How long the first request may take, nanoseconds; `None` once it is there.
    first_ns: Option<u64>,
    is_last: bool,
    /// The request asks for no more than the head of its answer.
    wants_head: bool,
    /// How long the client may be silent until the next request is there.
    patience: Patience,
    /// Until the client has shown who it is.
    presence: Option<Presence>,
}

impl Connection {
    pub(super) fn new(
        stream: Box<dyn Stream>,
        first_ns: u64,
        patience: Patience,
        presence: Presence,
    ) -> Self {
        let read = Vec::with_capacity(HEAD_BYTES_MAX);
        Self {
            stream,
            read,
            left: 0,
            owes_go_ahead: false,
            first_ns: Some(first_ns),
            is_last: false,
            wants_head: false,
            patience,
            presence: Some(presence),
        }
    }

    /// Who asks with `head` has been shown: it is not cut for others, however many there are, and has the time that its body needs.
    pub(crate) fn is_known(&mut self, head: &Head) {
        if self.presence.take().is_some() {
            self.stream.socket().allow(time_ns(head.body_bytes));
        }
    }

    /// Whoever has not shown who it is has so long for the rest of its request, nanoseconds.
    pub(crate) fn hurry(&mut self, limit_ns: u64) {
        self.stream.socket().allow(limit_ns);
    }

    /// Whether it is this server that takes its time now.
    pub(crate) fn serve(&self, is_served: bool) {
        if let Some(presence) = &self.presence {
            presence.serve(is_served);
        }
    }

    /// Answers requests until the client ends. With each answer, `answer` says how much of the rest of a body is worth reading.
    pub(crate) fn answer_each(
        &mut self,
        mut answer: impl FnMut(&mut Self, Result<Head, Refusal>) -> io::Result<(Answer, u64)>,
    ) -> io::Result<()> {
        while let Some(next) = self.next()? {
            let (answered, skipped) = answer(self, next)?;
            self.skip_body(skipped)?;
            self.answer(&answered)?;
        }
        // The client may be gone.
        let _ = self.stream.end();
        Ok(())
    }

    /// The next request; `None` at the end. A refusal is to be answered, and then nothing more can be understood.
    fn next(&mut self) -> io::Result<Option<Result<Head, Refusal>>> {
        if self.is_last {
            return Ok(None);
        }
        match self.first_ns.take() {
            Some(first_ns) => {
                self.stream.socket().allow(first_ns);
                self.stream.greet()?;
                self.stream.socket().allow(first_ns);
            }
            None => self.stream.socket().allow_silence(self.patience.ns()),
        }
        self.wants_head = false;
        self.serve(false);
        loop {
            match Head::parse(&self.read) {
                Ok(Some((head, length))) => {
                    self.read.drain(..length);
                    self.left = head.body_bytes;
                    self.owes_go_ahead = head.expects_go_ahead;
                    self.is_last = head.is_last;
                    self.wants_head = head.method == Method::Head;
                    self.stream.socket().allow(time_ns(head.body_bytes));
                    return Ok(Some(Ok(head)));
                }
                Ok(None) => {}
                Err(refusal) => {
                    self.is_last = true;
                    return Ok(Some(Err(refusal)));
                }
            }
            let mut more = [0; 4096];
            match self.stream.read(&mut more)? {
                0 => return Ok(None),
                read => self.read.extend_from_slice(&more[..read]),
            }
        }
    }

    pub(crate) fn body(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.owes_go_ahead) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            self.stream.flush()?;
        }
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0);
        }
        let length = if self.read.is_empty() {
            self.stream.read(&mut into[..most])?
        } else {
            let length = most.min(self.read.len());
            into[..length].copy_from_slice(&self.read[..length]);
            self.read.drain(..length);
            length
        };
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= length as u64;
        Ok(length)
    }

    /// The whole body; `None` if it is longer than `most` bytes.
    pub(crate) fn whole_body(&mut self, most: usize) -> io::Result<Option<Vec<u8>>> {
        if self.left > most as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(self.left).unwrap_or(0)];
        let mut at = 0;
        while at < bytes.len() {
            at += self.body(&mut bytes[at..])?;
        }
        Ok(Some(bytes))
    }

    /// Reads what is left of the body, so that the client reads the answer: it writes all of the request before. A longer rest than
    /// `most` bytes is not worth it.
    fn skip_body(&mut self, most: u64) -> io::Result<()> {
        // A client that waits for leave sends nothing.
        if std::mem::take(&mut self.owes_go_ahead) || self.left > most {
            self.is_last |= self.left > 0;
            self.left = 0;
            return Ok(());
        }
        let mut piece = [0; 16 << 10];
        while self.body(&mut piece)? > 0 {}
        Ok(())
    }

    fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        let bytes = answer.body.len() as u64;
        self.stream.socket().allow(time_ns(bytes));
        let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, phrase(answer.status));
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.is_last {
            head.push_str("Connection: close\r\n");
        }
        head.push_str(&format!("Content-Length: {bytes}\r\n\r\n"));
        self.stream.write_all(head.as_bytes())?;
        if !self.wants_head {
            self.stream.write_all(&answer.body)?;
        }
        self.stream.flush()
    }
}

/// The longest time for so many bytes, nanoseconds.
fn time_ns(bytes: u64) -> u64 {
    BASE_NS.saturating_add((bytes / RATE_MIN).saturating_mul(NS_PER_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<(Head, usize)>, Refusal> {
        Head::parse(text.as_bytes())
    }

    #[test]
    fn a_request_is_understood_when_all_of_it_is_there() {
        let text = "POST /v1/db1/a%2Bb?after=3&name=a%20b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\
                    Authorization: Bearer db1.00\r\n\r\n12345";
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!((head.method, head.path.as_str(), head.body_bytes), (Method::Post, "v1/db1/a+b", 5));
        assert_eq!((head.query("after"), head.query("name")), (Some("3"), Some("a b")));
        assert_eq!(head.key.as_deref(), Some("db1.00"));
        assert_eq!(&text[length..], "12345");
        for end in 0..length {
            assert!(parse(&text[..end]).unwrap().is_none(), "{end}");
        }
    }

    #[test]
    fn what_two_readers_could_understand_differently_is_refused() {
        for (lines, status) in [
            ("Content-Length: 5\r\nContent-Length: 5\r\n", 400),
            ("Content-Length: +5\r\n", 400),
            ("Content-Length: -1\r\n", 400),
            ("Content-Length: 99999999999999999999\r\n", 400),
            ("Transfer-Encoding: chunked\r\n", 411),
            (" folded: x\r\n", 400),
        ] {
            let refused = parse(&format!("POST /a HTTP/1.1\r\n{lines}\r\n")).unwrap_err();
            assert_eq!(refused.status, status, "{lines}");
        }
        assert_eq!(parse("BREW /a HTTP/1.1\r\n\r\n").unwrap().unwrap().0.method, Method::Other);
        assert_eq!(parse("GET http://h/a HTTP/1.1\r\n\r\n").unwrap_err().status, 400);
        assert_eq!(parse("GET /%ff HTTP/1.1\r\n\r\n").unwrap_err().status, 400);
        assert_eq!(
            parse(&format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD_BYTES_MAX))).unwrap_err().status,
            431
        );
    }
}
