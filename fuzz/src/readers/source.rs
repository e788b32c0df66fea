//! Addresses of sources.

use iostall_collect::Address;

/// A word that no input contains by coincidence, and no message may contain.
const PASSWORD: &str = "s3cr3tw0rd";

/// An address as typed or pasted: one with a password is refused, and no message repeats the password.
pub(crate) fn source(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if text.contains(PASSWORD) || text.parse::<Address>().is_err() {
        return;
    }
    let mut with_password =
        vec![format!("{text};Password={PASSWORD}"), format!("{text} password={PASSWORD}")];
    let has_host = text.split_once(':').is_some_and(|(_, rest)| {
        rest.strip_prefix("//")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphanumeric()))
    });
    if has_host && !text.contains('@') {
        with_password.push(text.replacen("://", &format!("://u:{PASSWORD}@"), 1));
    }
    for text in with_password.iter().filter(|text| text.contains(PASSWORD)) {
        match text.parse::<Address>() {
            Ok(address) => panic!("a password was taken for something else: {address}"),
            Err(error) => {
                let said = format!("{error} {}", error.hint());
                assert!(!said.contains(PASSWORD), "{said}");
            }
        }
    }
}
