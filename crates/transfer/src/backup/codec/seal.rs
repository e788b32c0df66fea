//! Encryption of frames: AES-256-GCM, in place.
//!
//! A nonce is never used twice under a key: each set has a key of its own, and each frame of a set a sequence number of its
//! own. The tag also covers what the header says of the frame, so that a frame moved to another place in another file, or into
//! another set, is refused. The stripe is not covered: which one takes a frame is decided after encryption.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::keys::{KeyError, SetKeys};
use crate::backup::format::{FrameHeader, TAG_BYTES};

/// The first byte of a nonce: what it is used for.
#[derive(Clone, Copy)]
enum Use {
    Frame = 1,
    Manifest = 2,
}

const AAD_BYTES: usize = 46;

pub struct Sealer(Cipher);

pub struct Opener(Cipher);

struct Cipher {
    frames: LessSafeKey,
    manifest: LessSafeKey,
    mask: [u8; 32],
}

impl Cipher {
    fn new(keys: &SetKeys) -> Result<Self, KeyError> {
        let key = |bytes: &[u8; 32]| {
            UnboundKey::new(&AES_256_GCM, bytes).map(LessSafeKey::new).map_err(|_| KeyError::Library)
        };
        Ok(Self {
            frames: key(keys.frame_key())?,
            manifest: key(keys.manifest_key())?,
            mask: *keys.mask_key(),
        })
    }

    fn mask(&self, sequence: u64) -> u64 {
        let hash = blake3::keyed_hash(&self.mask, &sequence.to_le_bytes());
        let mut mask = [0; 8];
        mask.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(mask)
    }
}

impl Sealer {
    pub fn new(keys: &SetKeys) -> Result<Self, KeyError> {
        Cipher::new(keys).map(Self)
    }

    /// What the checksum of a frame's plain bytes is combined with by XOR: stored as it is, it would say whether the content is
    /// what someone guesses.
    pub fn mask(&self, sequence: u64) -> u64 {
        self.0.mask(sequence)
    }

    /// Encrypts all of `bytes` but the last [`TAG_BYTES`], which become the tag. Of `header`, everything must be set that
    /// `aad` covers.
    pub fn seal(&self, header: &FrameHeader, bytes: &mut [u8]) -> Result<(), KeyError> {
        seal(&self.0.frames, nonce(Use::Frame, header.sequence), &aad(header), bytes)
    }

    /// Encrypts the body of the manifest, as [`Sealer::seal`] does a frame. `header` is the manifest's, as stored.
    pub fn seal_manifest(&self, header: &[u8], body: &mut [u8]) -> Result<(), KeyError> {
        seal(&self.0.manifest, nonce(Use::Manifest, 0), header, body)
    }
}

impl Opener {
    pub fn new(keys: &SetKeys) -> Result<Self, KeyError> {
        Cipher::new(keys).map(Self)
    }

    pub fn mask(&self, sequence: u64) -> u64 {
        self.0.mask(sequence)
    }

    /// Decrypts `bytes`, which end with the tag; returns their length without it. `None` if they are not what was encrypted
    /// under this header with this key.
    pub fn open(&self, header: &FrameHeader, bytes: &mut [u8]) -> Option<usize> {
        open(&self.0.frames, nonce(Use::Frame, header.sequence), &aad(header), bytes)
    }

    pub fn open_manifest(&self, header: &[u8], body: &mut [u8]) -> Option<usize> {
        open(&self.0.manifest, nonce(Use::Manifest, 0), header, body)
    }
}

fn seal(key: &LessSafeKey, nonce: Nonce, aad: &[u8], bytes: &mut [u8]) -> Result<(), KeyError> {
    let at = bytes.len().checked_sub(TAG_BYTES as usize).ok_or(KeyError::Library)?;
    let (plain, tag) = bytes.split_at_mut(at);
    let made = key.seal_in_place_separate_tag(nonce, Aad::from(aad), plain).map_err(|_| KeyError::Library)?;
    tag.copy_from_slice(made.as_ref());
    Ok(())
}

