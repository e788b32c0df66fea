//! Secrets of a fleet: the codes with which servers join it, and their keys.

use std::fmt;
use std::io;

use iostall_engine::random_bytes;
use sha2::{Digest as _, Sha256};

const KEY_BYTES: usize = 32;
const CODE_BYTES: usize = 16;
const GROUP_DIGITS: usize = 4;

/// A one-time code of 128 bits or a key of 256. Random, so that its hash needs nothing slower against guessing.
#[derive(Clone, PartialEq, Eq)]
pub struct FleetSecret(Vec<u8>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretHash(pub(crate) [u8; 32]);

impl FleetSecret {
    pub fn new_key() -> io::Result<Self> {
        Ok(Self(random_bytes::<KEY_BYTES>()?.to_vec()))
    }

    pub fn new_code() -> io::Result<Self> {
        Ok(Self(random_bytes::<CODE_BYTES>()?.to_vec()))
    }

    /// A key or a code from its digits; `None` if the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text
            .trim()
            .chars()
            .filter(|c| *c != '-')
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()?;
        let is_one = [CODE_BYTES * 2, KEY_BYTES * 2].contains(&digits.len());
        is_one.then(|| Self(digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect()))
    }

    pub fn is_code(&self) -> bool {
        self.0.len() == CODE_BYTES
    }

    /// Its digits, for whom it is meant: a code in groups, for who types it.
    pub fn digits(&self) -> String {
        let digits = hex(&self.0);
        if !self.is_code() {
            return digits;
        }
        let groups: Vec<&str> = (0..digits.len() / GROUP_DIGITS)
            .map(|at| &digits[at * GROUP_DIGITS..(at + 1) * GROUP_DIGITS])
            .collect();
        groups.join("-")
    }

    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(&self.0).into())
    }
}

impl fmt::Debug for FleetSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FleetSecret")
    }
}

impl SecretHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let secret = FleetSecret::parse(text).filter(|secret| !secret.is_code())?;
        secret.0.try_into().ok().map(Self)
    }
}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_keys_are_read_as_they_are_shown_and_are_never_the_same() {
        for secret in [FleetSecret::new_key().unwrap(), FleetSecret::new_code().unwrap()] {
            let shown = secret.digits();
            assert_eq!(FleetSecret::parse(&format!(" {shown}\n")), Some(secret.clone()));
            assert!(!format!("{secret:?} {:?}", secret.hash()).contains(&shown[..4]));
            assert_eq!(SecretHash::parse(&secret.hash().to_string()), Some(secret.hash()));
        }
        let code = FleetSecret::new_code().unwrap();
        assert_eq!((code.digits().len(), code.digits().matches('-').count()), (39, 7));
        assert_ne!(code, FleetSecret::new_code().unwrap());
        for wrong in ["", "00", "zz", &code.digits()[1..], &format!("{}00", code.digits())] {
            assert_eq!(FleetSecret::parse(wrong), None, "{wrong}");
        }
    }
}
