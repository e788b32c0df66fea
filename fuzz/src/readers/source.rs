//! Addresses of sources.

use iostall_collect::Address;

/// What was typed or pasted: no message repeats a password, and a name is one line.
pub(crate) fn source(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // The same with a password that cannot be mistaken for anything else.
    let with_password = text.replace("password=", "password=s3cr3tw0rd").replace("://", "://u:s3cr3tw0rd@");
    for text in [text, with_password.as_str()] {
        let said = match text.parse::<Address>() {
            Ok(address) => address.to_string(),
            Err(error) => format!("{error} {}", error.hint()),
        };
        assert!(!said.contains("s3cr3tw0rd") || !text.contains("s3cr3tw0rd"), "{said}");
    }
}
