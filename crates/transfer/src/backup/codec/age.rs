//! The age format, version 1 (<https://age-encryption.org/v1>), as far as the key of a set needs it: files for X25519
//! keys or for one passphrase, without armor. What the age tool makes for them is read, and it reads what is made here.

use std::fmt::Write as _;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::{hkdf, hmac, rand};
use base64::prelude::{BASE64_STANDARD_NO_PAD as BASE64, Engine as _};
use thiserror::Error;
use zeroize::Zeroizing;

const VERSION: &str = "age-encryption.org/v1";
/// Full lines of a stanza's body; the first shorter one ends it.
const LINE_CHARS: usize = 64;
const CHUNK_BYTES: usize = 64 << 10;
const TAG_BYTES: usize = 16;
const SALT_BYTES: usize = 16;
/// Base-2 logarithm of the most steps that a file may ask for: each takes a kibibyte. A hostile one could otherwise ask
/// for hours and for all memory. The age tool writes 18.
const WORK_MAX: u8 = 20;

type FileKey = Zeroizing<[u8; 16]>;
type Key = Zeroizing<[u8; 32]>;
type Result<T> = std::result::Result<T, AgeError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum AgeError {
    #[error("the library for encryption refused to work")]
    Library,
    #[error("its header is not one of an age file")]
    Header,
    #[error("it asks for 2^{0} steps with the passphrase, and 2^{WORK_MAX} are the most")]
    Work(u8),
    #[error("no key opens it")]
    NoKey,
    #[error("it was changed or cut off")]
    Changed,
}

impl From<Unspecified> for AgeError {
    fn from(_: Unspecified) -> Self {
        Self::Library
    }
}

/// A public key: `age1…`.
pub(super) fn recipient(text: &str) -> Option<[u8; 32]> {
    bech32("age", text).map(|bytes| *bytes)
}

/// A secret key: `AGE-SECRET-KEY-1…`.
pub(super) struct Identity {
    private: PrivateKey,
    public: Vec<u8>,
}

impl Identity {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let private = PrivateKey::from_private_key(&X25519, &bech32("age-secret-key-", text)?[..]).ok()?;
        let public = private.compute_public_key().ok()?.as_ref().to_vec();
        Some(Self { private, public })
    }
}

/// The file that holds `plain`, at most one chunk, for public keys or for a passphrase and the work that it takes.
pub(super) fn encrypt(plain: &[u8], to: &[[u8; 32]], passphrase: Option<(&str, u8)>) -> Result<Vec<u8>> {
    let mut file_key = FileKey::default();
    rand::fill(&mut file_key[..])?;
    let mut header = format!("{VERSION}\n");
    let mut put = |words: String, key: &Key| -> Result<()> {
        let body = BASE64.encode(seal(key, nonce(0, false), &file_key[..])?);
        let _ = writeln!(header, "-> {words}\n{body}");
        Ok(())
    };
    for public in to {
        let ephemeral = PrivateKey::generate(&X25519)?;
        let share = ephemeral.compute_public_key()?;
        let key = shared_key(&ephemeral, public, &[share.as_ref(), public].concat())?;
        put(format!("X25519 {}", BASE64.encode(share)), &key)?;
    }
    if let Some((text, work)) = passphrase {
        let mut salt = [0; SALT_BYTES];
        rand::fill(&mut salt)?;
        put(format!("scrypt {} {work}", BASE64.encode(salt)), &passphrase_key(text, salt, work)?)?;
    }
    header += "---";
    let mac = hmac::sign(&mac_key(&file_key)?, header.as_bytes());
    let _ = writeln!(header, " {}", BASE64.encode(mac));
    let mut salt = [0; SALT_BYTES];
    rand::fill(&mut salt)?;
    let chunk = seal(&derive(&salt, "payload", &file_key[..])?, nonce(0, true), plain)?;
    Ok([header.as_bytes(), &salt, &chunk].concat())
}

/// The content of `file`, all of it or nothing.
pub(super) fn decrypt(file: &[u8], all: &[Identity], passphrase: Option<&str>) -> Result<Zeroizing<Vec<u8>>> {
    let header = Header::parse(file)?;
    let mut found = None;
    for stanza in &header.stanzas {
        // What is not known is for others. What is known must be whole, even where another stanza opens.
        let opened = match (stanza.arguments[0], passphrase) {
            ("X25519", _) => stanza.open_x25519(all)?,
            // Who opens a file with a passphrase may trust that its maker knew it: there is no other way in.
            ("scrypt", _) if header.stanzas.len() > 1 => return Err(AgeError::Header),
            ("scrypt", Some(passphrase)) => stanza.open_scrypt(passphrase)?,
            _ => None,
        };
        found = found.or(opened);
    }
    let file_key = found.ok_or(AgeError::NoKey)?;
    hmac::verify(&mac_key(&file_key)?, header.signed, &header.mac).map_err(|_| AgeError::Changed)?;
    open_payload(header.payload, &file_key)
}

