//! What a device does beside collection: it moves data that rests on little-worn blocks, writes anew what is old or much read, and
//! does without blocks that have gone bad.

use iostall_model::flash::FlashSettings;

use crate::error::FlashError;
use crate::ftl::{Ftl, UNMAPPED};
use crate::number::{count, index};
use crate::random::Stream;

#[derive(Debug)]
pub(crate) struct Care {
    wear_gap: Option<u32>,
    /// In pages that the host writes.
    age_max: Option<f64>,
    reads_max: Option<u32>,
    bad_per_erase: f64,
    /// The next block that the patrol looks at.
    patrol: u32,
    /// Blocks that the patrol may look at, as a sum of parts.
    credit: f64,
    /// Erases at which wear is looked at again.
    look_at_erases: u64,
    /// Erases after which the next block is bad.
    bad_at_erases: u64,
    /// Blocks that hold the data, those being filled and the reserve.
    blocks_min: u32,
    rng: Stream,
}

/// The patrol sees each block so often in the time after which a block is old.
const ROUNDS: f64 = 10.0;

impl Care {
    /// `None` if there is nothing to do.
    pub(crate) fn of(settings: &FlashSettings, ftl: &Ftl) -> Result<Option<Self>, FlashError> {
        let care = &settings.care;
        let refuse = |why| Err(FlashError::Care { why });
        if !(0.0..1.0).contains(&care.bad_share) {
            return refuse("the share of bad blocks must be 0 to below 100 %");
        }
        if !(0.0..=1.0).contains(&care.bad_per_erase) {
            return refuse("the share of erases after which a block is bad must be 0 to 100 %");
        }
        if care.refresh_fills.is_some_and(|fills| !(fills.is_finite() && fills > 0.0)) {
            return refuse("a block is written anew after more than 0 fills");
        }
        if !(care.reads_per_write.is_finite() && care.reads_per_write >= 0.0) {
            return refuse("the reads for each write must be a number from 0");
        }
        let has_any = care.wear_gap.is_some()
            || care.refresh_fills.is_some()
            || care.reads_max.is_some()
            || care.bad_per_erase > 0.0;
        if !has_any {
            return Ok(None);
        }
        let user_blocks = settings.user_pages.div_ceil(settings.pages_per_block);
        let mut made = Self {
            wear_gap: care.wear_gap,
            age_max: care.refresh_fills.map(|fills| fills * f64::from(settings.user_pages)),
            reads_max: care.reads_max,
            bad_per_erase: care.bad_per_erase,
            patrol: 0,
            credit: 0.0,
            look_at_erases: 0,
            bad_at_erases: u64::MAX,
            blocks_min: user_blocks + 1 + count(ftl.reserve + ftl.frontiers.len()),
            rng: Stream::of_seed(settings.seed ^ 0x5eed_f1a5_0000_0002),
        };
        made.draw_next_bad(0);
        Ok(Some(made))
    }

    /// The host wrote `pages` more.
    pub(crate) fn after_writes(&mut self, ftl: &mut Ftl, pages: u64) -> Result<(), FlashError> {
        ftl.now += pages;
        while ftl.counts().erased_blocks >= self.bad_at_erases {
            self.draw_next_bad(self.bad_at_erases);
            ftl.retire(self.blocks_min)?;
        }
        self.level_wear(ftl)?;
        let Some(age_max) = self.age_max else { return Ok(()) };
        self.credit += pages as f64 * ftl.erases().len() as f64 * ROUNDS / age_max.max(1.0);
        // More than all blocks need not be looked at.
        self.credit = self.credit.min(ftl.erases().len() as f64);
        while self.credit >= 1.0 {
            self.credit -= 1.0;
            let block = self.patrol;
            self.patrol = (block + 1) % count(ftl.erases().len());
            let age = ftl.now - ftl.begun_at[index(block)];
            if ftl.is_full[index(block)] && age as f64 > age_max {
                ftl.rebuild(block)?;
            }
        }
        Ok(())
    }

    /// The host read a page.
    pub(crate) fn after_read(&mut self, ftl: &mut Ftl, logical: u32) -> Result<(), FlashError> {
        let Some((reads_max, block)) = self.reads_max.zip(ftl.block_of_page(logical)) else { return Ok(()) };
        let reads = &mut ftl.reads[index(block)];
        *reads += 1;
        if *reads > reads_max && ftl.is_full[index(block)] {
            ftl.rebuild(block)?;
        }
        Ok(())
    }

