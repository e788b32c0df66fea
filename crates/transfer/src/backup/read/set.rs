//! An open stripe set.

use std::path::PathBuf;

use iostall_engine::{FileIndex, IoFailure};
use iostall_model::backup::{Manifest, StripeRecord};

use super::damage::Damage;
use super::error::ReadError;
use super::find::{self, Named};
use super::stripe::{Fault, Index, Stripe};
use crate::backup::codec::{Decoder, KeyError, SetKeys, Unlock};
use crate::backup::format::{End, FrameKind, IndexRecord, Piece, PieceRecord, STRIPES_MAX};

/// A set with its manifest and those of its stripes that are there.
#[derive(Debug)]
pub struct OpenSet {
    pub manifest: Manifest,
    pub manifest_path: PathBuf,
    pub keys: Option<SetKeys>,
    /// By number; without those that are missing or are something else.
    pub stripes: Vec<OpenStripe>,
    pub damage: Vec<Damage>,
    /// It is encrypted and was opened without its key: of the manifest only what the headers of the stripes say is known, and
    /// there is nothing that could be restored.
    pub is_without_key: bool,
    pub chain: Chain,
}

#[derive(Debug, Default)]
pub struct Chain {
    /// In the order of the manifest; `None` for one that is not needed or not there.
    pub bases: Vec<Option<OpenSet>>,
    /// Pieces of files that are in frames of other sets, by set and frame.
    pub pieces: Vec<PieceRecord>,
    pub damage: Vec<Damage>,
}

impl Chain {
    /// The pieces that are in a frame of the base with this number, from 1.
    pub(crate) fn in_frame(&self, base: usize, sequence: u64) -> &[PieceRecord] {
        let key = |piece: &PieceRecord| (usize::from(piece.set), piece.sequence);
        let begin = self.pieces.partition_point(|piece| key(piece) < (base, sequence));
        let rest = &self.pieces[begin..];
        &rest[..rest.partition_point(|piece| key(piece) == (base, sequence))]
    }

    /// The piece of this set's files that is in a frame of a base as this range of that set's file, if there is one.
    pub(crate) fn piece(&self, base: usize, sequence: u64, held: &Piece) -> Option<&PieceRecord> {
        let is_it = |piece: &&PieceRecord| {
            (piece.held_file, piece.offset, piece.length) == (held.file, held.offset, held.length)
        };
        self.in_frame(base, sequence).iter().find(is_it)
    }

    pub fn there(&self) -> impl Iterator<Item = (usize, &OpenSet)> {
        (1..).zip(&self.bases).filter_map(|(number, base)| Some((number, base.as_ref()?)))
    }
}

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

#[derive(Clone, Copy, Debug)]
pub struct ChainStripe<'s> {
    /// 0 for the set itself, otherwise which of its bases, from 1.
    pub number: usize,
    pub set: &'s OpenSet,
    pub open: &'s OpenStripe,
}

impl OpenSet {
    /// Whether there is a key, and all stripes are there and complete, those of what it is based on included.
    pub(crate) fn check_usable(&self) -> Result<(), ReadError> {
        if self.is_without_key {
            return Err(KeyError::NoKey.into());
        }
        // Another copy of the manifest may be damaged: one was good.
        let of_stripes = self.damage.iter().filter(|damage| damage.stripe.is_some());
        let damage: Vec<_> = of_stripes.chain(&self.chain.damage).cloned().collect();
        if damage.is_empty() { Ok(()) } else { Err(ReadError::Damaged(damage)) }
    }

    /// Whether files of it are put together with those of the sets that it is based on, which are there.
    pub(crate) fn is_in_parts(&self) -> bool {
        self.manifest.is_server_increment() && !self.chain.bases.is_empty()
    }

    pub(crate) fn unreadable(&self, file: FileIndex, offset: u64, cause: IoFailure) -> Damage {
        match self.all_stripes().nth(usize::from(file.0)) {
            Some(one) => one.unreadable(offset, cause),
            None => Damage::of_file(None, &self.manifest_path, format!("a stripe cannot be read: {cause}")),
        }
    }

    pub fn all_stripes(&self) -> impl Iterator<Item = ChainStripe<'_>> {
        let sets = std::iter::once((0, self)).chain(self.chain.there());
        sets.flat_map(|(number, set)| set.stripes.iter().map(move |open| ChainStripe { number, set, open }))
    }
}

impl ChainStripe<'_> {
    pub(crate) fn damage_of(&self, record: &IndexRecord, message: impl Into<String>) -> Damage {
        let (stripe, manifest) = (&self.open.stripe, &self.set.manifest);
        self.marked(Damage::of_frame(stripe.number(), &stripe.path, record, manifest, message))
    }

    fn marked(&self, damage: Damage) -> Damage {
        if self.number == 0 { damage } else { damage.in_base(self.set.manifest.set) }
    }

    /// The file that a frame of data in it has a part of, by its number in the set with `chain`; `None` if it has none.
    pub(crate) fn file_of(&self, chain: &Chain, record: &IndexRecord) -> Option<u64> {
        match (record.kind, self.number) {
            (FrameKind::Data, 0) => Some(record.file),
            (FrameKind::Data, base) => {
                let held = Piece { file: record.file, offset: record.offset, length: record.plain_length };
                chain.piece(base, record.sequence, &held).map(|piece| piece.file)
            }
            _ => None,
        }
    }

    pub(crate) fn unreadable(&self, offset: u64, cause: IoFailure) -> Damage {
        let cause = self.open.stripe.failure().unwrap_or_else(|| cause.to_string());
        let message = format!("the stripe cannot be read: {cause}");
        self.marked(self.open.stripe.damage(Fault { offset, message }))
    }
}

pub(super) fn open_alone(paths: &[PathBuf], unlock: Option<&Unlock>) -> Result<OpenSet, ReadError> {
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
    let chain = Chain::default();
    Ok(OpenSet { manifest, manifest_path, keys: opened.keys, stripes, damage, is_without_key: false, chain })
}

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
