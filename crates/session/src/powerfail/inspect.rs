//! Compares what is on the target with what was acknowledged.

use std::collections::BTreeMap;
use std::io;

use iostall_model::powerfail::{Acknowledged, Cut, Found, LOST_NAMED, LostWrite};

use super::block::{SECTOR_BYTES, checksum, sequence_of};
use super::log::Logged;
use super::protocol::run_number;

#[derive(Clone, Copy, Debug)]
struct Newest {
    write: Acknowledged,
    flush: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    found: Option<Found>,
    /// The oldest write that a sector of it belongs to, if they are all of this run.
    oldest: Option<u64>,
    /// The largest size of pieces, if it is torn, bytes.
    torn_bytes: Option<u32>,
}

/// Looks at every block with an acknowledged write. `read` fills a buffer from a byte of the target.
pub(super) fn inspect(logged: &Logged, read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>) -> Cut {
    let newest = newest_of(logged);
    let last_flush = logged.flushes.len() as u64;
    let mut cut = Cut {
        run: logged.run.clone(),
        acknowledged_writes: logged.flushes.iter().map(|flush| flush.len() as u64).sum(),
        acknowledged_flushes: last_flush,
        blocks_checked: newest.len() as u64,
        is_ended: logged.is_ended,
        lost_writes: 0,
        stale_writes: 0,
        lost: Vec::new(),
        last_flush: (0, 0),
        reordered: None,
        torn_blocks: 0,
        torn_bytes: None,
    };
    let number = run_number(&logged.run.run).unwrap_or(0);
    let mut block = vec![0; logged.run.block_bytes as usize];
    let mut lost = Vec::new();
    // The newest flush of which something is there.
    let mut survivor = 0;
    for Newest { write, flush } in newest.into_values() {
        let held = match read(write.offset, &mut block) {
            Ok(()) => held(&block, &write, number),
            Err(_) => Held { found: Some(Found::Unreadable), oldest: None, torn_bytes: None },
        };
        if let Some(bytes) = held.torn_bytes {
            cut.torn_blocks += 1;
            cut.torn_bytes = Some(cut.torn_bytes.map_or(bytes, |before| before.min(bytes)));
        }
        if let Some(found) = held.found {
            lost.push(LostWrite { sequence: write.sequence, offset: write.offset, flush, found });
        } else {
            // A newer write than those that were acknowledged came after the last flush.
            let is_newer = held.oldest.is_some_and(|oldest| oldest > cut.acknowledged_writes);
            survivor = survivor.max(if is_newer { last_flush + 1 } else { flush });
        }
        if flush == last_flush {
            let (kept, gone) = &mut cut.last_flush;
            if held.found.is_none() { *kept += 1 } else { *gone += 1 }
        }
    }
    lost.sort_unstable_by_key(|lost| lost.sequence);
    cut.lost_writes = lost.len() as u64;
    cut.stale_writes = lost.iter().filter(|lost| matches!(lost.found, Found::Stale { .. })).count() as u64;
    let first = lost.first().map(|lost| lost.flush);
    cut.reordered = first.filter(|first| survivor > *first).map(|first| (first, survivor));
    lost.truncate(LOST_NAMED);
    cut.lost = lost;
    cut
}

fn newest_of(logged: &Logged) -> BTreeMap<u64, Newest> {
    let mut newest = BTreeMap::new();
    for (writes, flush) in logged.flushes.iter().zip(1_u64..) {
        for write in writes {
            newest.insert(write.offset, Newest { write: *write, flush });
        }
    }
    newest
}

fn held(block: &[u8], write: &Acknowledged, number: u64) -> Held {
    let sectors: Vec<Option<u64>> = block
        .chunks(SECTOR_BYTES)
        .zip((write.offset..).step_by(SECTOR_BYTES))
        .map(|(sector, at)| sequence_of(sector, at, number))
        .collect();
    let first = sectors.first().copied().flatten();
    let oldest = sectors.iter().copied().min().flatten();
    if sectors.iter().all(|sector| *sector == first) {
        let found = match first {
            None => Some(Found::Missing),
            Some(sequence) if sequence < write.sequence => Some(Found::Stale { sequence }),
            // The sectors are whole, and so is the block, unless the checksum was of something else.
            Some(sequence) if sequence == write.sequence && checksum(block) != write.checksum => {
                Some(Found::Torn)
            }
            Some(_) => None,
        };
        return Held { found, oldest, torn_bytes: None };
    }
    let is_lost = oldest.is_none_or(|oldest| oldest < write.sequence);
    Held { found: is_lost.then_some(Found::Torn), oldest, torn_bytes: Some(pieces_of(&sectors)) }
}

