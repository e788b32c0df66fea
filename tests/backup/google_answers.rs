//! Answers of the store that speaks as Google's does, and parts of requests to it.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls::pki_types::SignatureVerificationAlgorithm;
use serde_json::Value;

/// What is sent back.
pub(super) struct Answer {
    pub(super) status: u16,
    headers: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: String::new(), body: Vec::new() }
    }

    pub(super) fn text(status: u16, text: String) -> Self {
        Self { body: text.into_bytes(), ..Self::empty(status) }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// As it is sent. That to a HEAD has the length of a body, and no body.
    pub(super) fn encode(&self, is_head: bool) -> Vec<u8> {
        let Self { status, headers, body } = self;
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Said\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        if is_head { head.into_bytes() } else { [head.as_bytes(), body].concat() }
    }
}

pub(super) fn refused(status: u16, code: &str, message: &str) -> Answer {
    Answer::text(
        status,
        format!(
            "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
        ),
    )
}

pub(super) fn not_found(code: &str) -> Answer {
    refused(404, code, "It does not exist.")
}

/// The value of a header.
pub(super) fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut found = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().to_owned())
}

/// What stands between two texts.
pub(super) fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    text.split_once(begin).and_then(|(_, after)| after.split_once(end)).map_or("", |(inside, _)| inside)
}

/// Whether a token says what a service account says of itself, and is signed with the other half of its key.
pub(super) fn is_signed_by(account: &[u8], token: &str) -> bool {
    let Some((message, signature)) = token.rsplit_once('.') else { return false };
    let Ok(signature) = BASE64_URL_SAFE_NO_PAD.decode(signature) else { return false };
    let claims = message.split_once('.').and_then(|(_, claims)| BASE64_URL_SAFE_NO_PAD.decode(claims).ok());
    let claims: Value = serde_json::from_slice(&claims.unwrap_or_default()).unwrap_or_default();
    let is_for_storage = claims["scope"].as_str().is_some_and(|scope| scope.contains("auth/cloud-platform"));
    let known = rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
    let verifies = |one: &&dyn SignatureVerificationAlgorithm| {
        one.verify_signature(account, message.as_bytes(), &signature).is_ok()
    };
    is_for_storage && known.all.iter().any(verifies)
}

/// Without percent signs.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(value) = value.filter(|_| byte == b'%') {
            bytes.push(value);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}
