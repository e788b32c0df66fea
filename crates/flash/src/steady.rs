//! A device from its first fill to the state in which its amplification no longer changes.

use std::ops::ControlFlow;

use iostall_model::flash::FlashSettings;
use iostall_model::kinds::{Between, FlashTenth, FlashUpkeep, FlashWear};
use iostall_stats::confidence::{LEVEL, estimate};

use crate::counts::Counts;
use crate::error::FlashError;
use crate::simulation::Simulation;

/// Parts of a fill that are counted.
const TENTHS: u32 = 10;

/// Pages that are written between two looks at whether to go on.
const CHUNK_PAGES: u32 = 1 << 18;

#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// In order, since every page was written once.
    pub tenths: Vec<FlashTenth>,
    /// How many of them are left out: half of those that were asked for.
    pub left_out: usize,
    /// Erases of the blocks in the part that counts.
    pub wear: FlashWear,
    /// What it did beside collection in that part.
    pub upkeep: FlashUpkeep,
    /// Memory of the device, bytes.
    pub memory_bytes: u64,
}

impl Steady {
    /// The amplification in each whole fill of the part that counts.
    fn of_fills(&self) -> Vec<f64> {
        let counted = self.tenths.get(self.left_out..).unwrap_or_default();
        let fills = counted.chunks_exact(TENTHS as usize);
        fills.filter_map(|fill| sum(fill).write_amplification()).collect()
    }

    /// Its amplification with the interval of the means of its fills, which are long enough to be independent. `None` with fewer
    /// than two fills.
    pub fn write_amplification(&self) -> Option<Between> {
        let found = estimate(&self.of_fills(), LEVEL)?;
        // A cache takes writes that never reach the blocks.
        let least = if self.upkeep.absorbed_pages > 0 { 0.0 } else { 1.0 };
        Some(Between {
            mean: found.mean,
            low: (found.mean - found.half_width).max(least),
            high: found.mean + found.half_width,
        })
    }
}

fn sum(tenths: &[FlashTenth]) -> FlashTenth {
    tenths.iter().fold(FlashTenth::default(), |all, tenth| FlashTenth {
        host_pages: all.host_pages + tenth.host_pages,
        moved_pages: all.moved_pages + tenth.moved_pages,
        absorbed_pages: all.absorbed_pages + tenth.absorbed_pages,
        erased_blocks: all.erased_blocks + tenth.erased_blocks,
    })
}

/// Writes every page in order and then `fills` times the device by its pattern. `on` is called with the share that is done and may
/// stop it, which leaves the tenths so far.
pub fn steady(
    settings: &FlashSettings,
    sequence: &[u32],
    fills: u32,
    on: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Steady, FlashError> {
    let mut simulation = Simulation::new(settings, sequence)?;
    let user_pages = settings.user_pages;
    let whole = f64::from(user_pages) * f64::from(fills + 1);
    let mut done = 0u64;
    let mut tenths = Vec::new();
    let left_out = (fills * TENTHS / 2) as usize;
    let mut erases_before = Vec::new();
    let mut counts_before = Counts::default();
    let mut first = 0;
    let mut is_stopped = false;
    while first < user_pages && !is_stopped {
        let end = user_pages.min(first.saturating_add(CHUNK_PAGES));
        simulation.fill(first..end)?;
        done += u64::from(end - first);
        first = end;
        is_stopped = on(done as f64 / whole).is_break();
    }
    let tenth_pages = u64::from(user_pages).div_ceil(u64::from(TENTHS));
    while tenths.len() < (fills * TENTHS) as usize && !is_stopped {
        if tenths.len() == left_out {
            erases_before = simulation.ftl().erases().to_vec();
            counts_before = simulation.counts();
        }
        let mut counts = Counts::default();
        let mut left = tenth_pages;
        while left > 0 && !is_stopped {
            let pages = left.min(u64::from(CHUNK_PAGES));
            counts = counts.and(&simulation.run(pages)?);
            left -= pages;
            done += pages;
            is_stopped = on(done as f64 / whole).is_break();
        }
        if left == 0 {
            tenths.push(FlashTenth {
                host_pages: counts.host_pages,
                moved_pages: counts.moved_pages + counts.refreshed_pages,
                absorbed_pages: counts.absorbed_pages,
                erased_blocks: counts.erased_blocks,
            });
        }
    }
    let erases = simulation.ftl().erases().iter().enumerate();
    let since: Vec<u32> =
        erases.map(|(block, now)| now - erases_before.get(block).copied().unwrap_or(0)).collect();
    Ok(Steady {
        tenths,
        left_out,
        wear: FlashWear::of(&since),
        upkeep: upkeep(&simulation, &counts_before),
        memory_bytes: simulation.memory_bytes(),
    })
}

fn upkeep(simulation: &Simulation, before: &Counts) -> FlashUpkeep {
    let counts = simulation.counts().since(before);
    FlashUpkeep {
        host_pages: counts.host_pages,
        refreshed_pages: counts.refreshed_pages,
        absorbed_pages: counts.absorbed_pages,
        bad_blocks: simulation.ftl().bad_blocks(),
        blocks: u32::try_from(simulation.ftl().erases().len()).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_near, settings};

    #[test]
    fn the_interval_holds_the_long_run_and_is_narrow() {
        let settings = settings(1.12, 64, 1000);
        let found = steady(&settings, &[], 20, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((found.tenths.len(), found.left_out), (200, 100));
        let between = found.write_amplification().unwrap();
        let long = steady(&settings, &[], 100, &mut |_| ControlFlow::Continue(())).unwrap();
        let long = long.write_amplification().unwrap();
        assert_near(between.mean, long.mean, 0.005, "mean");
        assert!(between.low < long.high && long.low < between.high, "{between:?} {long:?}");
        assert!(between.high - between.low < 0.05, "{between:?}");
    }

    /// The story: behind a cache that takes nearly all writes, "0.39, 95 % interval 1.000 to 0.393".
    #[test]
    fn the_interval_holds_its_mean_also_where_a_cache_takes_most_writes() {
        let mut settings = settings(1.12, 64, 200);
        settings.care.slc_share = 1.0;
        let found = steady(&settings, &[], 10, &mut |_| ControlFlow::Continue(())).unwrap();
        let between = found.write_amplification().unwrap();
        assert!(between.mean < 1.0, "{between:?}");
        assert!(between.low <= between.mean && between.mean <= between.high, "{between:?}");
    }

    #[test]
    fn what_is_stopped_keeps_its_whole_tenths() {
        let settings = settings(1.12, 64, 1000);
        let mut looks = 0;
        let found = steady(&settings, &[], 20, &mut |share| {
            assert!((0.0..=1.01).contains(&share), "{share}");
            looks += 1;
            if looks > 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let found = found.unwrap();
        assert_eq!(found.tenths.len(), 7);
        assert_eq!(found.write_amplification(), None);
    }
}
