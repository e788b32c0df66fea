//! The stages of each test. Orders, mixes, sizes and lengths are those of SNIA's Solid State Storage Performance Test Specification,
//! as far as public implementations of it tell them; a shorter measurement shortens everything of its test in proportion.

use iostall_measure::{BlockSize, Durability, Nanos, Percent};

use super::{Cell, Figure, QualifyPlan, QualifyScale, QualifyTest, Stage};
use crate::profile::Access;

/// What must be steady of the mixes and sizes: percentages of writes, and sizes in bytes.
pub const TRACKED: [(f64, u32); 3] = [(100.0, 4096), (35.0, 65_536), (0.0, 1 << 20)];
/// Requests in flight that are tried, and at most, whatever the plan says, its own number.
pub const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Threads and depths of the demand test; a shorter one tries fewer.
const DEMANDS: [u32; 7] = [32, 16, 8, 6, 4, 2, 1];
const DEMANDS_SHORT: [u32; 4] = [32, 8, 4, 1];
/// Pauses after each burst of writes, in lengths of a burst: 5 s to 50 s after 5 s.
const WAITS: [u32; 5] = [1, 2, 3, 5, 10];
/// Parts of the active range, percent. The smallest comes first: what is outside still lies as it was written in order, and a larger
/// part before would have mixed it with what is written.
const RANGES: [f64; 5] = [10.0, 25.0, 50.0, 75.0, 100.0];
/// Rests before writes in order are tried again, in lengths of a measurement.
const RESTS: [u32; 3] = [30, 120, 600];
const RESTS_SHORT: [u32; 2] = [5, 20];
const FILLS_MAX: u32 = 4;
/// The histogram of latency takes this many measurements: 20 minutes.
const HISTOGRAM: u32 = 20;
/// Writes before each round of the demand test, in measurements: 5 minutes.
const BEFORE_DEMAND: u32 = 5;

impl QualifyPlan {
    pub fn stages(&self) -> Vec<Stage> {
        match self.test {
            QualifyTest::Iops => vec![self.all_cells(String::new(), tracked_of_iops)],
            QualifyTest::Sizes => vec![self.all_cells(String::new(), writes)],
            QualifyTest::Saturation => {
                // How much it writes is said when the target is known.
                vec![Stage { fills_max: None, ..self.saturated(String::new(), Percent::HUNDRED) }]
            }
            QualifyTest::Throughput => self.sizes.iter().map(|size| self.throughput(*size)).collect(),
            QualifyTest::Latency => self.latency(),
            QualifyTest::IdleRecovery => self.idle_recovery(),
            QualifyTest::CrossStimulus => self.cross_stimulus(),
            QualifyTest::Demand => self.demand(),
            QualifyTest::ActiveRange => self.active_ranges(),
            QualifyTest::Depth => vec![self.depths()],
            QualifyTest::WriteCache => vec![self.write_cache()],
            QualifyTest::FastCache => self.fast_cache(),
        }
    }

    /// How often each burst is repeated: half an hour of writes in the specification.
    fn bursts(&self) -> u32 {
        match self.scale {
            QualifyScale::Quick => 3,
            QualifyScale::Standard => 12,
            QualifyScale::Full => 360,
        }
    }

    fn cell(&self, write_pct: Percent, size: BlockSize) -> Cell {
        Cell {
            write_pct,
            size,
            access: Access::Random,
            queue_depth: self.queue_depth,
            workers: self.workers,
            range_pct: Percent::HUNDRED,
            durability: Durability::None,
            length: self.cell,
            pause: Nanos(0),
        }
    }

    fn in_order(&self, write_pct: Percent, size: BlockSize) -> Cell {
        Cell { access: Access::Sequential, ..self.cell(write_pct, size) }
    }

    /// Every mix and size, until those that `tracked` picks no longer change.
    fn all_cells(&self, name: String, tracked: fn(&[Cell]) -> Vec<usize>) -> Stage {
        let cells: Vec<Cell> = self.cells().map(|(write_pct, size)| self.cell(write_pct, size)).collect();
        let tracked = tracked(&cells);
        let passes = (self.passes, Self::PASS_BYTES);
        Stage { passes, tracked, ..rounds(name, cells, self.rounds_max) }
    }

