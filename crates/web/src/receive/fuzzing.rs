//! What a receiver reads of those whom it does not know, for the fuzzer.

use std::path::Component;

use super::names::Name;
use crate::tls_server::Head;

/// Reads the head of a request and the names in it, none of which may lead out of a directory.
pub fn request(bytes: &[u8]) {
    let Ok(Some((head, length))) = Head::parse(bytes) else { return };
    assert!(length <= bytes.len());
    // What is there when it is complete is all that was needed.
    assert!(matches!(Head::parse(&bytes[..length]), Ok(Some((_, same))) if same == length));
    for text in [Some(head.path.as_str()), head.query("prefix"), head.query("uploadId")].into_iter().flatten()
    {
        let Some(name) = Name::parse(text) else { continue };
        assert_eq!(name.to_string(), text);
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b"."));
        assert!(name.to_path().components().all(is_plain), "{text:?}");
    }
}
