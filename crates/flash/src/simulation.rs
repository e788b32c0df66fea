//! Drives a device with a pattern.

use std::ops::Range;

use iostall_model::flash::FlashSettings;

use crate::cache::SlcCache;
use crate::care::Care;
use crate::counts::Counts;
use crate::error::FlashError;
use crate::ftl::Ftl;
use crate::pattern::Pages;
use crate::random::{Stream, threshold};

/// Pages that are drawn and written at a time: enough to overlap waiting for memory, few enough to stay in the nearest cache.
const BATCH: usize = 64;

#[derive(Debug)]
pub struct Simulation {
    ftl: Ftl,
    pages: Pages,
    /// Random bits below this are trims.
    trim_below: u64,
    care: Option<Care>,
    cache: Option<SlcCache>,
    /// What the host wrote to the cache, and trimmed.
    cached: Counts,
    reads_per_write: f64,
    /// Reads that are due, as a sum of parts.
    reads_due: f64,
    /// Which pages are read.
    reads: Stream,
}

impl Simulation {
    /// An empty device. `sequence` are the pages of a sequence of writes, and empty for any other pattern.
    pub fn new(settings: &FlashSettings, sequence: &[u32]) -> Result<Self, FlashError> {
        let share = settings.trim_share;
        if !(0.0..0.5).contains(&share) {
            return Err(FlashError::TrimShare { share });
        }
        let slc_share = settings.care.slc_share;
        if !(0.0..=1.0).contains(&slc_share) {
            return Err(FlashError::Care {
                why: "a cache of cells with one bit has 0 to 100 % of the user area",
            });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
        let slc_pages = (f64::from(settings.user_pages) * slc_share) as u32;
        let ftl = Ftl::new(settings)?;
        Ok(Self {
            pages: Pages::new(&settings.pattern, settings.user_pages, settings.seed, sequence)?,
            trim_below: threshold(share),
            care: Care::of(settings, &ftl)?,
            ftl,
            cache: (slc_share > 0.0).then(|| SlcCache::new(slc_pages, settings.user_pages)),
            cached: Counts::default(),
            reads_per_write: settings.care.reads_per_write,
            reads_due: 0.0,
            reads: Stream::of_seed(settings.seed ^ 0x5eed_f1a5_0000_0003),
        })
    }

    /// The blocks, behind the cache if there is one.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// What the device did so far, with its cache.
    pub fn counts(&self) -> Counts {
        let blocks = self.ftl.counts();
        if self.cache.is_none() {
            return blocks;
        }
        let Counts { host_pages, trimmed_pages, .. } = self.cached;
        Counts { host_pages, trimmed_pages, absorbed_pages: host_pages - blocks.host_pages, ..blocks }
    }

    /// Memory of the device, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.ftl.memory_bytes() + self.cache.as_ref().map_or(0, SlcCache::memory_bytes)
    }

    pub fn fill(&mut self, pages: Range<u32>) -> Result<(), FlashError> {
        for page in pages {
            self.write(page)?;
        }
        Ok(())
    }

    /// Makes `requests` of the pattern, and returns what they caused.
    pub fn run(&mut self, requests: u64) -> Result<Counts, FlashError> {
        let before = self.counts();
        let mut left = requests;
        let mut batch = [0u32; BATCH];
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
            let pages = &mut batch[..count];
            self.pages.draw(pages);
            if self.trim_below == 0 && self.cache.is_none() {
                self.ftl.write_all(pages)?;
            } else {
                self.write_or_trim(&batch[..count])?;
            }
            self.look_after(count as u64)?;
            left -= count as u64;
        }
        Ok(self.counts().since(&before))
    }

    pub(crate) fn is_live(&self, page: u32) -> bool {
        self.ftl.is_live(page) || self.cache.as_ref().is_some_and(|cache| cache.has(page))
    }

    fn write(&mut self, page: u32) -> Result<(), FlashError> {
        let Some(cache) = &mut self.cache else { return self.ftl.write(page) };
        self.cached.host_pages += 1;
        cache.write(page, &mut self.ftl)
    }

    fn trim(&mut self, page: u32) {
        match &mut self.cache {
            None => self.ftl.trim(page),
            Some(cache) => {
                let was_live = cache.forget(page) | self.ftl.forget(page);
                self.cached.trimmed_pages += u64::from(was_live);
            }
        }
    }

    fn write_or_trim(&mut self, batch: &[u32]) -> Result<(), FlashError> {
        for page in batch {
            if self.trim_below == 0 || self.pages.bits() >= self.trim_below {
                self.write(*page)?;
            } else if self.ftl.live_pages() + self.cache.as_ref().map_or(0, SlcCache::used) > 0 {
                let mut page = self.pages.any();
                while !self.is_live(page) {
                    page = self.pages.any();
                }
                self.trim(page);
            }
        }
        Ok(())
    }

    /// Reads beside the writes, and what the device does on its own.
    fn look_after(&mut self, writes: u64) -> Result<(), FlashError> {
        let Some(care) = &mut self.care else { return Ok(()) };
        care.after_writes(&mut self.ftl, writes)?;
        self.reads_due += writes as f64 * self.reads_per_write;
        while self.reads_due >= 1.0 {
            self.reads_due -= 1.0;
            // What is in the cache has no page behind it.
            let page = self.reads.below(self.ftl.user_pages());
            care.after_read(&mut self.ftl, page)?;
        }
        Ok(())
    }
}
