//! The flash translation layer: where each page is, and how blocks become free again.
//!
//! Everything is in flat arrays that are allocated at the start, 8 bytes for each page. A page is valid exactly if its entry in
//! `logical_of` is not `UNMAPPED`, so that collecting a block reads one run of memory.

use iostall_model::flash::{FlashSettings, Separation, WritePattern};

use crate::collector::Ring;
use crate::counts::Counts;
use crate::error::FlashError;
use crate::number::{Divider, count, index};
use crate::pools::Pools;
use crate::random::Stream;

/// A logical page that is nowhere, a physical page that holds nothing valid.
pub(crate) const UNMAPPED: u32 = u32::MAX;

/// Collections in a row that free no page, for each block, after which the device is taken for full.
const FRUITLESS_MAX: u32 = 64;

/// Among so many free blocks at most, the one with the fewest erases is filled next.
const FREE_COMPARED_MAX: usize = 64;

/// The part of a block that is written next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frontier {
    /// The block; [`UNMAPPED`] before the first.
    pub(crate) block: u32,
    next: u32,
    end: u32,
}

/// A choice of the device.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Opened(u32),
    Collected(u32),
}

#[derive(Debug)]
pub struct Ftl {
    pub(crate) pages_per_block: u32,
    pub(crate) block_of: Divider,
    /// By logical page.
    pub(crate) physical_of: Vec<u32>,
    /// By physical page.
    pub(crate) logical_of: Vec<u32>,
    /// By block. One that is being filled counts its unwritten pages as valid.
    pub(crate) valid: Vec<u16>,
    /// By block.
    pub(crate) erases: Vec<u32>,
    /// By block: whether the collector has it.
    pub(crate) is_full: Vec<bool>,
    /// By block: the time at which it was begun.
    pub(crate) begun_at: Vec<u64>,
    /// By block: reads since it was erased. Empty if nobody counts them.
    pub(crate) reads: Vec<u32>,
    /// Pages that the host had written when somebody last looked; 0 if nobody does.
    pub(crate) now: u64,
    pub(crate) bad_blocks: u32,
    pub(crate) collector: Pools,
    pub(crate) free: Ring,
    pub(crate) reserve: usize,
    /// Free blocks that an idle device makes, at most.
    ahead: usize,
    pub(crate) frontiers: Vec<Frontier>,
    separation: Separation,
    /// The first logical page of each class but the first.
    class_starts: Vec<u32>,
    /// The valid pages of the block that is being collected.
    pub(crate) moving: Vec<u32>,
    pub(crate) rng: Stream,
    pub(crate) counts: Counts,
    live_pages: u32,
    /// What was chosen, for tests.
    #[cfg(test)]
    pub(crate) events: Vec<Event>,
}

impl Ftl {
    /// A device on which nothing is written.
    pub fn new(settings: &FlashSettings) -> Result<Self, FlashError> {
        let pages_per_block = settings.pages_per_block;
        let class_starts = class_starts(settings);
        let streams = match settings.separation {
            Separation::None => 1,
            Separation::Moved => 2,
            Separation::Classes => count(class_starts.len()) + 1,
        };
        // Moving a block may open one in each stream that it moves to, before it is free itself.
        let reserve = if settings.separation == Separation::Classes { streams + 1 } else { 2 };
        let blocks = blocks_of(settings, reserve + streams)?;
        let pages = index(blocks) * index(pages_per_block);
        let mut free = Ring::new(blocks);
        (0..blocks).for_each(|block| free.push(block));
        Ok(Self {
            pages_per_block,
            block_of: Divider::by(pages_per_block),
            physical_of: vec![UNMAPPED; index(settings.user_pages)],
            logical_of: vec![UNMAPPED; pages],
            valid: vec![0; index(blocks)],
            erases: vec![0; index(blocks)],
            is_full: vec![false; index(blocks)],
            begun_at: vec![0; index(blocks)],
            reads: if settings.care.reads_max.is_some() { vec![0; index(blocks)] } else { Vec::new() },
            now: 0,
            bad_blocks: 0,
            collector: Pools::new(settings, blocks, reserve + streams),
            free,
            reserve: index(reserve),
            ahead: index(reserve)
                + (index(blocks - settings.user_pages.div_ceil(pages_per_block)) / 8).max(1),
            frontiers: vec![Frontier { block: UNMAPPED, next: 0, end: 0 }; index(streams)],
            separation: settings.separation,
            class_starts,
            moving: Vec::with_capacity(index(pages_per_block)),
            rng: Stream::of_seed(settings.seed ^ 0x5eed_f1a5_0000_0001),
            counts: Counts::default(),
            live_pages: 0,
            #[cfg(test)]
            events: Vec::new(),
        })
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Pages that the host can address.
    pub fn user_pages(&self) -> u32 {
        count(self.physical_of.len())
    }

    /// Pages that hold data of the host.
    pub fn live_pages(&self) -> u32 {
        self.live_pages
    }

    /// How often each block was erased.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Whether the host's page `logical` holds data.
    pub fn is_live(&self, logical: u32) -> bool {
        self.physical_of[index(logical)] != UNMAPPED
    }

    /// Memory of the arrays, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let pages = self.physical_of.len() + self.logical_of.len();
        // Valid pages, erases, its age, whether it is full, the place of a block and its entry in one or two lists.
        (pages * 4 + self.valid.len() * (2 + 4 + 8 + 1 + 4 + 4 + 4) + self.reads.len() * 4) as u64
    }

