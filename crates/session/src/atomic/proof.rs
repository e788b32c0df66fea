//! What cuts of power showed about torn writes.

use std::path::Path;

use iostall_model::atomic::{PageProof, TornProof};
use iostall_model::powerfail::Cut;

use crate::error::SessionError;
use crate::powerfail::{cuts_of, share_max};

/// The smallest page of a database, bytes.
const PAGE_MIN: u64 = 4096;

pub(super) fn proof(cuts: &Path, target: &Path) -> Result<TornProof, SessionError> {
    let all = cuts_of(cuts)?;
    let (own, others): (Vec<Cut>, Vec<Cut>) =
        all.into_iter().partition(|cut| cut.counts() && is_of(cut, target));
    Ok(shown_by(&own, others.len() as u64))
}

fn is_of(cut: &Cut, target: &Path) -> bool {
    let named = Path::new(&cut.run.target);
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    named == target || (resolved(named).is_some() && resolved(named) == resolved(target))
}

fn shown_by(cuts: &[Cut], other_cuts: u64) -> TornProof {
    let largest = cuts.iter().map(|cut| u64::from(cut.run.block_bytes)).max().unwrap_or(0);
    let sizes = std::iter::successors(Some(PAGE_MIN), |bytes| bytes.checked_mul(2));
    let pages = sizes.take_while(|bytes| *bytes <= largest).map(|bytes| page(cuts, bytes));
    TornProof {
        cuts: cuts.len() as u64,
        other_cuts,
        torn_cuts: cuts.iter().filter(|cut| cut.torn_blocks > 0).count() as u64,
        torn_bytes: cuts.iter().filter_map(|cut| cut.torn_bytes).min(),
        pages: pages.filter(|page| page.cuts > 0).collect(),
    }
}

/// Blocks are aligned to their size, so that each has whole pages of any power of two that divides it.
fn page(cuts: &[Cut], page_bytes: u64) -> PageProof {
    let has_pages = |cut: &&Cut| u64::from(cut.run.block_bytes).is_multiple_of(page_bytes);
    let own = || cuts.iter().filter(has_pages);
    let is_torn = |cut: &&Cut| cut.torn_bytes.is_some_and(|pieces| u64::from(pieces) < page_bytes);
    let (count, torn_cuts) = (own().count() as u64, own().filter(is_torn).count() as u64);
    let torn_share_max = (count > 0 && torn_cuts == 0).then(|| share_max(count));
    PageProof { page_bytes, cuts: count, torn_cuts, torn_share_max }
}

#[cfg(test)]
mod tests {
    use iostall_model::powerfail::{PowerfailRun, Primitive};

    use super::*;

    fn cut(block_bytes: u32, torn_bytes: Option<u32>) -> Cut {
        Cut {
            run: PowerfailRun {
                run: "00000000000000ff".to_owned(),
                primitive: Primitive::Fdatasync,
                block_bytes,
                first_byte: block_bytes.into(),
                blocks: 8,
                target: "t".to_owned(),
                takes_fua: None,
                is_direct: true,
            },
            acknowledged_writes: 9,
            acknowledged_flushes: 3,
            blocks_checked: 8,
            is_ended: false,
            lost_writes: 0,
            stale_writes: 0,
            lost: Vec::new(),
            last_flush: (3, 0),
            reordered: None,
            torn_blocks: torn_bytes.map_or(0, |_| 1),
            torn_bytes,
        }
    }

    #[test]
    fn a_page_is_torn_by_pieces_that_are_smaller_and_by_no_others() {
        let proof = shown_by(&[cut(16_384, Some(4096)), cut(16_384, None), cut(4096, None)], 1);
        let of = |bytes| proof.pages.iter().find(|page| page.page_bytes == bytes).unwrap();
        assert_eq!((of(4096).cuts, of(4096).torn_cuts), (3, 0));
        assert_eq!((of(8192).cuts, of(8192).torn_cuts), (2, 1));
        assert_eq!((of(16_384).cuts, of(16_384).torn_share_max), (2, None));
        assert!(!proof.tore(4096) && proof.tore(8192));
        assert!((of(4096).torn_share_max.unwrap() - (1.0 - 0.05_f64.powf(1.0 / 3.0))).abs() < 1e-9);
        assert_eq!((proof.cuts, proof.torn_cuts, proof.other_cuts, proof.pages.len()), (3, 1, 1, 3));
    }

    #[test]
    fn blocks_that_are_no_power_of_two_and_no_cuts_at_all_prove_what_they_can() {
        let proof = shown_by(&[cut(12_288, Some(512))], 0);
        assert_eq!(proof.pages.len(), 1, "12 KiB have whole pages of 4 KiB only");
        assert_eq!(shown_by(&[], 0).pages, []);
    }
}
