//! What servers read of those whom they do not know, for the fuzzer.

use crate::server::Head;

pub fn request(bytes: &[u8]) {
    let Ok(Some((_, length))) = Head::parse(bytes) else { return };
    assert!(length <= bytes.len());
    // What is there when it is complete is all that was needed.
    assert!(matches!(Head::parse(&bytes[..length]), Ok(Some((_, same))) if same == length));
}
