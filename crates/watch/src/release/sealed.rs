//! A signed head: what it is, a document on one line, and a signature of both. Nothing in the document is read before the signature
//! was checked.

use super::key::{PublicKey, SigningKey, from_hex, hex};
use crate::release_error::ReleaseError;

/// A head is at most so long, bytes: thousands of objects.
const HEAD_BYTES_MAX: usize = 4 << 20;

/// A head that was split into its parts, and is not verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sealed<'a> {
    pub(super) what: &'a str,
    signed: &'a [u8],
    document: &'a [u8],
    pub(super) key: PublicKey,
    signature: [u8; 64],
    pub(super) rest: &'a [u8],
}

/// A head: `what`, `document` (one line) and their signature.
pub fn sealed(what: &str, document: &str, key: &SigningKey) -> Vec<u8> {
    let signed = format!("{what}\n{document}\n");
    let signature = hex(&key.sign(signed.as_bytes()));
    format!("{signed}{} {signature}\n", key.public()).into_bytes()
}

impl<'a> Sealed<'a> {
    pub(super) fn split(bytes: &'a [u8]) -> Result<Self, ReleaseError> {
        let none = |reason: &str| ReleaseError::Form(reason.to_owned());
        let head = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
        let mut ends = head.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let (Some(first), Some(second), Some(third)) = (ends.next(), ends.next(), ends.next()) else {
            return Err(none("it has no signed head"));
        };
        let what = std::str::from_utf8(&bytes[..first]).map_err(|_| none("it does not say what it is"))?;
        let line = std::str::from_utf8(&bytes[second + 1..third]).ok();
        let named = line.and_then(|line| {
            let (key, signature) = line.split_once(' ')?;
            Some((key.parse().ok()?, <[u8; 64]>::try_from(from_hex(signature)?).ok()?))
        });
        let (key, signature) = named.ok_or_else(|| none("its third line is no signature"))?;
        Ok(Self {
            what,
            signed: &bytes[..=second],
            document: &bytes[first + 1..second],
            key,
            signature,
            rest: &bytes[third + 1..],
        })
    }

    /// The document, if the key that it names is one of `keys` and has signed it.
    pub(super) fn verified(&self, keys: &[PublicKey], place: &str) -> Result<&'a str, ReleaseError> {
        let key = self.key.to_string();
        if !keys.contains(&self.key) {
            return Err(ReleaseError::UnknownKey { key, place: place.to_owned() });
        }
        if !self.key.verifies(self.signed, &self.signature) {
            return Err(ReleaseError::Signature { key });
        }
        std::str::from_utf8(self.document)
            .map_err(|_| ReleaseError::Form("its document is no text".to_owned()))
    }

    /// What identifies everything that was signed: SHA-256, as digits.
    pub(super) fn digest(&self) -> String {
        use sha2::Digest as _;
        hex(&sha2::Sha256::digest(self.signed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_holds_as_it_was_signed_and_for_the_key_that_signed_it_alone() {
        let (key, other) = (SigningKey::of_seed(&[1; 32]).unwrap(), SigningKey::of_seed(&[2; 32]).unwrap());
        let mut file = sealed("iostall-release 1", "{}", &key);
        file.extend_from_slice(b"rest\n");
        let head = Sealed::split(&file).unwrap();
        assert_eq!((head.what, head.rest), ("iostall-release 1", &b"rest\n"[..]));
        assert_eq!(head.verified(&[other.public(), key.public()], "here").unwrap(), "{}");
        assert!(matches!(head.verified(&[other.public()], "here"), Err(ReleaseError::UnknownKey { .. })));
        let signed = file.len() - b"rest\n".len();
        for at in 0..signed {
            for bit in [1, 0x20] {
                let mut changed = file.clone();
                changed[at] ^= bit;
                let taken = Sealed::split(&changed)
                    .and_then(|head| head.verified(&[key.public()], "here").map(str::to_owned));
                assert!(taken.is_err(), "byte {at}");
            }
        }
        for end in 0..signed {
            assert!(Sealed::split(&file[..end]).is_err(), "{end}");
        }
    }
}
