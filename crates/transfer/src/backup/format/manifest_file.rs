//! The file of a manifest: header, wrapped keys, body, checksum.

use iostall_model::backup::SetId;

use super::bytes::{Fields, FormatError, KEYS_BYTES_MAX, Put, TAG_BYTES, VERSION};
use super::stripe_header::WrappedKeys;

pub const MANIFEST_HEADER_BYTES: usize = 128;
/// Bytes of the checksum at the end: BLAKE3 of all before it, with a key from the file key if the set is encrypted.
pub const MANIFEST_HASH_BYTES: usize = 32;

/// JSON of files with regular names and times shrinks to about a thirtieth. What claims to grow beyond this is not believed.
const GROWTH_MAX: u64 = 512;
const PLAIN_BYTES_MAX: u64 = 1 << 32;

const PART: &str = "the manifest";
const MARK: &[u8; 8] = b"IOSMANIF";
const SEALED: u16 = 1;
const CHECKSUM_AT: usize = MANIFEST_HEADER_BYTES - 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestHeader {
    pub set: SetId,
    /// Of an encrypted set.
    pub keys: Option<WrappedKeys>,
    pub plain_length: u64,
    /// Length of the body as stored: compressed, and with the tag if encrypted.
    pub body_length: u64,
}

impl ManifestHeader {
    /// Bytes of the header with the wrapped keys: where the body begins.
    pub fn bytes(&self) -> u64 {
        let keys = self.keys.as_ref().map_or(0, |keys| keys.age.len() as u64);
        MANIFEST_HEADER_BYTES as u64 + keys
    }

    pub fn file_bytes(&self) -> u64 {
        self.bytes().saturating_add(self.body_length).saturating_add(MANIFEST_HASH_BYTES as u64)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; MANIFEST_HEADER_BYTES];
        let (flags, commitment, keys) = match &self.keys {
            None => (0, [0; 32], &[][..]),
            Some(keys) => (SEALED, keys.commitment, &keys.age[..]),
        };
        Put::into(&mut bytes)
            .bytes(MARK)
            .u16(VERSION)
            .u16(flags)
            .u32(u32::try_from(keys.len()).unwrap_or(u32::MAX))
            .bytes(&self.set.0)
            .bytes(&commitment)
            .u64(self.plain_length)
            .u64(self.body_length);
        bytes.extend_from_slice(keys);
        let checksum = checksum_of(&bytes);
        Put::into(&mut bytes[CHECKSUM_AT..]).u32(checksum);
        bytes
    }

    /// The set whose manifest begins with `head`, which may be damaged elsewhere; `None` if no manifest does.
    pub fn set_of(head: &[u8]) -> Option<SetId> {
        let mut fields = Fields::of(PART, head);
        fields.mark(MARK).ok()?;
        fields.version(VERSION).ok()?;
        fields.take(6).ok()?;
        fields.array().ok().map(SetId)
    }

    /// From the whole file. The checksum is not checked: its key may have to be derived from the wrapped keys first.
    pub fn decode(file: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::of(PART, file);
        fields.mark(MARK)?;
        fields.version(VERSION)?;
        let (flags, keys_length) = (fields.u16()?, fields.u32()?);
        let set = SetId(fields.array()?);
        let commitment = fields.array()?;
        let (plain_length, body_length) = (fields.u64()?, fields.u64()?);
        fields.zeros(CHECKSUM_AT - 80)?;
        let checksum = fields.u32()?;
        let length = if keys_length > KEYS_BYTES_MAX { 0 } else { keys_length as usize };
        let whole = file.get(..MANIFEST_HEADER_BYTES + length).unwrap_or(file);
        if checksum_of(whole) != checksum {
            return Err(FormatError::Checksum { part: PART });
        }
        let tag = match flags {
            0 => 0,
            SEALED => u64::from(TAG_BYTES),
            other => return Err(fields.bad("the flags", other)),
        };
        let is_keys = match flags {
            SEALED => (1..=KEYS_BYTES_MAX).contains(&keys_length),
            _ => keys_length == 0 && commitment == [0; 32],
        };
        if !is_keys {
            return Err(fields.bad("the length of the keys", keys_length));
        }
        let age = fields.take(keys_length as usize)?.to_vec();
        let most = body_length.saturating_mul(GROWTH_MAX).min(PLAIN_BYTES_MAX);
        if plain_length > most || body_length <= tag {
            return Err(fields.bad("the length of the content", plain_length));
        }
        let keys = (flags == SEALED).then_some(WrappedKeys { commitment, age });
        let header = Self { set, keys, plain_length, body_length };
        let (found, wanted) = (file.len() as u64, header.file_bytes());
        if found < wanted {
            return Err(FormatError::Short { part: PART, found, wanted });
        }
        if found > wanted {
            return Err(FormatError::Value { part: PART, field: "its length", value: found });
        }
        Ok(header)
    }
}

/// Of header and keys, without the checksum itself. It says without a key whether they are damaged.
fn checksum_of(bytes: &[u8]) -> u32 {
    let keys = bytes.get(MANIFEST_HEADER_BYTES..).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..CHECKSUM_AT.min(bytes.len())]), keys)
}
