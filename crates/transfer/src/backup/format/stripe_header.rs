//! The first block of a stripe.

use iostall_model::backup::{BackupSettings, Compression, SetId};

use super::bytes::{
    BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN, Fields, FormatError, KEYS_BYTES_MAX,
    Put, STRIPES_MAX, VERSION, blocks_of,
};

/// What a reader reads of a stripe first: enough for [`StripeHeader::block_bytes_of`].
pub const STRIPE_HEADER_BYTES_MIN: usize = BLOCK_BYTES_MIN as usize;

const PART: &str = "the header of the stripe";
const MARK: &[u8; 8] = b"IOSTRIPE";
const CHECKSUM_BYTES: usize = 4;
/// How a set is encrypted: not at all, or each frame with AES-256-GCM.
const PLAIN: u8 = 0;
const AES_256_GCM: u8 = 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodecKind {
    #[default]
    None,
    Zstd,
    /// An LZ4 block without its length.
    Lz4,
}

impl CodecKind {
    pub fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Zstd => 1,
            Self::Lz4 => 2,
        }
    }

    pub fn from_code(code: u8) -> Option<Self> {
        [Self::None, Self::Zstd, Self::Lz4].into_iter().find(|codec| codec.code() == code)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKeys {
    /// Derived from the file key: another key is refused before anything is decrypted.
    pub commitment: [u8; 32],
    /// The file key, wrapped for its recipients: an age file.
    pub age: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeHeader {
    pub set: SetId,
    /// From 0.
    pub stripe: u16,
    pub stripes: u16,
    /// Alignment of everything in the stripe, bytes; a power of two.
    pub block_bytes: u32,
    /// Most plain bytes in a frame; a power of two.
    pub frame_bytes: u32,
    /// Most plain bytes in a write, a multiple of the frame. Readers choose their buffers by it.
    pub transfer_bytes: u32,
    pub created_unix_ns: u64,
    /// The codec that was asked for; each frame says which one it has.
    pub codec: CodecKind,
    pub level: i32,
    /// Of a set that is encrypted with AES-256-GCM; `None` if it is not.
    pub keys: Option<WrappedKeys>,
    /// Of an increment: the set that it was compared with. Without a key nothing else says so.
    pub base: Option<SetId>,
}

impl StripeHeader {
    /// Bytes from the beginning of the stripe to its first frame.
    pub fn bytes(&self) -> u64 {
        let keys = self.keys.as_ref().map_or(0, |keys| keys.age.len() as u64);
        u64::from(self.block_bytes) + blocks_of(keys, self.block_bytes)
    }

    pub fn settings(&self) -> BackupSettings {
        BackupSettings {
            stripes: self.stripes,
            block_bytes: self.block_bytes,
            frame_bytes: self.frame_bytes,
            transfer_bytes: self.transfer_bytes,
            compression: match self.codec {
                CodecKind::None => Compression::None,
                CodecKind::Zstd => Compression::Zstd(self.level),
                CodecKind::Lz4 => Compression::Lz4,
            },
            encrypted: self.keys.is_some(),
            ..BackupSettings::default()
        }
    }

    /// As stored, [`StripeHeader::bytes`] long.
    pub fn encode(&self) -> Vec<u8> {
        let block = self.block_bytes as usize;
        let mut bytes = vec![0; usize::try_from(self.bytes()).unwrap_or(block)];
        let (first, further) = bytes.split_at_mut(block);
        let (encryption, commitment, keys) = match &self.keys {
            None => (PLAIN, [0; 32], &[][..]),
            Some(keys) => (AES_256_GCM, keys.commitment, &keys.age[..]),
        };
        further[..keys.len()].copy_from_slice(keys);
        let keys_length = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        Put::into(first)
            .bytes(MARK)
            .u16(VERSION)
            .u16(self.stripe)
            .u16(self.stripes)
            .u8(encryption)
            .u8(self.codec.code())
            .u32(self.block_bytes)
            .u32(self.frame_bytes)
            .u32(self.transfer_bytes)
            .i32(self.level)
            .bytes(&self.set.0)
            .u64(self.created_unix_ns)
            .bytes(&commitment)
            .u32(if keys.is_empty() { 0 } else { self.block_bytes })
            .u32(keys_length)
            .u32(crc32c::crc32c(further))
            .bytes(&self.base.unwrap_or_default().0);
        let checksum = crc32c::crc32c(&first[..block - CHECKSUM_BYTES]);
        Put::into(&mut first[block - CHECKSUM_BYTES..]).u32(checksum);
        bytes
    }

    /// The length of the first block, from its first [`STRIPE_HEADER_BYTES_MIN`] bytes, which may still be damaged.
    pub fn block_bytes_of(first: &[u8]) -> Result<u32, FormatError> {
        let mut fields = Fields::of(PART, first);
        fields.mark(MARK)?;
        fields.version(VERSION)?;
        fields.take(6)?;
        let block = fields.u32()?;
        let is_block = block.is_power_of_two() && (BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&block);
        is_block.then_some(block).ok_or_else(|| fields.bad("the block", block))
    }

    /// The length of everything before the first frame, from the first block.
    pub fn bytes_of(block: &[u8]) -> Result<u64, FormatError> {
        let (header, keys) = Self::decode_block(block)?;
        Ok(u64::from(header.block_bytes) + blocks_of(keys.length.into(), header.block_bytes))
    }

    /// From everything before the first frame; what follows is ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let (mut header, wanted) = Self::decode_block(bytes)?;
        let mut fields = Fields::of(PART, bytes);
        fields.take(header.block_bytes as usize)?;
        let area = blocks_of(wanted.length.into(), header.block_bytes);
        let area = fields.take(usize::try_from(area).unwrap_or(usize::MAX))?;
        if crc32c::crc32c(area) != wanted.checksum {
            return Err(FormatError::Checksum { part: PART });
        }
        if let Some(keys) = &mut header.keys {
            keys.age = area.get(..wanted.length as usize).unwrap_or_default().to_vec();
        }
        Ok(header)
    }

    fn decode_block(bytes: &[u8]) -> Result<(Self, KeysArea), FormatError> {
        let block_bytes = Self::block_bytes_of(bytes)?;
        let block = Fields::of(PART, bytes).take(block_bytes as usize)?;
        let (content, checksum) = block.split_at(block.len() - CHECKSUM_BYTES);
        if Fields::of(PART, checksum).u32()? != crc32c::crc32c(content) {
            return Err(FormatError::Checksum { part: PART });
        }
        let mut fields = Fields::of(PART, content);
        fields.take(MARK.len() + 2)?;
        let (stripe, stripes) = (fields.u16()?, fields.u16()?);
        let (encryption, codec) = (fields.u8()?, fields.u8()?);
        let _block = fields.u32()?;
        let (frame_bytes, transfer_bytes, level) = (fields.u32()?, fields.u32()?, fields.i32()?);
        let set = SetId(fields.array()?);
        let created_unix_ns = fields.u64()?;
        let commitment = fields.array()?;
        let offset = fields.u32()?;
        let keys = KeysArea { length: fields.u32()?, checksum: fields.u32()? };
        let base = Some(SetId(fields.array()?)).filter(|base| *base != SetId::default());
        if stripes == 0 || stripes > STRIPES_MAX {
            return Err(fields.bad("the number of stripes", stripes));
        }
        if stripe >= stripes {
            return Err(fields.bad("the number of the stripe", stripe));
        }
        let is_frame = frame_bytes.is_power_of_two()
            && (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&frame_bytes)
            && frame_bytes >= block_bytes;
        if !is_frame {
            return Err(fields.bad("the frame", frame_bytes));
        }
        if transfer_bytes > FRAME_BYTES_MAX || transfer_bytes == 0 || transfer_bytes % frame_bytes != 0 {
            return Err(fields.bad("the transfer", transfer_bytes));
        }
        let (is_keys, wrapped) = match encryption {
            PLAIN => (keys.length == 0 && offset == 0 && commitment == [0; 32], None),
            AES_256_GCM => {
                let is_keys = (1..=KEYS_BYTES_MAX).contains(&keys.length) && offset == block_bytes;
                (is_keys, Some(WrappedKeys { commitment, age: Vec::new() }))
            }
            other => return Err(fields.bad("the encryption", other)),
        };
        if !is_keys {
            return Err(fields.bad("the length of the keys", keys.length));
        }
        let codec = CodecKind::from_code(codec).ok_or_else(|| fields.bad("the codec", codec))?;
        fields.zeros(fields.rest().len())?;
        let header = Self {
            set,
            stripe,
            stripes,
            block_bytes,
            frame_bytes,
            transfer_bytes,
            created_unix_ns,
            codec,
            level,
            keys: wrapped,
            base,
        };
        Ok((header, keys))
    }
}

struct KeysArea {
    length: u32,
    checksum: u32,
}