/// The largest power of two of bytes at whose multiples alone `sectors` change.
fn pieces_of(sectors: &[Option<u64>]) -> u32 {
    let ends = (1..sectors.len()).filter(|index| sectors[*index] != sectors[*index - 1]);
    let zeros = ends.map(usize::trailing_zeros).min().unwrap_or(0);
    u32::try_from(SECTOR_BYTES << zeros).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::block::fill;
    use super::super::protocol::tests::run;
    use super::*;
    use iostall_model::powerfail::Finding;

    const BLOCK: usize = 4096;

    /// A target of eight blocks, and what was acknowledged of it.
    struct Bench {
        bytes: Vec<u8>,
        logged: Logged,
        sequence: u64,
    }

    impl Bench {
        fn new() -> Self {
            let logged = Logged { run: run(), flushes: Vec::new(), is_ended: false };
            Self { bytes: vec![0; 9 * BLOCK], logged, sequence: 0 }
        }

        fn content(&mut self, block: usize) -> Vec<u8> {
            self.sequence += 1;
            let mut content = vec![0; BLOCK];
            fill(&mut content, ((block + 1) * BLOCK) as u64, self.sequence, 0xff);
            content
        }

        /// Writes `blocks` and acknowledges them; only those of `kept` get onto the medium.
        fn flush(&mut self, blocks: &[usize], kept: &[usize]) {
            let mut writes = Vec::new();
            for block in blocks {
                let content = self.content(*block);
                let from = (block + 1) * BLOCK;
                writes.push(Acknowledged {
                    sequence: self.sequence,
                    offset: from as u64,
                    checksum: checksum(&content),
                });
                if kept.contains(block) {
                    self.bytes[from..from + BLOCK].copy_from_slice(&content);
                }
            }
            self.logged.flushes.push(writes);
        }

        fn cut(&self) -> Cut {
            inspect(&self.logged, &mut |offset, buffer| {
                let from = usize::try_from(offset).unwrap();
                buffer.copy_from_slice(&self.bytes[from..from + buffer.len()]);
                Ok(())
            })
        }
    }

    #[test]
    fn what_was_flushed_and_is_there_accuses_nobody() {
        let mut bench = Bench::new();
        bench.flush(&[0, 1], &[0, 1]);
        bench.flush(&[1, 2], &[1, 2]);
        // Written and not acknowledged: there, gone, or older content.
        let content = bench.content(0);
        bench.bytes[BLOCK..2 * BLOCK].copy_from_slice(&content);
        assert_eq!(bench.cut().findings(), []);
        assert_eq!(bench.cut().blocks_checked, 3);
    }

    #[test]
    fn losses_are_named() {
        let mut bench = Bench::new();
        bench.flush(&[0, 1], &[0, 1]);
        bench.flush(&[1, 2], &[]);
        let cut = bench.cut();
        assert_eq!(cut.findings(), [Finding::Lost, Finding::Stale, Finding::FlushIgnored]);
        assert_eq!(cut.lost[0].found, Found::Stale { sequence: 2 });
        assert_eq!(cut.lost[1].found, Found::Missing);

        let mut bench = Bench::new();
        bench.flush(&[0, 1, 2], &[0, 2]);
        assert_eq!(bench.cut().findings(), [Finding::Lost, Finding::FlushPartial]);

        let mut bench = Bench::new();
        bench.flush(&[0, 1], &[0]);
        bench.flush(&[2, 3], &[2, 3]);
        let cut = bench.cut();
        assert_eq!(cut.findings(), [Finding::Lost, Finding::Reordered]);
        assert_eq!(cut.reordered, Some((1, 2)));
    }

    #[test]
    fn a_torn_write_is_a_loss_only_if_it_was_acknowledged() {
        let mut bench = Bench::new();
        bench.flush(&[0], &[0]);
        let newer = bench.content(0);
        bench.bytes[BLOCK + 1024..BLOCK + 2048].copy_from_slice(&newer[1024..2048]);
        let cut = bench.cut();
        assert_eq!((cut.findings(), cut.torn_bytes), (vec![Finding::Torn], Some(1024)));
        bench.bytes[BLOCK + 512] ^= 1;
        let cut = bench.cut();
        assert_eq!(cut.findings(), [Finding::Lost, Finding::FlushIgnored, Finding::Torn]);
        assert_eq!((cut.lost[0].found, cut.torn_bytes), (Found::Torn, Some(512)));
    }

    #[test]
    fn what_cannot_be_read_is_lost() {
        let mut bench = Bench::new();
        bench.flush(&[0], &[0]);
        let cut = inspect(&bench.logged, &mut |_, _| Err(io::ErrorKind::Other.into()));
        assert_eq!(cut.lost[0].found, Found::Unreadable);
    }
}
