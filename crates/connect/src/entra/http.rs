//! Requests for tokens. A redirect is not followed, so that no secret goes to an unknown place.

use std::sync::Arc;
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::said;
use rustls::crypto::aws_lc_rs;
use serde_json::Value;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error, Proxy};

use super::token::{Failure, Token};

/// An answer has a token of some kilobytes.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Entra adds numbers for its support to each message.
const FOR_SUPPORT: &str = " Trace ID:";

pub(super) struct Answer {
    status: u16,
    text: String,
}

pub(super) struct Hints {
    pub(super) unreachable: &'static str,
    pub(super) refused: &'static str,
}

/// Asks a service of this machine or network, which no proxy reaches.
pub(super) fn get(
    url: &str,
    query: &[(&str, &str)],
    header: (&str, &str),
    limit: Duration,
) -> Result<Answer, String> {
    let request = agent(limit, None).get(url).query_pairs(query.iter().copied()).header(header.0, header.1);
    answer(request.call(), limit)
}

/// Sends a form. Only an address on this machine has no encryption, and needs no proxy.
pub(super) fn post(url: &str, form: &[(&str, &str)], limit: Duration) -> Result<Answer, String> {
    let proxy = if url.starts_with("https:") { Proxy::try_from_env() } else { None };
    let request = agent(limit, proxy).post(url);
    answer(request.send_form(form.iter().copied()), limit)
}

fn answer(answer: Result<Response<Body>, Error>, limit: Duration) -> Result<Answer, String> {
    let fault = |error: Error| match error {
        Error::Timeout(_) => format!("no answer within {limit:?}"),
        other => said(&other.to_string()),
    };
    let mut answer = answer.map_err(fault)?;
    let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
    let text = body.read_to_string().map_err(fault)?;
    Ok(Answer { status: answer.status().as_u16(), text })
}

pub(super) fn token(who: &str, answer: Result<Answer, String>, hints: &Hints) -> Result<Token, Failure> {
    let answer = answer.map_err(|reason| Failure::passing(format!("{who}: {reason}"), hints.unreachable))?;
    if answer.status == 200 {
        let token = Token::read(&answer.text, utc_now());
        let reason = || Failure::passing(format!("{who} answered without a token"), hints.unreachable);
        return token.ok_or_else(reason);
    }
    let reason = format!("{who} answered {}{}", answer.status, explanation(&answer.text));
    match answer.status {
        // The service is busy, being updated or not ready.
        404 | 408 | 410 | 429 | 500.. => Err(Failure::passing(reason, hints.unreachable)),
        _ => Err(Failure::refused(reason, hints.refused)),
    }
}

fn explanation(text: &str) -> String {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let words = ["error_description", "message", "error"].iter().find_map(|name| answer[*name].as_str());
    let words = words.unwrap_or_default();
    let words = words.split(['\r', '\n']).next().unwrap_or_default();
    let words = words.split(FOR_SUPPORT).next().unwrap_or_default().trim_end_matches('.');
    if words.is_empty() { String::new() } else { format!(": {}", said(words)) }
}

fn agent(limit: Duration, proxy: Option<Proxy>) -> Agent {
    let found = rustls_native_certs::load_native_certs().certs;
    let roots = found.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from(roots))
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build();
    Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(proxy)
        .user_agent(concat!("iostall/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build()
        .new_agent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_one_line_without_the_numbers_for_support() {
        let entra = r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided. Trace ID: 1 Correlation ID: 2"}"#;
        assert_eq!(explanation(entra), ": AADSTS7000215: Invalid client secret provided");
        let app_service = r#"{"statusCode":400,"message":"No User Assigned identity found.\r\nmore"}"#;
        assert_eq!(explanation(app_service), ": No User Assigned identity found");
        assert_eq!(explanation(r#"{"error":"invalid_request"}"#), ": invalid_request");
        assert_eq!(explanation("<html>"), "");
        assert_eq!(explanation(r#"{"error":{"code":1}}"#), "");
    }
}
