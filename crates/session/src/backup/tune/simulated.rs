//! Searches on simulated devices, in their time: a pipeline moves data from a source to stripes, and what is found is held
//! against all settings.

use std::cell::Cell;
use std::convert::Infallible;

use iostall_engine::sim::{Arrival, DeviceModel, SimConfig, SimEngine, SimFile};
use iostall_engine::{BufferPool, FileIndex, Pages, SimDevice};
use iostall_measure::{Clock as _, ManualClock, Nanos};
use iostall_model::backup::{BackupSettings, Compression};
use iostall_stats::halving::Answer;
use iostall_transfer::Progress;
use iostall_transfer::pipeline::{Extent, Frame, Job, Pipeline, Placement, Sink, Source, Step};

use super::axes::{Axes, Given, Setting};
use super::grid::Grid;
use super::search::{Searched, Seen, halving, search};

/// Everything is small, because what is written to a simulated device stays in memory.
const SCALE: u32 = 64;
/// What is written stays in memory, so a look is no longer than this, whatever it counts for.
const LOOK_S_MAX: f64 = 0.01;

/// Files on devices of their own: each serves one request after another, at its rate after a fixed time.
#[derive(Clone, Debug)]
struct Shelf {
    /// Nanoseconds for each KiB; the source is the first.
    ns_per_kib: Vec<u64>,
    /// Time before each request.
    latency_ns: u64,
    free_ns: Vec<u64>,
}

impl DeviceModel for Shelf {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let at = usize::from(arrival.file.0);
        let begin = self.free_ns[at].max(arrival.now_ns);
        let end = begin + self.latency_ns + self.ns_per_kib[at] * u64::from(arrival.length) / 1024;
        self.free_ns[at] = end;
        end
    }
}

struct Reads {
    clock: ManualClock,
    end_ns: u64,
    offset: u64,
    length: u32,
}

impl Source for Reads {
    fn next(&mut self) -> Option<Step> {
        if self.offset > 0 && self.clock.now_ns() >= self.end_ns {
            return None;
        }
        let extent = Extent { file: FileIndex(0), offset: self.offset, length: self.length };
        self.offset += u64::from(self.length);
        Some(Step::Read(extent))
    }
}

struct Stripe {
    file: FileIndex,
    writes_max: u32,
    end: u64,
}

impl Sink for Stripe {
    fn writes_max(&self) -> u32 {
        self.writes_max
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        let offset = self.end;
        self.end += frame.bytes().len() as u64;
        Placement::Write { file: self.file, offset }
    }
}

struct Machine {
    shelf: Shelf,
    clock: ManualClock,
    /// Each look differs by up to this share.
    noise: f64,
    looks: Cell<u64>,
}

impl Machine {
    fn new(source: u64, stripes: &[u64], latency_ns: u64) -> Self {
        let ns_per_kib: Vec<u64> = [source].iter().chain(stripes).copied().collect();
        let free_ns = vec![0; ns_per_kib.len()];
        let shelf = Shelf { ns_per_kib, latency_ns, free_ns };
        Self { shelf, clock: ManualClock::new(), noise: 0.0, looks: Cell::new(0) }
    }

    fn stripes(&self) -> usize {
        self.shelf.ns_per_kib.len() - 1
    }

    /// Bytes a second with a setting, seen for `seconds`, which pass on the machine's clock.
    fn look(&self, setting: &Setting, seconds: f64) -> f64 {
        let (length, buffers) = (setting.transfer_bytes / SCALE, setting.buffers);
        let files = vec![SimFile { size_bytes: 1 << 40, ..SimFile::default() }; self.stripes() + 1];
        let config = SimConfig { files, ..SimConfig::default() };
        let clock = ManualClock::new();
        let device = SimDevice::with_model(config, Box::new(self.shelf.clone()), clock.clone());
        let (_pool, pool) = BufferPool::new(buffers, length, Pages::Small).unwrap();
        let mut pipeline = Pipeline::new(SimEngine::new(device, buffers + 1), clock.clone(), pool);
        let writes_max = (buffers / u32::try_from(setting.stripes).unwrap()).clamp(2, 8);
        let stripe = |number: u16| Stripe { file: FileIndex(number), writes_max, end: 0 };
        let mut stripes: Vec<Stripe> = (1..).map(stripe).take(setting.stripes).collect();
        let end_ns = Nanos::from_seconds(seconds.min(LOOK_S_MAX)).nanos();
        let mut source = Reads { clock: clock.clone(), end_ns, offset: 0, length };
        let moved = pipeline.run(Job {
            source: &mut source,
            stages: Vec::new(),
            sinks: stripes.iter_mut().map(|stripe| stripe as &mut dyn Sink).collect(),
            aligns: &vec![4096; self.stripes() + 1],
            reads_max: 6.min(buffers),
            rate: None,
            progress: &Progress::default(),
        });
        let number = self.looks.get() + 1;
        self.looks.set(number);
        self.clock.advance_to(self.clock.now_ns() + Nanos::from_seconds(seconds).nanos());
        let seen = moved.unwrap().read_bytes as f64 / (clock.now_ns() as f64 / 1e9);
        seen * (1.0 + self.noise * noise_at(number))
    }
}

/// What else a machine does: from -1 to 1, the same each time (a step of splitmix64).
fn noise_at(number: u64) -> f64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn default(stripes: usize) -> Setting {
    Setting {
        stripes,
        buffers: 20,
        transfer_bytes: 4 << 20,
        frame_bytes: 1 << 20,
        compression: Compression::None,
    }
}

