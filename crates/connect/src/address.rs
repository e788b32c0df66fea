//! Addresses of sources: URLs without secrets.

mod auth;
mod engine;
mod error;
mod login;
mod parts;
mod pasted;
mod written;

use std::str::FromStr;

use iostall_measure::foreign::without_passwords;

use self::parts::Parts;

pub use self::auth::{Auth, Entra, TokenFrom};
pub use self::engine::Engine;
pub use self::error::AddressError;
pub use self::written::{Address, PasswordFrom, Tls};

impl FromStr for Address {
    type Err = AddressError;

    /// Parses a URL, or another program's connection string. Text that contains a password is rejected
    /// without repeating it, even if little else can be parsed.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let parsed = pasted::read(text).unwrap_or_else(|| Parts::of_typed_url(text));
        let had_password = parsed.as_ref().is_ok_and(|(_, parts)| parts.had_password);
        let address = parsed.and_then(|(engine, parts)| parts.finish(engine));
        let kept = without_passwords(text);
        match address {
            Ok(address) if (had_password || kept != text) && address.has_no_password() => {
                let (source_name, instead) = (address.to_string(), Some(address.url()));
                Err(AddressError::PasswordInUrl { source_name, instead })
            }
            Ok(address) if kept == text => Ok(address),
            Err(AddressError::NotUrl { .. }) if kept == text => {
                Err(AddressError::NotUrl { text: without_login(text) })
            }
            Err(error @ (AddressError::Auth { .. } | AddressError::Contradiction { .. })) => Err(error),
            // The result might contain part of an unrecognised password.
            _ if kept != text => {
                Err(AddressError::PasswordInUrl { source_name: kept.into_owned(), instead: None })
            }
            Ok(_) => Err(AddressError::PasswordInUrl { source_name: "this source".into(), instead: None }),
            Err(error) => Err(error),
        }
    }
}

/// The typed text without a possible login, for text without a scheme.
fn without_login(text: &str) -> String {
    if let Some((scheme, rest)) = text.split_once("://") {
        // After a colon comes a port, or a password whose host was forgotten.
        let is_port =
            |text: &str| text.split(['/', '?']).next().is_some_and(|port| port.parse::<u64>().is_ok());
        return match rest.split_once(':') {
            Some((user, after)) if !rest.contains(['@', '[']) && !is_port(after) => {
                format!("{scheme}://{user}:…")
            }
            _ => text.to_owned(),
        };
    }
    match (text.rsplit_once('@'), text.split_once(':')) {
        (Some((login, rest)), Some((user, _))) if login.contains(':') => {
            format!("{user}:…@{rest}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