fn open(key: &LessSafeKey, nonce: Nonce, aad: &[u8], bytes: &mut [u8]) -> Option<usize> {
    key.open_in_place(nonce, Aad::from(aad), bytes).ok().map(|plain| plain.len())
}

fn nonce(used_for: Use, sequence: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[0] = used_for as u8;
    bytes[4..].copy_from_slice(&sequence.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// What the tag of a frame covers beside its bytes.
fn aad(header: &FrameHeader) -> [u8; AAD_BYTES] {
    let mut aad = [0; AAD_BYTES];
    let fields: [&[u8]; 7] = [
        &header.set.0,
        &[header.kind.code()],
        &[header.codec.code()],
        &header.sequence.to_le_bytes(),
        &header.file.to_le_bytes(),
        &header.offset.to_le_bytes(),
        &header.plain_length.to_le_bytes(),
    ];
    let mut at = 0;
    for field in fields {
        aad[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    }
    aad
}

#[cfg(test)]
mod tests {
    use iostall_model::backup::SetId;

    use super::super::keys::FileKey;
    use super::*;
    use crate::backup::format::{CodecKind, FrameKind};

    fn header() -> FrameHeader {
        FrameHeader {
            kind: FrameKind::Data,
            codec: CodecKind::None,
            is_sealed: true,
            set: SetId([3; 16]),
            sequence: 70_000,
            file: 9,
            offset: 1 << 40,
            plain_length: 1000,
            stored_length: 1016,
            plain_hash: 0,
            stored_hash: 0,
            stripe: 2,
        }
    }

    fn keys(seed: u8, set: SetId) -> SetKeys {
        FileKey::from_bytes([seed; 32]).keys_of(set)
    }

    #[test]
    fn a_frame_opens_only_under_its_own_header_set_and_key() {
        let header = header();
        let plain: Vec<u8> = (0..1000u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut bytes = plain.clone();
        bytes.resize(1016, 0);
        let sealer = Sealer::new(&keys(1, header.set)).unwrap();
        sealer.seal(&header, &mut bytes).unwrap();
        assert_ne!(bytes[..1000], plain);
        let opener = Opener::new(&keys(1, header.set)).unwrap();
        assert_eq!(sealer.mask(5), opener.mask(5));
        assert_ne!(opener.mask(5), opener.mask(6));
        let mut copy = bytes.clone();
        assert_eq!(opener.open(&header, &mut copy), Some(1000));
        assert_eq!(copy[..1000], plain);
        // The stripe is chosen after encryption.
        assert!(opener.open(&FrameHeader { stripe: 1, ..header }, &mut bytes.clone()).is_some());
        let others = [
            FrameHeader { set: SetId([4; 16]), ..header },
            FrameHeader { kind: FrameKind::Bundle, ..header },
            FrameHeader { codec: CodecKind::Zstd, ..header },
            FrameHeader { sequence: 70_001, ..header },
            FrameHeader { file: 8, ..header },
            FrameHeader { offset: 0, ..header },
            FrameHeader { plain_length: 999, ..header },
        ];
        for other in others {
            assert_eq!(opener.open(&other, &mut bytes.clone()), None, "{other:?}");
        }
        for at in [0, 500, 1000, 1015] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(opener.open(&header, &mut flipped), None, "byte {at}");
        }
        for wrong in [keys(2, header.set), keys(1, SetId([4; 16]))] {
            assert_eq!(Opener::new(&wrong).unwrap().open(&header, &mut bytes.clone()), None);
        }
    }

    #[test]
    fn a_manifest_opens_only_under_its_own_header() {
        let keys = keys(1, SetId([3; 16]));
        let mut body = b"{}".to_vec();
        body.resize(18, 0);
        Sealer::new(&keys).unwrap().seal_manifest(b"header", &mut body).unwrap();
        let opener = Opener::new(&keys).unwrap();
        assert_eq!(opener.open_manifest(b"headex", &mut body.clone()), None);
        assert_eq!(opener.open_manifest(b"header", &mut body), Some(2));
        assert_eq!(&body[..2], b"{}");
        assert_eq!(opener.open_manifest(b"header", &mut []), None);
    }
}
