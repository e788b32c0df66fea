//! The file of a manifest: from and to a [`Manifest`].

use std::io::Read;

use iostall_model::backup::{Manifest, SetId};
use thiserror::Error;

use super::codec::{KeyError, Opener, Sealer, SetKeys, Unlock, unwrap};
use super::format::{FormatError, MANIFEST_HASH_BYTES, ManifestHeader, TAG_BYTES, WrappedKeys};

/// Level of compression: names and numbers shrink well at any.
const LEVEL: i32 = 3;

#[derive(Debug, Error)]
pub enum ManifestError {
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("the manifest is damaged: its checksum does not match")]
    Checksum,
    #[error("the manifest was changed, or made with another key")]
    Forged,
    #[error("the manifest is damaged: {0}")]
    Content(String),
    #[error("the manifest is of set {inside}, but its header says {outside}")]
    OtherSet { inside: SetId, outside: SetId },
    #[error(transparent)]
    Keys(#[from] KeyError),
}

#[derive(Debug)]
pub struct OpenedManifest {
    pub manifest: Manifest,
    pub keys: Option<SetKeys>,
    pub wrapped: Option<WrappedKeys>,
}

pub fn encode(manifest: &Manifest, keys: Option<(&SetKeys, &WrappedKeys)>) -> Result<Vec<u8>, ManifestError> {
    let content = |error: &dyn std::fmt::Display| ManifestError::Content(error.to_string());
    let json = serde_json::to_vec(manifest).map_err(|error| content(&error))?;
    let mut body = zstd::bulk::compress(&json, LEVEL).map_err(|error| content(&error))?;
    if keys.is_some() {
        body.extend_from_slice(&[0; TAG_BYTES as usize]);
    }
    let header = ManifestHeader {
        set: manifest.set,
        keys: keys.map(|(_, wrapped)| wrapped.clone()),
        plain_length: json.len() as u64,
        body_length: body.len() as u64,
    };
    let mut file = header.encode();
    if let Some((keys, _)) = keys {
        Sealer::new(keys)?.seal_manifest(&file, &mut body)?;
    }
    file.append(&mut body);
    let hash = hash(&file, keys.map(|(keys, _)| keys));
    file.extend_from_slice(&hash);
    Ok(file)
}

fn hash(bytes: &[u8], keys: Option<&SetKeys>) -> [u8; MANIFEST_HASH_BYTES] {
    match keys {
        Some(keys) => keys.manifest_hash(bytes),
        None => *blake3::hash(bytes).as_bytes(),
    }
}

pub fn decode(mut file: Vec<u8>, unlock: Option<&Unlock>) -> Result<OpenedManifest, ManifestError> {
    let header = ManifestHeader::decode(&file)?;
    let keys = match &header.keys {
        Some(wrapped) => Some(unwrap(wrapped, header.set, unlock)?),
        None => None,
    };
    let at = file.len().saturating_sub(MANIFEST_HASH_BYTES);
    let (content, found) = file.split_at_mut(at);
    if hash(content, keys.as_ref())[..] != found[..] {
        return Err(ManifestError::Checksum);
    }
    let (head, body) =
        content.split_at_mut(usize::try_from(header.bytes()).unwrap_or(usize::MAX).min(content.len()));
    let length = match &keys {
        Some(keys) => Opener::new(keys)?.open_manifest(head, body).ok_or(ManifestError::Forged)?,
        None => body.len(),
    };
    let manifest = parse(&body[..length], header.plain_length)?;
    if manifest.set != header.set {
        return Err(ManifestError::OtherSet { inside: manifest.set, outside: header.set });
    }
    Ok(OpenedManifest { manifest, keys, wrapped: header.keys })
}

/// Parsed while it is decompressed: what it claims to be long is not reserved, and more than that is not read.
fn parse(body: &[u8], plain_length: u64) -> Result<Manifest, ManifestError> {
    let content = |error: &dyn std::fmt::Display| ManifestError::Content(error.to_string());
    let decoder = zstd::Decoder::with_buffer(body).map_err(|error| content(&error))?;
    let reader = std::io::BufReader::with_capacity(1 << 16, decoder.take(plain_length));
    serde_json::from_reader(reader).map_err(|error| content(&error))
}