fn memory(setting: &Setting) -> Option<u64> {
    let is_sound = setting.transfer_bytes.is_multiple_of(setting.frame_bytes);
    is_sound.then(|| u64::from(setting.buffers) * u64::from(setting.transfer_bytes))
}

/// What is open: stripes, buffers and sizes. There are no workers on a simulated device, so compression is given.
fn grid(stripes: usize, memory_max: u64) -> Grid<Setting> {
    let usual = default(stripes);
    let settings = BackupSettings {
        stripes: u16::try_from(stripes).unwrap(),
        buffer_count: usual.buffers,
        transfer_bytes: usual.transfer_bytes,
        frame_bytes: usual.frame_bytes,
        ..BackupSettings::default()
    };
    let given = Given { compression: Some(Compression::None), ..Given::default() };
    Axes::new(&given, &settings).grid(&usual, memory_max, &memory).unwrap()
}

fn searched(machine: &Machine, grid: &Grid<Setting>) -> Searched {
    let now_s = || machine.clock.now_ns() as f64 / 1e9;
    let mut measure = |number: usize, seconds: f64| -> Result<Seen, Infallible> {
        let rate = machine.look(&grid.settings[number], seconds);
        Ok(Seen { bytes_per_s: Some(rate), source_bytes: 1, stored_bytes: 1, moved_s: None })
    };
    search(halving(grid, 120.0), 120.0, &now_s, &mut measure, &mut |_| {}).0
}

fn chosen(searched: &Searched, grid: &Grid<Setting>) -> usize {
    match searched.halving.answer() {
        Answer::Better { setting, .. } => setting,
        Answer::NoDifference { .. } => grid.default,
    }
}

fn share_of_best(machine: &Machine, grid: &Grid<Setting>, answer: usize) -> f64 {
    let rate = |setting: &Setting| machine.look(setting, LOOK_S_MAX);
    let best = grid.settings.iter().map(rate).fold(0.0, f64::max);
    rate(&grid.settings[answer]) / best
}

/// The story: the third of three stripes was on the old array, and every backup waited for it.
#[test]
fn beside_one_slow_stripe_the_answer_is_near_the_best_of_all_settings() {
    // 2,000 MB/s from the source, 700 each to two stripes, 20 to the third.
    let mut machine = Machine::new(512, &[1_463, 1_463, 51_200], 20_000);
    machine.noise = 0.02;
    let grid = grid(3, u64::MAX);
    let searched = searched(&machine, &grid);
    machine.noise = 0.0;
    let answer = chosen(&searched, &grid);
    let share = share_of_best(&machine, &grid, answer);
    assert!(share >= 0.95, "{share:.3} of the best: {:?}", grid.settings[answer]);
    let gained = machine.look(&grid.settings[answer], LOOK_S_MAX) / machine.look(&default(3), LOOK_S_MAX);
    assert!(gained > 1.05, "{gained:.3} times the default: {:?}", grid.settings[answer]);
}

/// Requests that take long to begin want to be large and many, which memory limits.
#[test]
fn under_a_limit_of_memory_nothing_beyond_it_is_tried_and_the_answer_is_near_the_best_below_it() {
    let mut machine = Machine::new(400, &[500, 500], 100_000);
    machine.noise = 0.02;
    let limit = 100 << 20;
    let grid = grid(2, limit);
    assert!(grid.over_memory() > 0);
    let searched = searched(&machine, &grid);
    for (looks, bytes) in searched.looks.iter().zip(&grid.memory) {
        assert!(looks.count == 0 || *bytes <= limit);
    }
    machine.noise = 0.0;
    let answer = chosen(&searched, &grid);
    let share = share_of_best(&machine, &grid, answer);
    assert!(share >= 0.95, "{share:.3} of the best: {:?}", grid.settings[answer]);
    assert!(grid.is_at_memory_limit(answer), "{:?}", grid.settings[answer]);
}

/// Where all settings are alike, a tuner that names the luckiest sends people to change what works.
#[test]
fn where_nothing_differs_but_by_chance_the_defaults_stay() {
    // The source alone limits, whatever the setting.
    let mut machine = Machine::new(4_000, &[100, 100], 0);
    machine.noise = 0.05;
    let grid = grid(2, u64::MAX);
    let searched = searched(&machine, &grid);
    assert!(
        matches!(searched.halving.answer(), Answer::NoDifference { best: Some(_) }),
        "{:?}",
        searched.halving.answer()
    );
}

/// Making buffers ready took longer than the looks themselves, and a search of two minutes took ten.
#[test]
fn a_search_keeps_to_its_time_whatever_it_takes_to_make_ready() {
    let machine = Machine::new(4_000, &[100, 100], 0);
    let grid = grid(2, u64::MAX);
    for ready_ns in [10_000_000, 80_000_000, 3_000_000_000] {
        let begun_ns = machine.clock.now_ns();
        let now_s = || machine.clock.now_ns() as f64 / 1e9;
        let mut measure = |_: usize, seconds: f64| -> Result<Seen, Infallible> {
            let look_ns = Nanos::from_seconds(seconds).nanos();
            machine.clock.advance_to(machine.clock.now_ns() + look_ns + ready_ns);
            Ok(Seen { bytes_per_s: Some(1e9), ..Seen::default() })
        };
        let searched = search(halving(&grid, 30.0), 30.0, &now_s, &mut measure, &mut |_| {}).0;
        let took_s = (machine.clock.now_ns() - begun_ns) as f64 / 1e9;
        assert!(took_s < 40.0, "{took_s:.1} s of 30");
        assert!(searched.looks.iter().any(|looks| looks.count > 0));
    }
}
