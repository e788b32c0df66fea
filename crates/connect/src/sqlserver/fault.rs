//! Translates errors of the driver.

use iostall_measure::foreign;
use tiberius::error::Error;

use crate::address::Address;
use crate::error::SourceError;
use crate::tls;

/// Login errors: password, trust, disabled, locked or expired; and a database that the login cannot open.
const LOGIN: [u32; 7] = [18_456, 18_452, 18_470, 18_486, 18_487, 18_488, 4060];
/// A missing permission on an object, on the server or in the database.
const DENIED: [u32; 5] = [229, 262, 297, 300, 371];

const NO_OBJECT: u32 = 208;

/// Start of the advice for programmers in the driver's message.
const ADVICE: &str = " To connect anyway you can:";

/// Its message for a rejected certificate.
const REJECTED: &str = "the server's certificate was rejected";

pub(super) fn connecting(address: &Address, error: Error) -> SourceError {
    let source_name = address.to_string();
    match error {
        Error::Server(token) if LOGIN.contains(&token.code()) => {
            SourceError::Login { source_name, user: address.account(), reason: said(&token) }
        }
        Error::Server(token) => SourceError::Connect { source_name, reason: said(&token) },
        Error::Tls(text) => {
            let what = text.split(ADVICE).next().unwrap_or_default().trim_end_matches('.');
            if !what.contains(REJECTED) {
                return SourceError::Tls { source_name, reason: foreign::said(what) };
            }
            let (reason, hint) = tls::of_text(what);
            SourceError::Certificate { source_name, reason, hint }
        }
        #[cfg(feature = "kerberos")]
        Error::Gssapi(text) => SourceError::Kerberos { source_name, reason: foreign::said(&text) },
        other => SourceError::Connect { source_name, reason: foreign::said(&other.to_string()) },
    }
}

pub(super) fn asking(address: &Address, query: &'static str, error: Error) -> SourceError {
    let source_name = address.to_string();
    match error {
        Error::Server(token) if DENIED.contains(&token.code()) => {
            let (user, engine) = (address.account(), address.engine.scheme());
            SourceError::Denied { source_name, user, engine, reason: said(&token) }
        }
        Error::Server(token) if token.code() == NO_OBJECT && query.starts_with("iostall:history_") => {
            SourceError::NoHistory { source_name, reason: said(&token) }
        }
        Error::Server(token) => SourceError::Query { source_name, query, reason: said(&token) },
        other => {
            let reason =
                format!("the connection broke during {query}: {}", foreign::said(&other.to_string()));
            SourceError::Connect { source_name, reason }
        }
    }
}

/// The server's message with its number, for looking it up.
fn said(token: &tiberius::error::TokenError) -> String {
    format!("{} (error {})", foreign::said(token.message().trim_end_matches('.')), token.code())
}