    /// The host writes the pages `logical`, one after the other.
    pub fn write_all(&mut self, logical: &[u32]) -> Result<(), FlashError> {
        // What the pages need from memory is read ahead, all at once: the reads do not depend on each other, so the processor waits
        // once for all of them. A page that is moved in between was read in vain, which is rare.
        let mut touched = 0u32;
        for page in logical {
            touched ^= self.physical_of[index(*page)];
        }
        for page in logical {
            let physical = self.physical_of[index(*page)];
            touched ^= self.logical_of.get(index(physical)).copied().unwrap_or(0);
        }
        std::hint::black_box(touched);
        for page in logical {
            self.write(*page)?;
        }
        Ok(())
    }

    /// The host writes page `logical`.
    #[inline]
    pub fn write(&mut self, logical: u32) -> Result<(), FlashError> {
        self.invalidate(logical);
        let stream = self.stream_of_host(logical);
        if self.frontiers[stream].next == self.frontiers[stream].end {
            self.advance(stream)?;
        }
        self.program(stream, logical);
        self.counts.host_pages += 1;
        self.live_pages += 1;
        Ok(())
    }

    /// The host trims page `logical`.
    pub fn trim(&mut self, logical: u32) {
        self.counts.trimmed_pages += u64::from(self.forget(logical));
    }

    /// What is stored of page `logical` is no longer needed. `false` if there is nothing.
    pub(crate) fn forget(&mut self, logical: u32) -> bool {
        let is_live = self.is_live(logical);
        if is_live {
            self.invalidate(logical);
            self.physical_of[index(logical)] = UNMAPPED;
        }
        is_live
    }

    /// What is stored of `logical` is no longer valid.
    #[inline]
    fn invalidate(&mut self, logical: u32) {
        let physical = self.physical_of[index(logical)];
        if physical == UNMAPPED {
            return;
        }
        self.logical_of[index(physical)] = UNMAPPED;
        let block = self.block_of.quotient(physical);
        let valid = &mut self.valid[index(block)];
        let before = u32::from(*valid);
        *valid -= 1;
        self.collector.decrement(block, before);
        self.live_pages -= 1;
    }

    #[inline]
    fn stream_of_host(&self, logical: u32) -> usize {
        match self.separation {
            Separation::None | Separation::Moved => 0,
            Separation::Classes => self.class_of(logical),
        }
    }

    #[inline]
    fn class_of(&self, logical: u32) -> usize {
        self.class_starts.iter().take_while(|start| logical >= **start).count()
    }

    /// Writes to a block with room.
    #[inline]
    fn program(&mut self, stream: usize, logical: u32) {
        let frontier = &mut self.frontiers[stream];
        let physical = frontier.next;
        frontier.next += 1;
        self.logical_of[index(physical)] = logical;
        self.physical_of[index(logical)] = physical;
    }

    /// Makes room in `stream`, whose block is full. Collects only if free blocks are down to the reserve.
    #[cold]
    fn advance(&mut self, stream: usize) -> Result<(), FlashError> {
        // Those of other streams, too: they may hold the only pages that are not valid.
        for full in 0..self.frontiers.len() {
            if self.frontiers[full].next == self.frontiers[full].end {
                self.seal(full);
            }
        }
        let fruitless_max = FRUITLESS_MAX.saturating_mul(count(self.valid.len()));
        let mut fruitless = 0;
        loop {
            // Collection may have left room, but must also have given back what it took from the reserve.
            let has_room = self.frontiers[stream].next < self.frontiers[stream].end;
            if has_room && self.free.len() >= self.reserve {
                return Ok(());
            }
            if !has_room && self.free.len() > self.reserve {
                return self.open(stream);
            }
            let valid = self.collect()?;
            fruitless = if valid == self.pages_per_block { fruitless + 1 } else { 0 };
            if fruitless > fruitless_max {
                return Err(FlashError::Full);
            }
        }
    }

    /// Hands a full block to the collector.
    pub(crate) fn seal(&mut self, stream: usize) {
        let block = std::mem::replace(&mut self.frontiers[stream].block, UNMAPPED);
        if block != UNMAPPED {
            self.is_full[index(block)] = true;
            self.collector.insert(block, u32::from(self.valid[index(block)]), stream);
        }
    }