    /// Random writes to a part of the active range, until they no longer change.
    fn saturated(&self, name: String, range_pct: Percent) -> Stage {
        let cells: Vec<Cell> = self
            .cells()
            .take(1)
            .map(|(_, size)| Cell { range_pct, ..self.cell(Percent::HUNDRED, size) })
            .collect();
        Stage {
            passes: (self.passes, Self::PASS_BYTES),
            tracked: vec![0],
            by_fill: true,
            fills_max: Some(FILLS_MAX),
            ..rounds(name, cells, self.rounds_max)
        }
    }

    /// Each size is a test of its own: written in order in requests of that size, then read and written in order in turn, until the
    /// writes no longer change.
    fn throughput(&self, size: BlockSize) -> Stage {
        let cells: Vec<Cell> =
            self.write_pcts.iter().map(|write_pct| self.in_order(*write_pct, size)).collect();
        Stage {
            passes: (self.passes, size.bytes()),
            tracked: writes(&cells),
            figure: Figure::MbPerS,
            ..rounds(size.to_string(), cells, self.rounds_max)
        }
    }

    /// One request at a time until the mean of 4 KiB writes no longer changes, then these for long enough to see rare delays.
    fn latency(&self) -> Vec<Stage> {
        fn writes_of_4k(cells: &[Cell]) -> Vec<usize> {
            picked(cells, |cell| is_all_writes(cell) && cell.size.bytes() == 4096)
        }
        let all =
            Stage { figure: Figure::LatencyMs, ..self.all_cells("every mix and size".into(), writes_of_4k) };
        let length = Nanos(self.cell.0.saturating_mul(HISTOGRAM.into()));
        let of_stage = |index: &usize| all.cells.get(*index).cloned();
        let long: Vec<Cell> =
            all.tracked.iter().filter_map(of_stage).map(|cell| Cell { length, ..cell }).collect();
        let histogram = rounds("writes for the histogram".into(), long, 1);
        if histogram.cells.is_empty() { vec![all] } else { vec![all, histogram] }
    }

    /// Saturated, then bursts of writes with longer and longer pauses, each followed by writes without any.
    fn idle_recovery(&self) -> Vec<Stage> {
        let saturated = self.saturated("writes without a pause".into(), Percent::HUNDRED);
        let Some(cell) = saturated.cells.first().cloned() else { return Vec::new() };
        let mut stages = vec![saturated];
        for wait in WAITS {
            let pause = Nanos(self.cell.0.saturating_mul(wait.into()));
            let bursts = vec![Cell { pause, ..cell.clone() }];
            stages.push(rounds(format!("{pause} idle after each {}", self.cell), bursts, self.bursts()));
            let back = format!("back from {pause}");
            stages.push(rounds(back, vec![cell.clone()], self.bursts()));
        }
        stages
    }

    /// Large writes in order for 8 hours, small ones at random for 6, and the first again for 8.
    fn cross_stimulus(&self) -> Vec<Stage> {
        let [large, small] = self.sizes[..] else { return Vec::new() };
        let in_order = || vec![self.in_order(Percent::HUNDRED, large)];
        let stage = |name: String, cells, rounds_max| Stage {
            figure: Figure::MbPerS,
            ..rounds(name, cells, rounds_max)
        };
        let at_random = vec![self.cell(Percent::HUNDRED, small)];
        vec![
            stage(format!("{large} in order"), in_order(), self.rounds_max),
            stage(format!("{small} at random"), at_random, (self.rounds_max / 4).saturating_mul(3).max(1)),
            stage(format!("{large} in order again"), in_order(), self.rounds_max),
        ]
    }

    /// Saturated by most requests in flight; then in each round all threads times all depths, after writes.
    fn demand(&self) -> Vec<Stage> {
        let Some((write_pct, size)) = self.cells().next() else { return Vec::new() };
        let all: &[u32] = if self.scale == QualifyScale::Full { &DEMANDS } else { &DEMANDS_SHORT };
        let up_to = |most: u32| {
            let smaller = all.iter().copied().filter(move |number| *number < most);
            std::iter::once(most).chain(smaller).collect::<Vec<u32>>()
        };
        let writes = self.cell(Percent::HUNDRED, size);
        let length = Nanos(self.cell.0.saturating_mul(BEFORE_DEMAND.into()));
        let mut cells = vec![Cell { length, ..writes }];
        for workers in up_to(self.workers) {
            for queue_depth in up_to(self.queue_depth) {
                cells.push(Cell { queue_depth, workers, ..self.cell(write_pct, size) });
            }
        }
        let saturated = self.saturated("writes".into(), Percent::HUNDRED);
        // The first of them has the most requests in flight.
        let demands = Stage {
            tracked: vec![1],
            ..rounds("threads times depth".into(), cells, self.rounds_max.min(DEMAND_ROUNDS_MAX))
        };
        vec![saturated, demands]
    }

