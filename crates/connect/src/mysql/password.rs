//! How a password is proved to MariaDB and MySQL.

use aws_lc_rs::digest::{self, Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

pub(super) const NONCE_BYTES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    Native,
    CachingSha2,
}

impl Plugin {
    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Native, Self::CachingSha2].into_iter().find(|plugin| plugin.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// What proves `password` to a server that sent `nonce`; nothing for no password.
    pub(super) fn answer(self, password: &str, nonce: &[u8]) -> Vec<u8> {
        let nonce = nonce.get(..NONCE_BYTES).unwrap_or(nonce);
        if password.is_empty() {
            return Vec::new();
        }
        // MySQL's documentation: SHA1(p) XOR SHA1(nonce + SHA1(SHA1(p))), and SHA256(p) XOR SHA256(SHA256(SHA256(p)) + nonce).
        let hash = |algorithm: &'static Algorithm, parts: &[&[u8]]| {
            let mut context = digest::Context::new(algorithm);
            for part in parts {
                context.update(part);
            }
            context.finish().as_ref().to_vec()
        };
        let (first, mask) = match self {
            Self::Native => {
                let first = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[password.as_bytes()]);
                let second = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&first]);
                (first, hash(&SHA1_FOR_LEGACY_USE_ONLY, &[nonce, &second]))
            }
            Self::CachingSha2 => {
                let first = hash(&SHA256, &[password.as_bytes()]);
                let second = hash(&SHA256, &[&first]);
                (first, hash(&SHA256, &[&second, nonce]))
            }
        };
        first.iter().zip(mask).map(|(a, b)| a ^ b).collect()
    }
}

pub(super) fn in_the_clear(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's hashlib from the formulas of the documentation.
    #[test]
    fn passwords_are_proved_as_the_documentation_says() {
        let nonce: Vec<u8> = (1..=20).collect();
        let hex = |plugin: Plugin| {
            let answer = plugin.answer("secret", &nonce);
            answer.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
        };
        assert_eq!(hex(Plugin::Native), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(
            hex(Plugin::CachingSha2),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert!(Plugin::Native.answer("", &nonce).is_empty());
    }
}
