//! What the digests of a set say.

use super::damage::Damage;
use super::error::ReadError;
use super::set::{OpenSet, OpenStripe};
use super::stripe::Fault;
use crate::backup::codec::Decoder;
use crate::backup::format::{FrameKind, IndexRecord, PieceRecord, pieces_of};

/// All pieces of all files of `set`, by file and offset. None if it was made before sets had digests.
pub(crate) fn pieces(set: &OpenSet) -> Result<Vec<PieceRecord>, ReadError> {
    let mut decoder = Decoder::new(set.manifest.set, set.keys.as_ref())?;
    let mut all = Vec::new();
    for open in &set.stripes {
        let is_wanted = |record: &&IndexRecord| record.kind == FrameKind::Digests;
        for record in open.records().iter().filter(is_wanted) {
            let found = of_frame(open, record, &mut decoder);
            all.extend(found.map_err(|fault| ReadError::Damaged(vec![open.stripe.damage(fault)]))?);
        }
    }
    all.sort_unstable_by_key(|piece| (piece.file, piece.offset));
    let overlap = all.windows(2).find(|pair| {
        pair[0].file == pair[1].file && pair[0].offset + u64::from(pair[0].length) > pair[1].offset
    });
    if let Some(pair) = overlap {
        let message = format!("the digests name two pieces of file {} at one place", pair[1].file);
        return Err(ReadError::Damaged(vec![Damage::of_file(None, &set.manifest_path, message)]));
    }
    Ok(all)
}

fn of_frame(
    open: &OpenStripe,
    record: &IndexRecord,
    decoder: &mut Decoder,
) -> Result<Vec<PieceRecord>, Fault> {
    let stripe = &open.stripe;
    let wrong = |error: &dyn ToString| Fault { offset: record.position, message: error.to_string() };
    let mut frame = stripe.frame(record)?;
    let mut plain = vec![0; stripe.header.frame_bytes as usize];
    let found = decoder.decode(&mut frame, stripe.number(), &mut plain);
    let (header, plain) = found.map_err(|error| wrong(&error))?;
    if !record.is_of(&header) {
        return Err(wrong(&"another frame than the index says stands here"));
    }
    pieces_of(plain).map_err(|error| wrong(&error))
}