    /// How many erases go well is geometric.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    fn draw_next_bad(&mut self, after: u64) {
        if self.bad_per_erase > 0.0 {
            let rest = (1.0 - self.rng.fraction()).ln() / (-self.bad_per_erase).ln_1p();
            self.bad_at_erases = after.saturating_add(rest as u64).saturating_add(1);
        }
    }

    /// Moves the least worn full blocks, so that they are worn from now on, if the most worn is far ahead of them. Of all erases at
    /// most one in `wear_gap + 1` is spent on that.
    fn level_wear(&mut self, ftl: &mut Ftl) -> Result<(), FlashError> {
        let Some(gap) = self.wear_gap else { return Ok(()) };
        let erased = ftl.counts().erased_blocks;
        if erased < self.look_at_erases {
            return Ok(());
        }
        // A look reads every block, so it is rare enough to cost nothing.
        let interval = (ftl.erases().len() / 64).max(index(gap.saturating_add(1)));
        self.look_at_erases = erased + interval as u64;
        let most = ftl.erases().iter().copied().max().unwrap_or(0);
        let wear = |block: &u32| ftl.erases[index(*block)];
        let full = (0..count(ftl.erases.len())).filter(|block| ftl.is_full[index(*block)]);
        let mut due: Vec<u32> = full.filter(|block| most - wear(block) > gap).collect();
        due.sort_unstable_by_key(wear);
        due.truncate(interval / index(gap.saturating_add(1)));
        for block in due {
            // Making room for another may have collected it.
            if ftl.is_full[index(block)] {
                ftl.rebuild(block)?;
            }
        }
        Ok(())
    }
}

impl Ftl {
    pub fn bad_blocks(&self) -> u32 {
        self.bad_blocks
    }

    fn block_of_page(&self, logical: u32) -> Option<u32> {
        let physical = self.physical_of[index(logical)];
        (physical != UNMAPPED).then(|| self.block_of.quotient(physical))
    }

    /// Moves what is valid in `block`, which is full, although collection would not.
    fn rebuild(&mut self, block: u32) -> Result<(), FlashError> {
        self.collector.remove(block, &self.valid);
        self.counts.refreshed_pages += u64::from(self.empty(block)?);
        self.fill_reserve()
    }

    /// A free block is bad from now on. The device ends once fewer than `blocks_min` are good.
    fn retire(&mut self, blocks_min: u32) -> Result<(), FlashError> {
        let blocks = count(self.valid.len());
        if blocks - self.bad_blocks <= blocks_min {
            return Err(FlashError::WornOut { bad_blocks: self.bad_blocks, blocks });
        }
        self.bad_blocks += u32::from(self.free.pop().is_some());
        self.fill_reserve()
    }