fn open_payload(payload: &[u8], file_key: &FileKey) -> Result<Zeroizing<Vec<u8>>> {
    let (salt, sealed) = payload.split_at_checked(SALT_BYTES).ok_or(AgeError::Header)?;
    let key = cipher(&derive(salt, "payload", &file_key[..])?)?;
    let mut sealed = Zeroizing::new(sealed.to_vec());
    let mut plain = Zeroizing::new(Vec::with_capacity(sealed.len()));
    let chunks = sealed.len().div_ceil(CHUNK_BYTES + TAG_BYTES);
    for (number, chunk) in sealed.chunks_mut(CHUNK_BYTES + TAG_BYTES).enumerate() {
        let nonce = nonce(number as u64, number + 1 == chunks);
        let opened = key.open_in_place(nonce, Aad::empty(), chunk).map_err(|_| AgeError::Changed)?;
        if opened.is_empty() && number > 0 {
            return Err(AgeError::Changed);
        }
        plain.extend_from_slice(opened);
    }
    if chunks == 0 { Err(AgeError::Changed) } else { Ok(plain) }
}

struct Header<'a> {
    stanzas: Vec<Stanza<'a>>,
    /// What its checksum covers: all up to the three dashes before it.
    signed: &'a [u8],
    mac: [u8; 32],
    payload: &'a [u8],
}

struct Stanza<'a> {
    /// The first one says the way.
    arguments: Vec<&'a str>,
    body: Vec<u8>,
}

impl<'a> Header<'a> {
    fn parse(file: &'a [u8]) -> Result<Self> {
        let mut rest = file;
        if take_line(&mut rest)? != VERSION {
            return Err(AgeError::Header);
        }
        let mut stanzas = Vec::new();
        loop {
            let at = file.len() - rest.len();
            let line = take_line(&mut rest)?;
            if let Some(mac) = line.strip_prefix("--- ").filter(|_| !stanzas.is_empty()) {
                return Ok(Self { stanzas, signed: &file[..at + 3], mac: decode(mac)?, payload: rest });
            }
            let arguments: Vec<_> = line.strip_prefix("-> ").ok_or(AgeError::Header)?.split(' ').collect();
            if arguments.iter().any(|one| one.is_empty() || !one.bytes().all(|byte| byte.is_ascii_graphic()))
            {
                return Err(AgeError::Header);
            }
            stanzas.push(Stanza { arguments, body: take_body(&mut rest)? });
        }
    }
}

impl Stanza<'_> {
    fn open_x25519(&self, identities: &[Identity]) -> Result<Option<FileKey>> {
        let &[_, share] = &self.arguments[..] else { return Err(AgeError::Header) };
        let share: [u8; 32] = decode(share)?;
        for identity in identities {
            // Fails where the share is one that gives everybody the same key.
            let key = shared_key(&identity.private, &share, &[&share[..], &identity.public].concat());
            if let Some(file_key) = self.open(&key.map_err(|_| AgeError::Header)?)? {
                return Ok(Some(file_key));
            }
        }
        Ok(None)
    }

    fn open_scrypt(&self, passphrase: &str) -> Result<Option<FileKey>> {
        let &[_, salt, work] = &self.arguments[..] else { return Err(AgeError::Header) };
        let is_number = work.bytes().all(|byte| byte.is_ascii_digit()) && !work.starts_with('0');
        let work = work.parse().ok().filter(|_| is_number).ok_or(AgeError::Header)?;
        if work > WORK_MAX {
            return Err(AgeError::Work(work));
        }
        self.open(&passphrase_key(passphrase, decode(salt)?, work)?)
    }

    /// The file key, if `key` is the one it is wrapped with.
    fn open(&self, key: &Key) -> Result<Option<FileKey>> {
        // Its length is checked first: a longer one could be made to open with more than one key.
        let mut body = Key::new(self.body[..].try_into().map_err(|_| AgeError::Header)?);
        let opened = cipher(key)?.open_in_place(nonce(0, false), Aad::empty(), &mut body[..]);
        Ok(opened.ok().and_then(|plain| <[u8; 16]>::try_from(&*plain).ok()).map(Zeroizing::new))
    }
}

