//! Drives a device with a pattern.

use std::ops::Range;

use iostall_model::flash::FlashSettings;

use crate::counts::Counts;
use crate::error::FlashError;
use crate::ftl::Ftl;
use crate::pattern::Pages;
use crate::random::threshold;

/// Pages that are drawn and written at a time: enough to overlap waiting for memory, few enough to stay in the nearest cache.
const BATCH: usize = 64;

/// A device, and what writes to it.
#[derive(Debug)]
pub struct Simulation {
    ftl: Ftl,
    pages: Pages,
    /// Random bits below this are trims.
    trim_below: u64,
}

impl Simulation {
    /// An empty device. `sequence` are the pages of a sequence of writes, and empty for any other pattern.
    pub fn new(settings: &FlashSettings, sequence: &[u32]) -> Result<Self, FlashError> {
        let share = settings.trim_share;
        if !(0.0..0.5).contains(&share) {
            return Err(FlashError::TrimShare { share });
        }
        Ok(Self {
            pages: Pages::new(&settings.pattern, settings.user_pages, settings.seed, sequence)?,
            ftl: Ftl::new(settings)?,
            trim_below: threshold(share),
        })
    }

    /// The device.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The device, to change it.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        &mut self.ftl
    }

    /// Writes `pages` in order.
    pub fn fill(&mut self, pages: Range<u32>) -> Result<(), FlashError> {
        for page in pages {
            self.ftl.write(page)?;
        }
        Ok(())
    }

    /// Makes `requests` of the pattern, and returns what they caused.
    pub fn run(&mut self, requests: u64) -> Result<Counts, FlashError> {
        let before = self.ftl.counts();
        let mut left = requests;
        let mut batch = [0u32; BATCH];
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
            let pages = &mut batch[..count];
            self.pages.draw(pages);
            if self.trim_below == 0 {
                self.ftl.write_all(pages)?;
            } else {
                self.write_or_trim(&batch[..count])?;
            }
            left -= count as u64;
        }
        Ok(self.ftl.counts().since(&before))
    }

    fn write_or_trim(&mut self, batch: &[u32]) -> Result<(), FlashError> {
        for page in batch {
            if self.pages.bits() >= self.trim_below {
                self.ftl.write(*page)?;
            } else if self.ftl.live_pages() > 0 {
                let live = std::iter::repeat_with(|| self.pages.any()).find(|page| self.ftl.is_live(*page));
                if let Some(page) = live {
                    self.ftl.trim(page);
                }
            }
        }
        Ok(())
    }
}
