//! A token and what it says about itself, or why there is none.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::secret::Secret;

/// A token is not used for a new connection in its last minutes, because clocks differ.
const SPARE: SignedDuration = SignedDuration::from_mins(5);
/// Azure SQL's own id, which some tokens name instead of its address.
const AZURE_SQL: &str = "022907d3-0f1b-48f7-badc-1ba6abab6d66";
/// How every token begins: the base64 of `{"`.
const BEGIN: &str = "eyJ";
/// Anything shorter is no token.
const TOKEN_CHARACTERS_MIN: usize = 20;

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) text: Secret,
    /// Unknown for tokens in an unknown format, which are used once.
    expires: Option<Timestamp>,
    audience: Option<String>,
}

impl Token {
    /// Reads a token, or the JSON in which Entra, Azure's identities and `az` put one. `None` if there is none.
    pub(super) fn read(text: &str, now: Timestamp) -> Option<Self> {
        let text = text.trim();
        if !text.starts_with('{') {
            return Self::of_text(text);
        }
        let answer: Value = serde_json::from_str(text).ok()?;
        let token = ["access_token", "accessToken"].iter().find_map(|name| answer[*name].as_str())?;
        let token = Self::of_text(token)?;
        let ends = seconds(&answer["expires_on"]).and_then(|second| Timestamp::from_second(second).ok());
        let lasts = seconds(&answer["expires_in"]).map(SignedDuration::from_secs);
        let expires =
            ends.or_else(|| lasts.and_then(|length| now.checked_add(length).ok())).or(token.expires);
        Some(Self { expires, ..token })
    }

    fn of_text(text: &str) -> Option<Self> {
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
            return None;
        }
        let claims = claims(text);
        let expires = seconds(&claims["exp"]).and_then(|second| Timestamp::from_second(second).ok());
        let audience = claims["aud"].as_str().map(str::to_owned);
        Some(Self { text: Secret::typed(text.to_owned()), expires, audience })
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end.duration_since(now) > SPARE)
    }

    /// Why a server may have refused it, if that can be seen.
    pub(super) fn fault(&self, resource: &str, now: Timestamp) -> Option<String> {
        if let Some(end) = self.expires.filter(|end| *end <= now) {
            return Some(format!("the token expired at {end:.0}"));
        }
        let audience = self.audience.as_deref()?;
        let is_for =
            audience.trim_end_matches('/') == resource.trim_end_matches('/') || audience == AZURE_SQL;
        (!is_for).then(|| format!("the token is for {audience}, and not for {resource}"))
    }
}

/// Null if the token is in another format.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap_or_default().trim_end_matches('=');
    let content = URL_SAFE_NO_PAD.decode(part).ok();
    content.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// A number, which some services write as text.
fn seconds(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// `text` with everything that may be a token replaced.
pub(super) fn without_tokens(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(BEGIN) {
        let (before, token) = rest.split_at(at);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=' | '+' | '/');
        let end = token.find(|c| !is_part(c)).unwrap_or(token.len());
        out.push_str(before);
        out.push_str(if end < TOKEN_CHARACTERS_MIN { &token[..end] } else { "…" });
        rest = &token[end..];
    }
    out + rest
}

#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) hint: String,
    /// Someone must fix something first: trying again soon is useless.
    pub(super) is_refused: bool,
}

impl Failure {
    /// What a person must fix.
    pub(super) fn refused(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into(), is_refused: true }
    }

    /// What may be over soon.
    pub(super) fn passing(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: hint.into(), is_refused: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token with this content; nobody checks its signature here.
    fn token(claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", part(r#"{"alg":"RS256","typ":"JWT"}"#), part(claims), part("signature"))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn every_form_in_which_a_token_is_handed_over_is_read() {
        let jwt = token(r#"{"aud":"https://database.windows.net/","exp":9000}"#);
        for text in [
            format!("{jwt}\n"),
            format!(r#"{{"access_token":"{jwt}","expires_on":"9000","token_type":"Bearer"}}"#),
            format!(r#"{{"access_token":"{jwt}","expires_in":8000}}"#),
            format!(r#"{{"accessToken": "{jwt}", "expiresOn": "2026-11-22 13:00:00", "expires_on": 9000}}"#),
            format!(r#"{{"access_token":"{jwt}","expires_on":"11/22/2026 13:00:00 +00:00"}}"#),
        ] {
            let read = Token::read(&text, at(1000)).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((read.text.reveal(), read.expires), (jwt.as_str(), Some(at(9000))), "{text}");
            assert!(read.is_fresh(at(8699)) && !read.is_fresh(at(8700)), "{text}");
        }
        let opaque = Token::read("abc", at(0)).unwrap();
        assert!(!opaque.is_fresh(at(0)), "nobody knows how long it is valid");
        for none in ["", "  \n", "ERROR: Please run 'az login'", "{}", r#"{"access_token":""}"#, "{"] {
            assert!(Token::read(none, at(0)).is_none(), "{none}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_refused_token_is_said() {
        let resource = "https://database.windows.net/";
        let fault = |claims: &str| Token::read(&token(claims), at(0)).unwrap().fault(resource, at(500));
        assert_eq!(fault(r#"{"aud":"https://database.windows.net","exp":900}"#), None);
        assert_eq!(fault(&format!(r#"{{"aud":"{AZURE_SQL}","exp":900}}"#)), None);
        let other = fault(r#"{"aud":"https://management.core.windows.net/","exp":900}"#).unwrap();
        assert!(other.contains("https://management.core.windows.net/"), "{other}");
        assert_eq!(fault(r#"{"exp":500}"#).unwrap(), "the token expired at 1970-01-01T00:08:20Z");
        assert_eq!(Token::read("opaque", at(0)).unwrap().fault(resource, at(0)), None);
    }

    #[test]
    fn a_token_in_a_message_is_taken_out() {
        let jwt = token(r#"{"exp":1}"#);
        assert_eq!(without_tokens(&format!("a {jwt}, b '{jwt}'")), "a …, b '…'");
        assert_eq!(without_tokens("eyJ, nothing, größe"), "eyJ, nothing, größe");
    }
}