fn take_line<'a>(rest: &mut &'a [u8]) -> Result<&'a str> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(AgeError::Header)?;
    let line = std::str::from_utf8(&rest[..end]).map_err(|_| AgeError::Header)?;
    *rest = &rest[end + 1..];
    Ok(line)
}

fn take_body(rest: &mut &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = take_line(rest)?;
        BASE64.decode_vec(line, &mut body).map_err(|_| AgeError::Header)?;
        match line.len() {
            ..LINE_CHARS => return Ok(body),
            LINE_CHARS => {}
            _ => return Err(AgeError::Header),
        }
    }
}

/// Exactly `N` bytes, in the only spelling that they have.
fn decode<const N: usize>(text: &str) -> Result<[u8; N]> {
    BASE64.decode(text).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(AgeError::Header)
}

fn shared_key(private: &PrivateKey, public: &[u8; 32], salt: &[u8]) -> Result<Key> {
    let derive = |secret: &[u8]| derive(salt, "age-encryption.org/v1/X25519", secret);
    agree(private, UnparsedPublicKey::new(&X25519, public), AgeError::Library, derive)
}

fn passphrase_key(passphrase: &str, salt: [u8; SALT_BYTES], work: u8) -> Result<Key> {
    let mut key = Key::default();
    let salt = [&b"age-encryption.org/v1/scrypt"[..], &salt].concat();
    let params = scrypt::Params::new(work, 8, 1).map_err(|_| AgeError::Library)?;
    scrypt::scrypt(passphrase.as_bytes(), &salt, &params, &mut key[..]).map_err(|_| AgeError::Library)?;
    Ok(key)
}

fn derive(salt: &[u8], label: &str, secret: &[u8]) -> Result<Key> {
    let mut key = Key::default();
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    extracted.expand(&[label.as_bytes()], hkdf::HKDF_SHA256)?.fill(&mut key[..])?;
    Ok(key)
}

fn mac_key(file_key: &FileKey) -> Result<hmac::Key> {
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &derive(&[], "header", &file_key[..])?[..]))
}

fn cipher(key: &Key) -> Result<LessSafeKey> {
    Ok(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key[..])?))
}

/// Encrypts in one place, so that no copy of `plain` stays in memory.
fn seal(key: &Key, nonce: Nonce, plain: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(plain.len() + TAG_BYTES);
    bytes.extend_from_slice(plain);
    cipher(key)?.seal_in_place_append_tag(nonce, Aad::empty(), &mut bytes)?;
    Ok(bytes)
}

/// Of a chunk of the content. A file key is wrapped with all zeros: each time the key it is wrapped with is another.
fn nonce(number: u64, is_last: bool) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(is_last);
    Nonce::assume_unique_for_key(nonce)
}

/// The bytes of a key in Bech32 (BIP 173) that begins with `prefix`.
fn bech32(prefix: &str, text: &str) -> Option<Key> {
    const DIGITS: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let lower = Zeroizing::new(text.to_ascii_lowercase());
    let is_one_case = *lower == text || !text.bytes().any(|byte| byte.is_ascii_lowercase());
    let digits = lower.strip_prefix(prefix)?.strip_prefix('1')?;
    let values = digits.bytes().map(|digit| (0..32).find(|value| DIGITS[usize::from(*value)] == digit));
    let values: Zeroizing<Vec<u8>> = Zeroizing::new(values.collect::<Option<_>>()?);
    let summed = prefix.bytes().map(|byte| byte >> 5).chain([0]).chain(prefix.bytes().map(|byte| byte & 31));
    let sum = summed.chain(values.iter().copied()).fold(1, |sum: u32, value| {
        let terms = GENERATOR.iter().enumerate().filter(|(bit, _)| (sum >> (25 + bit)) & 1 == 1);
        terms.fold(((sum & 0x1ff_ffff) << 5) ^ u32::from(value), |sum, (_, term)| sum ^ term)
    });
    if !is_one_case || values.len() != 58 || sum != 1 {
        return None;
    }
    // One more byte, for the bits that pad the last digit. The last six digits are the sum.
    let mut bytes = Zeroizing::new([0; 33]);
    for (bit, value) in (0..).step_by(5).zip(&values[..52]) {
        let [high, low] = (u16::from(*value) << (11 - bit % 8)).to_be_bytes();
        bytes[bit / 8] |= high;
        bytes[bit / 8 + 1] |= low;
    }
    bytes.first_chunk().filter(|_| bytes[32] == 0).map(|key| Key::new(*key))
}

#[cfg(test)]
pub(super) mod tests;