    fn active_ranges(&self) -> Vec<Stage> {
        let stage = |(index, percent): (usize, f64)| {
            let range_pct = Percent::new(percent).ok()?;
            let stage = self.saturated(format!("{percent} % of the range"), range_pct);
            let passes = if index == 0 { stage.passes } else { (0, Self::PASS_BYTES) };
            Some(Stage { passes, ..stage })
        };
        RANGES.into_iter().enumerate().filter_map(stage).collect()
    }

    fn depths(&self) -> Stage {
        let mut cells = Vec::new();
        for (write_pct, size) in self.cells() {
            let up_to = DEPTHS.iter().filter(|depth| **depth <= self.queue_depth);
            cells.extend(up_to.map(|depth| Cell { queue_depth: *depth, ..self.cell(write_pct, size) }));
        }
        let deepest = cells.iter().map(|cell| cell.queue_depth).max().unwrap_or(0);
        let tracked = picked(&cells, |cell| is_all_writes(cell) && cell.queue_depth == deepest);
        Stage {
            passes: (self.passes, Self::PASS_BYTES),
            tracked,
            ..rounds(String::new(), cells, self.rounds_max)
        }
    }

    fn write_cache(&self) -> Stage {
        let mut cells = Vec::new();
        for (write_pct, size) in self.cells() {
            for (queue_depth, workers) in [(self.queue_depth, self.workers), (1, 1)] {
                for durability in [Durability::None, Durability::WriteThrough] {
                    cells.push(Cell { queue_depth, workers, durability, ..self.cell(write_pct, size) });
                }
            }
        }
        let tracked =
            picked(&cells, |cell| (cell.queue_depth, cell.workers) == (self.queue_depth, self.workers));
        Stage {
            passes: (self.passes, Self::PASS_BYTES),
            tracked,
            ..rounds(String::new(), cells, self.rounds_max)
        }
    }

    /// Writes in order over the active range once, and again after each rest.
    fn fast_cache(&self) -> Vec<Stage> {
        let Some((_, size)) = self.cells().next() else { return Vec::new() };
        let rests: &[u32] = if self.scale == QualifyScale::Quick { &RESTS_SHORT } else { &RESTS };
        let cells = || vec![self.in_order(Percent::HUNDRED, size)];
        let stage = |name: String, rest: Nanos| Stage {
            rest,
            figure: Figure::MbPerS,
            fills_max: Some(1),
            ..rounds(name, cells(), self.rounds_max)
        };
        let mut stages = vec![stage("at first".into(), Nanos(0))];
        for rest in rests {
            let rest = Nanos(self.cell.0.saturating_mul((*rest).into()));
            stages.push(stage(format!("after {rest} of rest"), rest));
        }
        stages
    }
}

/// Rounds of the demand test at most, as the specification's loop has.
const DEMAND_ROUNDS_MAX: u32 = 25;

/// Rounds that are neither preceded by anything nor steady in the end.
fn rounds(name: String, cells: Vec<Cell>, rounds_max: u32) -> Stage {
    Stage {
        name,
        passes: (0, QualifyPlan::PASS_BYTES),
        rest: Nanos(0),
        cells,
        tracked: Vec::new(),
        figure: Figure::Iops,
        by_fill: false,
        rounds_max,
        fills_max: None,
    }
}

fn is_all_writes(cell: &Cell) -> bool {
    cell.write_pct.percent() >= 100.0
}

fn picked(cells: &[Cell], is_it: impl Fn(&Cell) -> bool) -> Vec<usize> {
    (0..cells.len()).filter(|index| is_it(&cells[*index])).collect()
}

fn writes(cells: &[Cell]) -> Vec<usize> {
    picked(cells, is_all_writes)
}

fn tracked_of_iops(cells: &[Cell]) -> Vec<usize> {
    let is_tracked = |cell: &Cell| {
        let is_it = |(percent, bytes): &(f64, u32)| {
            (cell.write_pct.percent() - percent).abs() < 1e-9 && cell.size.bytes() == *bytes
        };
        TRACKED.iter().any(is_it)
    };
    let mut tracked = picked(cells, is_tracked);
    // The one that the specification of old asked for alone comes first.
    tracked.reverse();
    tracked
}