    /// Begins to fill a free block, after one that is full.
    fn open(&mut self, stream: usize) -> Result<(), FlashError> {
        self.seal(stream);
        let block = if self.free.len() <= FREE_COMPARED_MAX {
            self.free.pop_min_by_key(|block| self.erases[index(block)])
        } else {
            self.free.pop()
        };
        let block = block.ok_or(FlashError::Full)?;
        #[cfg(test)]
        self.events.push(Event::Opened(block));
        self.begun_at[index(block)] = self.now;
        let next = block * self.pages_per_block;
        self.frontiers[stream] = Frontier { block, next, end: next + self.pages_per_block };
        // As many as there will be, less those that become invalid before.
        self.valid[index(block)] = u16::try_from(self.pages_per_block).unwrap_or(u16::MAX);
        Ok(())
    }

    /// Collects a block although none is needed yet. `false` if enough are free, or nothing would be gained.
    pub fn collect_ahead(&mut self) -> bool {
        if self.free.len() >= self.ahead {
            return false;
        }
        self.collect().is_ok_and(|valid| valid < self.pages_per_block)
    }

    /// Moves what is valid in the collector's next block, and erases it. Returns how many pages it moved.
    pub(crate) fn collect(&mut self) -> Result<u32, FlashError> {
        let block = self.collector.take(&self.valid, &mut self.rng).ok_or(FlashError::Full)?;
        #[cfg(test)]
        self.events.push(Event::Collected(block));
        let moved = self.empty(block)?;
        self.counts.moved_pages += u64::from(moved);
        Ok(moved)
    }

    /// Moves what is valid in `block`, which the collector no longer has, and erases it.
    pub(crate) fn empty(&mut self, block: u32) -> Result<u32, FlashError> {
        let first = index(block) * index(self.pages_per_block);
        let pages = &mut self.logical_of[first..first + index(self.pages_per_block)];
        self.moving.clear();
        self.moving.extend(pages.iter().copied().filter(|logical| *logical != UNMAPPED));
        pages.fill(UNMAPPED);
        let moved = count(self.moving.len());
        match self.separation {
            Separation::None => self.move_all(0)?,
            Separation::Moved => self.move_all(1)?,
            Separation::Classes => self.move_by_class()?,
        }
        self.valid[index(block)] = 0;
        self.is_full[index(block)] = false;
        if let Some(reads) = self.reads.get_mut(index(block)) {
            *reads = 0;
        }
        self.erases[index(block)] += 1;
        self.counts.erased_blocks += 1;
        self.free.push(block);
        Ok(moved)
    }

    /// Writes `moving` to `stream`, a run of pages at a time.
    fn move_all(&mut self, stream: usize) -> Result<(), FlashError> {
        let mut done = 0;
        while done < self.moving.len() {
            if self.frontiers[stream].next == self.frontiers[stream].end {
                self.open(stream)?;
            }
            let frontier = &mut self.frontiers[stream];
            let room = index(frontier.end - frontier.next);
            let run = &self.moving[done..self.moving.len().min(done + room)];
            let first = index(frontier.next);
            self.logical_of[first..first + run.len()].copy_from_slice(run);
            for logical in run {
                self.physical_of[index(*logical)] = frontier.next;
                frontier.next += 1;
            }
            done += run.len();
        }
        Ok(())
    }

    fn move_by_class(&mut self) -> Result<(), FlashError> {
        for at in 0..self.moving.len() {
            let logical = self.moving[at];
            let stream = self.class_of(logical);
            if self.frontiers[stream].next == self.frontiers[stream].end {
                self.open(stream)?;
            }
            self.program(stream, logical);
        }
        Ok(())
    }
}

/// Physical blocks: those of alpha, rounded up, and `others`.
fn blocks_of(settings: &FlashSettings, others: u32) -> Result<u32, FlashError> {
    /// Valid pages of a block are counted in 16 bits.
    const BLOCK_PAGES_MAX: u32 = 1 << 15;
    let FlashSettings { user_pages, pages_per_block, alpha, .. } = *settings;
    if user_pages == 0 || !(1..=BLOCK_PAGES_MAX).contains(&pages_per_block) {
        return Err(FlashError::Geometry { user_pages, pages_per_block });
    }
    if !(alpha > 1.0 && alpha <= 100.0) {
        return Err(FlashError::Alpha { alpha });
    }
    let alpha = settings.good_alpha();
    if alpha <= 1.0 {
        return Err(FlashError::Alpha { alpha });
    }
    let blocks = (f64::from(user_pages) * alpha / f64::from(pages_per_block)).round();
    let user_blocks = user_pages.div_ceil(pages_per_block);
    let all = blocks.max(f64::from(user_blocks) + 1.0) + f64::from(others);
    if all * f64::from(pages_per_block) >= f64::from(u32::MAX) {
        return Err(FlashError::TooLarge { user_pages: user_pages.into(), alpha });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just checked")]
    Ok(all as u32)
}

/// Where each class but the first starts.
fn class_starts(settings: &FlashSettings) -> Vec<u32> {
    let WritePattern::Classes(classes) = &settings.pattern else { return Vec::new() };
    let mut starts = crate::pattern::starts(classes, settings.user_pages);
    starts.remove(0);
    starts
}