    /// Gives the reserve back what was taken from it between two writes of the host.
    fn fill_reserve(&mut self) -> Result<(), FlashError> {
        // A block that is full of valid pages frees none, so there is an end to it; the next write goes on.
        let mut left = self.valid.len();
        while self.free.len() < self.reserve && left > 0 {
            self.collect()?;
            left -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iostall_model::flash::{FlashCare, FlashSettings, Separation, WriteClass, WritePattern};
    use iostall_model::kinds::FlashWear;
    use proptest::prelude::*;

    use crate::tests::{assert_near, settings, steady};
    use crate::{FlashError, Simulation};

    fn after(settings: &FlashSettings, fills: u64) -> Simulation {
        let mut simulation = Simulation::new(settings, &[]).unwrap();
        simulation.fill(0..settings.user_pages).unwrap();
        simulation.run(u64::from(settings.user_pages) * fills).unwrap();
        simulation
    }

    fn wear(simulation: &Simulation) -> FlashWear {
        FlashWear::of(simulation.ftl().erases())
    }

    /// A part of the data gets all writes, and the rest lies on blocks that are never erased.
    fn static_data(hot: f64, care: FlashCare) -> FlashSettings {
        let class = |data_share, write_share| WriteClass { data_share, write_share };
        FlashSettings {
            pattern: WritePattern::Classes(vec![class(hot, 1.0), class(1.0 - hot, 0.0)]),
            separation: Separation::Classes,
            care,
            ..settings(1.12, 32, 500)
        }
    }

    fn none() -> FlashCare {
        FlashCare::default()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

        #[test]
        fn static_levelling_narrows_the_wear_and_costs_at_most_its_share_of_the_erases(
            hot in 0.05f64..0.4, gap in 2u32..20,
        ) {
            let without = after(&static_data(hot, none()), 60);
            let with = after(&static_data(hot, FlashCare { wear_gap: Some(gap), ..none() }), 60);
            let (before, now) = (wear(&without), wear(&with));
            prop_assert_eq!(before.erases_min, 0);
            let beyond = |wear: &FlashWear| wear.spread().unwrap() - 1.0;
            prop_assert!(beyond(&now) < beyond(&before) / 2.0 && now.erases_min > 0, "gap {}: {:?} {:?}", gap, now, before);
            let (cheap, dear) = (without.counts(), with.counts());
            prop_assert!(dear.write_amplification() > cheap.write_amplification());
            let moved_blocks_max = dear.erased_blocks / u64::from(gap + 1) + 1;
            prop_assert!(dear.refreshed_pages <= moved_blocks_max * 32, "{:?}", dear);
        }

        #[test]
        fn what_is_old_is_written_anew_at_most_once_a_period(hot in 0.05f64..0.4, fills in 0.5f64..5.0) {
            let settings = static_data(hot, FlashCare { refresh_fills: Some(fills), ..none() });
            let simulation = after(&settings, 30);
            // What rests is written once a period, or up to a tenth of it later. The hot data never gets so old.
            let rests = (1.0 - hot) * f64::from(settings.user_pages);
            let refreshed = simulation.counts().refreshed_pages as f64;
            prop_assert!(refreshed <= (rests + 64.0) * (30.0 / fills).floor() * 1.02, "{refreshed}");
            prop_assert!(refreshed >= rests * (30.0 / (fills * 1.12)).floor() * 0.9, "{refreshed}");
        }
    }

    /// Each block with b valid pages is read b / U times for each read, and moved after R of them: so rb / R pages move for each page
    /// that is written, of the share of the data that rests.
    #[test]
    fn reads_cause_the_amplification_of_their_formula() {
        for (reads_per_write, reads_max) in [(1.0, 200), (4.0, 500)] {
            let care = FlashCare { reads_max: Some(reads_max), reads_per_write, ..none() };
            let simulation = after(&static_data(0.1, care), 60);
            let counts = simulation.counts();
            let found = counts.refreshed_pages as f64 / counts.host_pages as f64;
            assert_near(found, 0.9 * reads_per_write * 32.0 / f64::from(reads_max), 0.1, "moved for reads");
        }
        // The hot data is erased before it has been read that often, and nothing else is.
        let care = FlashCare { reads_max: Some(100_000), reads_per_write: 1.0, ..none() };
        assert_eq!(after(&static_data(0.1, care), 20).counts().refreshed_pages, 0);
    }

    #[test]
    fn blocks_that_are_bad_from_the_beginning_are_not_spare_area() {
        let bad = FlashSettings { care: FlashCare { bad_share: 0.05, ..none() }, ..settings(1.2, 64, 1000) };
        let alike = FlashSettings { alpha: 1.14, ..settings(1.2, 64, 1000) };
        assert_near(steady(&bad, 12), steady(&alike, 12), 0.01, "bad blocks");
        let all = FlashCare { bad_share: 0.2, ..none() };
        let refused = Simulation::new(&FlashSettings { care: all, ..bad }, &[]);
        assert!(matches!(refused, Err(FlashError::Alpha { .. })));
    }

    #[test]
    fn blocks_go_bad_as_often_as_they_are_told_and_cost_spare_area_until_the_device_ends() {
        let care = FlashCare { bad_per_erase: 5e-4, ..none() };
        let of = |care| FlashSettings { care, ..settings(1.28, 32, 1000) };
        let mut simulation = after(&of(care), 20);
        let counts = simulation.counts();
        let expected = counts.erased_blocks as f64 * care.bad_per_erase;
        let bad = f64::from(simulation.ftl().bad_blocks());
        // Four deviations of a Poisson number.
        assert!((bad - expected).abs() < 4.0 * expected.sqrt() + 1.0, "{bad} for {expected}");
        assert!(bad > 10.0, "{bad}");
        let sound = after(&of(none()), 20).counts();
        assert!(counts.write_amplification() > sound.write_amplification(), "{counts:?} {sound:?}");
        let user_pages = u64::from(simulation.ftl().user_pages());
        let ended = (0..2000).find_map(|_| simulation.run(user_pages).err());
        assert!(matches!(ended, Some(FlashError::WornOut { bad_blocks: 150.., blocks: 1003 })), "{ended:?}");
    }

    /// All at once, on small devices: nothing is lost, and nothing ends early.
    #[test]
    fn all_upkeep_together_keeps_every_page() {
        for seed in 0_u32..20 {
            let care = FlashCare {
                bad_share: 0.02,
                bad_per_erase: 1e-4,
                wear_gap: Some(3),
                refresh_fills: Some(1.5),
                reads_max: Some(50),
                reads_per_write: 2.0,
                slc_share: 0.1,
            };
            let separation = [Separation::None, Separation::Moved, Separation::Classes][seed as usize % 3];
            let settings =
                FlashSettings { seed: seed.into(), separation, alpha: 1.3, ..static_data(0.3, care) };
            let simulation = after(&settings, 10);
            let live = (0..settings.user_pages).filter(|page| simulation.is_live(*page)).count();
            assert_eq!(live, settings.user_pages as usize, "seed {seed}");
        }
    }
}
