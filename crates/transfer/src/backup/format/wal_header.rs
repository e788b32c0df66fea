//! The header of an archived file of PostgreSQL's write-ahead log.

use xxhash_rust::xxh3::xxh3_64;

use super::bytes::{Fields, FormatError, Put};
use super::stripe_header::CodecKind;

pub const WAL_HEADER_BYTES: usize = 256;
pub const WAL_FRAME_HEADER_BYTES: usize = 16;
pub const WAL_FRAME_BYTES_MAX: u32 = 1 << 20;
/// The longest name that PostgreSQL gives to a file of its log has 40.
pub const WAL_NAME_BYTES_MAX: usize = 48;

const PART: &str = "archived WAL file";
const FRAME_PART: &str = "a frame of the archived WAL file";
const MARK: &[u8; 8] = b"IOSTWALF";
const VERSION: u16 = 1;
const HASH_AT: usize = WAL_HEADER_BYTES - 8;
const NO_TIME: i64 = i64::MIN;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalHeader {
    pub name: String,
    /// Of the cluster; 0 if the file does not say and nobody else did.
    pub system_identifier: u64,
    pub plain_bytes: u64,
    /// Everything after this header.
    pub stored_bytes: u64,
    /// XXH3 of the content.
    pub plain_hash: u64,
    /// XXH3 of everything after this header.
    pub stored_hash: u64,
    pub facts: WalFacts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalFacts {
    /// The position after the last whole record, bytes from the beginning of the log; 0 if there is none.
    pub end_lsn: u64,
    /// Times of the first and the last transaction that ended in it, microseconds since 1970.
    pub times_us: Option<(i64, i64)>,
}

impl WalHeader {
    /// Its bytes. A name that is too long is cut off.
    pub fn encode(&self) -> [u8; WAL_HEADER_BYTES] {
        let (first_us, last_us) = self.facts.times_us.unwrap_or((NO_TIME, NO_TIME));
        let name = &self.name.as_bytes()[..self.name.len().min(WAL_NAME_BYTES_MAX)];
        let mut bytes = [0; WAL_HEADER_BYTES];
        Put::into(&mut bytes)
            .bytes(MARK)
            .u16(VERSION)
            .zeros_to(16)
            .u64(self.system_identifier)
            .u64(self.plain_bytes)
            .u64(self.stored_bytes)
            .u64(self.plain_hash)
            .u64(self.stored_hash)
            .u64(self.facts.end_lsn)
            .bytes(&first_us.to_le_bytes())
            .bytes(&last_us.to_le_bytes())
            .bytes(name);
        let hash = xxh3_64(&bytes[..HASH_AT]);
        bytes[HASH_AT..].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::of(PART, bytes);
        fields.mark(MARK)?;
        fields.version(VERSION)?;
        let whole = bytes.get(..WAL_HEADER_BYTES).ok_or(FormatError::Short {
            part: PART,
            found: bytes.len() as u64,
            wanted: WAL_HEADER_BYTES as u64,
        })?;
        if xxh3_64(&whole[..HASH_AT]).to_le_bytes() != whole[HASH_AT..] {
            return Err(FormatError::Checksum { part: PART });
        }
        fields.zeros(6)?;
        let (system_identifier, plain_bytes, stored_bytes) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (plain_hash, stored_hash, end_lsn) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (first_us, last_us) = (i64::from_le_bytes(fields.array()?), i64::from_le_bytes(fields.array()?));
        let name = fields.take(WAL_NAME_BYTES_MAX)?;
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = std::str::from_utf8(&name[..length]);
        let name = name.map_err(|error| FormatError::Text { part: PART, cause: error.to_string() })?;
        let times_us = (first_us != NO_TIME && last_us != NO_TIME).then_some((first_us, last_us));
        Ok(Self {
            name: name.to_owned(),
            system_identifier,
            plain_bytes,
            stored_bytes,
            plain_hash,
            stored_hash,
            facts: WalFacts { end_lsn, times_us },
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalFrameHeader {
    pub codec: CodecKind,
    pub plain_length: u32,
    pub stored_length: u32,
}

impl WalFrameHeader {
    pub fn encode(self) -> [u8; WAL_FRAME_HEADER_BYTES] {
        let mut bytes = [0; WAL_FRAME_HEADER_BYTES];
        Put::into(&mut bytes).u32(self.plain_length).u32(self.stored_length).u8(self.codec.code());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::of(FRAME_PART, bytes);
        let (plain_length, stored_length, code) = (fields.u32()?, fields.u32()?, fields.u8()?);
        fields.zeros(7)?;
        let codec = CodecKind::from_code(code).ok_or_else(|| fields.bad("the codec", code))?;
        if !(1..=WAL_FRAME_BYTES_MAX).contains(&plain_length) {
            return Err(fields.bad("the length", plain_length));
        }
        // What does not become smaller is stored as it is.
        if !(1..=plain_length).contains(&stored_length) {
            return Err(fields.bad("the stored length", stored_length));
        }
        Ok(Self { codec, plain_length, stored_length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> WalHeader {
        WalHeader {
            name: "0000000300000016000000B3.00000028.backup".to_owned(),
            system_identifier: u64::MAX - 3,
            plain_bytes: 16 << 20,
            stored_bytes: 4711,
            plain_hash: 1,
            stored_hash: 2,
            facts: WalFacts { end_lsn: 0x16_B400_0000, times_us: Some((-5, 1_795_419_600_000_000)) },
        }
    }

    #[test]
    fn a_header_reads_back_and_every_flipped_bit_of_it_is_noticed() {
        let bytes = header().encode();
        assert_eq!(WalHeader::decode(&bytes), Ok(header()));
        for at in 0..bytes.len() {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert!(WalHeader::decode(&damaged).is_err(), "byte {at}");
            assert!(WalHeader::decode(&bytes[..at]).is_err(), "{at} bytes");
        }
        let without = WalHeader { facts: WalFacts::default(), ..header() };
        assert_eq!(WalHeader::decode(&without.encode()), Ok(without));
    }

    #[test]
    fn a_frame_that_nobody_writes_is_refused_before_anything_is_reserved_for_it() {
        let frame = WalFrameHeader { codec: CodecKind::Zstd, plain_length: 1 << 20, stored_length: 77 };
        assert_eq!(WalFrameHeader::decode(&frame.encode()), Ok(frame));
        for (plain_length, stored_length) in [(0, 0), (1, 0), (5, 6), (WAL_FRAME_BYTES_MAX + 1, 5)] {
            let wrong = WalFrameHeader { plain_length, stored_length, ..frame };
            assert!(WalFrameHeader::decode(&wrong.encode()).is_err(), "{wrong:?}");
        }
        let mut unknown = frame.encode();
        unknown[8] = 9;
        assert!(WalFrameHeader::decode(&unknown).is_err());
    }
}
