//! A cache of cells with one bit, which takes all writes first.

use crate::error::FlashError;
use crate::ftl::{Ftl, UNMAPPED};
use crate::number::index;

/// A ring of pages. What comes round and is still valid goes to the blocks behind it; what was written again or trimmed before never
/// does.
#[derive(Debug)]
pub(crate) struct SlcCache {
    ring: Vec<u32>,
    next: usize,
    /// By logical page: its place in the ring, if it is there.
    places: Vec<u32>,
    used: u32,
}

impl SlcCache {
    /// A cache of `pages`, at least one, for a device of `user_pages`.
    pub(crate) fn new(pages: u32, user_pages: u32) -> Self {
        let ring = vec![UNMAPPED; index(pages.max(1))];
        Self { ring, next: 0, places: vec![UNMAPPED; index(user_pages)], used: 0 }
    }

    pub(crate) fn has(&self, logical: u32) -> bool {
        self.places[index(logical)] != UNMAPPED
    }

    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// The host writes `logical`. What the device has of it is old from now on.
    pub(crate) fn write(&mut self, logical: u32, ftl: &mut Ftl) -> Result<(), FlashError> {
        self.forget(logical);
        ftl.forget(logical);
        let leaving = std::mem::replace(&mut self.ring[self.next], logical);
        if leaving != UNMAPPED {
            self.places[index(leaving)] = UNMAPPED;
            self.used -= 1;
            ftl.write(leaving)?;
        }
        self.places[index(logical)] = u32::try_from(self.next).unwrap_or(UNMAPPED);
        self.used += 1;
        self.next = (self.next + 1) % self.ring.len();
        Ok(())
    }

    /// What it holds of `logical` is no longer needed. `false` if there is nothing.
    pub(crate) fn forget(&mut self, logical: u32) -> bool {
        let place = std::mem::replace(&mut self.places[index(logical)], UNMAPPED);
        if place == UNMAPPED {
            return false;
        }
        self.ring[index(place)] = UNMAPPED;
        self.used -= 1;
        true
    }

    /// Memory of the arrays, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.ring.len() + self.places.len()) as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::flash::{FlashCare, FlashSettings};
    use proptest::prelude::*;

    use super::SlcCache;
    use crate::tests::{assert_near, settings};
    use crate::{Ftl, Simulation, theory};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

        /// A burst of other pages than the cache holds: all up to its size stay, and of the rest each pushes one out.
        #[test]
        fn a_burst_is_absorbed_up_to_the_size_of_the_cache_and_no_more(size in 1u32..500, burst in 1u32..1500) {
            let settings = settings(1.2, 16, 150);
            let mut ftl = Ftl::new(&settings).unwrap();
            let mut cache = SlcCache::new(size, settings.user_pages);
            for page in 0..burst {
                cache.write(page, &mut ftl).unwrap();
            }
            prop_assert_eq!(ftl.counts().host_pages, u64::from(burst.saturating_sub(size)));
            prop_assert_eq!(cache.used(), burst.min(size));
            // One page again and again pushes out all others, and never leaves.
            let (before, others) = (ftl.counts().host_pages, burst.min(size) - u32::from(cache.has(0)));
            for _ in 0..size * 2 {
                cache.write(0, &mut ftl).unwrap();
            }
            prop_assert_eq!(ftl.counts().host_pages - before, u64::from(others));
        }
    }

    #[test]
    fn a_cache_absorbs_what_is_written_again_before_it_leaves_as_its_formula_says() {
        for (alpha, slc_share) in [(1.12, 0.05), (1.12, 0.25), (1.28, 0.5)] {
            let care = FlashCare { slc_share, ..FlashCare::default() };
            let settings = FlashSettings { care, ..settings(alpha, 64, 1000) };
            let mut simulation = Simulation::new(&settings, &[]).unwrap();
            simulation.fill(0..settings.user_pages).unwrap();
            simulation.run(u64::from(settings.user_pages) * 8).unwrap();
            let counts = simulation.run(u64::from(settings.user_pages) * 8).unwrap();
            let share = 1.0 - counts.absorbed_pages as f64 / counts.host_pages as f64;
            assert_near(share, (-slc_share).exp(), 0.01, "share that leaves");
            let formula = theory::cached(slc_share, alpha, |alpha| theory::greedy(alpha, 64));
            assert_near(counts.write_amplification().unwrap(), formula, 0.015, "amplification");
        }
    }
}
