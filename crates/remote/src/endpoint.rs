//! Addresses of stores that the environment names.

use url::Url;

/// An address of a store. `None` if it has more than host, port and path: people put connection strings and signatures there, which are not to be
/// repeated.
pub(crate) fn plain_url(text: &str) -> Option<Url> {
    let is_plain = |url: &Url| {
        let has_login = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "http" | "https") && !has_login && url.query().is_none()
    };
    Url::parse(text).ok().filter(is_plain)
}

pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on" | "y")
}
