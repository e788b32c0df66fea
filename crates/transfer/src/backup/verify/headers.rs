//! What headers, indexes and ends of stripes say without the content.

use super::stage::Verified;
use crate::backup::format::{FrameKind, IndexRecord};
use crate::backup::read::{Fault, OpenSet, OpenStripe};
use crate::progress::Progress;

/// The frames of each stripe. Where the index is damaged, they are found by their headers; with `reads_all`, so they are in any
/// file, and compared with the index.
pub(super) fn check_headers(
    set: &OpenSet,
    reads_all: bool,
    progress: &Progress,
    found: &mut Verified,
) -> Vec<Vec<IndexRecord>> {
    let of_stripe = |open: &OpenStripe| {
        // In a store every header would be a request. The end names the index, and the manifest names the end.
        let checks_index = open.index.is_some() && (!reads_all || open.stripe.is_in_store());
        if !checks_index {
            return walk(open, set.is_without_key, progress, found);
        }
        if reads_all {
            found.good_frames += open.records().len() as u64;
            found.stored_bytes += open.stripe.header.bytes();
        }
        open.records().to_vec()
    };
    set.stripes.iter().map(of_stripe).collect()
}

/// Without the key index and end are frames like all others: that there is an end, and nothing after it, is all they say.
fn walk(open: &OpenStripe, without_key: bool, progress: &Progress, found: &mut Verified) -> Vec<IndexRecord> {
    let stripe = &open.stripe;
    let until = open.end.map_or(stripe.bytes, |end| end.position);
    let walked = stripe.walk(until, || !progress.is_cancelled());
    found.damage.extend(walked.faults.iter().map(|fault| stripe.damage(fault.clone())));
    if without_key && !progress.is_cancelled() {
        let ends = |record: &IndexRecord| record.kind == FrameKind::End;
        if !walked.records.last().is_some_and(ends)
            || walked.records.iter().filter(|one| ends(one)).count() > 1
        {
            let message = "the stripe has no end: it was not completed, or is cut off";
            found.damage.push(stripe.damage(Fault::new(stripe.bytes, &message)));
        }
        found.good_frames += walked.records.len() as u64;
        found.stored_bytes += stripe.header.bytes();
        return walked.records;
    }
    let is_content = |record: &IndexRecord| !matches!(record.kind, FrameKind::Index | FrameKind::End);
    let records: Vec<_> = walked.records.into_iter().filter(is_content).collect();
    let Some(end) = open.end.filter(|_| !progress.is_cancelled()) else { return records };
    if walked.headers_hash.is_some_and(|hash| hash != end.headers_hash) {
        let message = "the headers of the stripe are not those that its end names";
        found.damage.push(stripe.damage(Fault::new(end.position, &message)));
    }
    if walked.faults.is_empty() && open.index.is_some() && open.records() != records {
        let message = "the index of the stripe does not name the frames that stand in it";
        found.damage.push(stripe.damage(Fault::new(end.index_position, &message)));
    }
    found.good_frames += records.len() as u64;
    found.stored_bytes += stripe.header.bytes();
    records
}
