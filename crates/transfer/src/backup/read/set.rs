//! An open stripe set.

use std::path::PathBuf;

use iostall_engine::{FileIndex, IoFailure};
use iostall_model::backup::{Manifest, StripeRecord};

use super::damage::Damage;
use super::error::ReadError;
use super::find::{self, Named};
use super::stripe::{Fault, Index, Stripe};
use crate::backup::codec::{Decoder, KeyError, SetKeys, Unlock};
use crate::backup::format::{End, IndexRecord, STRIPES_MAX};

/// A set with its manifest and those of its stripes that are there.
#[derive(Debug)]
pub struct OpenSet {
    pub manifest: Manifest,
    pub manifest_path: PathBuf,
    pub keys: Option<SetKeys>,
    /// By number; without those that are missing or are something else.
    pub stripes: Vec<OpenStripe>,
    /// What was found so far that is not as it was written.
    pub damage: Vec<Damage>,
    /// It is encrypted and was opened without its key: of the manifest only what the headers of the stripes say is known, and
    /// there is nothing that could be restored.
    pub is_without_key: bool,
}

/// A stripe, and what its index says.
#[derive(Debug)]
pub struct OpenStripe {
    pub stripe: Stripe,
    /// `None` if the end is damaged or missing.
    pub end: Option<End>,
    /// `None` if the index is damaged, or cannot be found without the end.
    pub index: Option<Index>,
}

impl OpenStripe {
    /// The frames that the index names; none if it is damaged.
    pub fn records(&self) -> &[IndexRecord] {
        self.index.as_ref().map_or(&[], |index| &index.records)
    }
}

impl OpenSet {
    /// Whether there is a key, and all stripes are there and complete.
    pub(crate) fn check_usable(&self) -> Result<(), ReadError> {
        if self.is_without_key {
            return Err(KeyError::NoKey.into());
        }
        // Another copy of the manifest may be damaged: one was good.
        let damage: Vec<_> = self.damage.iter().filter(|damage| damage.stripe.is_some()).cloned().collect();
        if damage.is_empty() { Ok(()) } else { Err(ReadError::Damaged(damage)) }
    }

    /// A request to a stripe failed.
    pub(crate) fn unreadable(&self, file: FileIndex, offset: u64, cause: IoFailure) -> Damage {
        let open = self.stripes.get(usize::from(file.0));
        let of_store = open.and_then(|open| open.stripe.failure());
        let cause = of_store.unwrap_or_else(|| cause.to_string());
        let message = format!("the stripe cannot be read: {cause}");
        match open {
            Some(open) => open.stripe.damage(Fault { offset, message }),
            None => Damage::of_file(None, &self.manifest_path, message),
        }
    }
}

/// Opens the set of the manifest or stripes in `paths`.
///
/// # Errors
/// If nothing can be said about the set without more from the user. What is damaged or missing is in the result.
pub fn open(paths: &[PathBuf], unlock: Option<&Unlock>) -> Result<OpenSet, ReadError> {
    let named = Named::sort(paths)?;
    let (opened, manifest_path, mut damage) = find::manifest(&named, unlock)?;
    let manifest = opened.manifest;
    if let Some(message) = contradiction(&manifest) {
        return Err(ReadError::Damaged(vec![Damage::of_file(None, &manifest_path, message)]));
    }
    let mut decoder = Decoder::new(manifest.set, opened.keys.as_ref())?;
    let mut stripes = Vec::new();
    for (record, (_, found)) in manifest.stripes.iter().zip(find::stripes(&manifest, &named)) {
        match found {
            Ok(stripe) => stripes.push(check(&manifest, record, stripe, &mut decoder, &mut damage)),
            Err(missing) => damage.push(*missing),
        }
    }
    Ok(OpenSet { manifest, manifest_path, keys: opened.keys, stripes, damage, is_without_key: false })
}

/// What in a manifest cannot be, although its checksum is right.
fn contradiction(manifest: &Manifest) -> Option<&'static str> {
    let stripes = &manifest.stripes;
    let are_numbered = (0..).zip(stripes).all(|(number, stripe): (u16, _)| stripe.number == number);
    let is_name = |name: &[u8]| {
        !name.is_empty() && name != b"." && name != b".." && !name.iter().any(|byte| matches!(byte, b'/' | 0))
    };
    let ascend = manifest.files.windows(2).all(|pair| pair[0].number < pair[1].number);
    let fits = |size: u64, data: u64| data <= size && i64::try_from(size).is_ok();
    match () {
        () if stripes.is_empty() || stripes.len() > usize::from(STRIPES_MAX) => {
            Some("the manifest is damaged: it names no stripe, or too many")
        }
        () if !are_numbered => {
            Some("the manifest is damaged: its stripes are not numbered one after another")
        }
        () if !stripes.iter().all(|stripe| is_name(stripe.name.as_bytes())) => {
            Some("the manifest is damaged: the name of a stripe is none")
        }
        () if !ascend => Some("the manifest is damaged: its files are not in the order of their numbers"),
        () if !manifest.files.iter().all(|file| fits(file.size_bytes, file.data_bytes)) => {
            Some("the manifest is damaged: a file has more content than its size")
        }
        () => None,
    }
}

/// Compares a stripe with what the manifest says of it, and reads its end and its index.
fn check(
    manifest: &Manifest,
    record: &StripeRecord,
    stripe: Stripe,
    decoder: &mut Decoder,
    damage: &mut Vec<Damage>,
) -> OpenStripe {
    let (header, settings) = (&stripe.header, &manifest.settings);
    let is_like = usize::from(header.stripes) == manifest.stripes.len()
        && (header.block_bytes, header.frame_bytes) == (settings.block_bytes, settings.frame_bytes)
        && header.keys.is_some() == settings.encrypted;
    if !is_like {
        damage.push(stripe.damage(Fault::new(0, &"the header of the stripe is not what the manifest says")));
    }
    if stripe.bytes != record.bytes {
        let how = if stripe.bytes < record.bytes { "it is cut off" } else { "something was added to it" };
        let message = format!("the stripe has {} bytes instead of {}: {how}", stripe.bytes, record.bytes);
        damage.push(stripe.damage(Fault { offset: stripe.bytes.min(record.bytes), message }));
    }
    let end = match stripe.end(decoder) {
        Ok((end, digest)) => {
            if digest != record.end_digest.0 || end.frames != record.frames {
                let message = "the end of the stripe is not the one that the manifest names";
                damage.push(stripe.damage(Fault::new(end.position, &message)));
            }
            Some(end)
        }
        Err(fault) => {
            damage.push(stripe.damage(fault));
            None
        }
    };
    let index = end.as_ref().and_then(|end| match stripe.index(end, decoder) {
        Ok(index) => Some(index),
        Err(fault) => {
            damage.push(stripe.damage(fault));
            None
        }
    });
    OpenStripe { stripe, end, index }
}
