//! Backups on simulated devices: what each setting would move, and what a look at it shows.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::neighbours;
use crate::noise::Normal;

const STRIPES: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
const BUFFERS: [f64; 4] = [4.0, 8.0, 16.0, 32.0];
const TRANSFER_MIB: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const FRAME_MIB: [f64; 2] = [0.25, 1.0];
const COMPRESSED: [bool; 2] = [false, true];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    SlowStripe,
    MemoryCap,
    Collapse,
    Interaction,
    Noise,
    Flat,
}

#[derive(Clone, Debug)]
pub(super) struct Surface {
    pub(super) oddity: Oddity,
    source: f64,
    stripe: f64,
    slow_from: f64,
    compressor: f64,
    ratio: f64,
    half_in_flight: f64,
    collapse_mib: f64,
    cap_mib: f64,
    noise: f64,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    stripes: f64,
    buffers: f64,
    transfer: f64,
    frame: f64,
    is_compressed: bool,
}

impl Setting {
    fn of(point: usize) -> Self {
        let (point, compressed) = (point / 2, COMPRESSED[point % 2]);
        let (point, frame) = (point / 2, FRAME_MIB[point % 2]);
        let (point, transfer) = (point / 4, TRANSFER_MIB[point % 4]);
        let (stripes, buffers) = (STRIPES[point / 4], BUFFERS[point % 4]);
        Self { stripes, buffers, transfer, frame, is_compressed: compressed }
    }
}

impl Surface {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut between = |low: f64, high: f64| {
            low + (high - low) * (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
        };
        let oddities = [
            Oddity::SlowStripe,
            Oddity::MemoryCap,
            Oddity::Collapse,
            Oddity::Interaction,
            Oddity::Noise,
            Oddity::Flat,
        ];
        let oddity = oddities[usize::try_from(seed % 6).unwrap_or(0)];
        Self {
            oddity,
            source: between(600.0, 3_000.0),
            stripe: between(80.0, 900.0),
            slow_from: if oddity == Oddity::SlowStripe { between(1.5, 7.0) } else { 99.0 },
            compressor: between(300.0, 1_500.0),
            ratio: between(1.5, 3.0),
            half_in_flight: between(2.0, 40.0),
            collapse_mib: if oddity == Oddity::Collapse { between(1.0, 7.0) } else { 99.0 },
            cap_mib: if oddity == Oddity::MemoryCap { between(40.0, 160.0) } else { 1e9 },
            noise: if oddity == Oddity::Noise { 0.06 } else { 0.02 },
        }
    }

    /// The settings that fit into memory, and which of them differ by one step.
    pub(super) fn settings(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        let lengths = [STRIPES.len(), BUFFERS.len(), TRANSFER_MIB.len(), FRAME_MIB.len(), COMPRESSED.len()];
        let all = lengths.iter().product();
        let fits = |point: &usize| {
            let setting = Setting::of(*point);
            setting.buffers * setting.transfer <= self.cap_mib
        };
        let points: Vec<usize> = (0..all).filter(fits).collect();
        let around = neighbours(&lengths, &points);
        (points, around)
    }

    /// What a setting moves, MB a second of the source.
    pub(super) fn rate(&self, point: usize) -> f64 {
        let Setting { stripes, buffers, transfer, frame, is_compressed } = Setting::of(point);
        if self.oddity == Oddity::Flat {
            return self.source;
        }
        let in_flight = buffers * transfer;
        let mut source = self.source * in_flight / (in_flight + self.half_in_flight);
        if transfer > self.collapse_mib {
            source *= 0.35;
        }
        // Every stripe gets as much as the others, so one that is slow holds up all.
        let each = if stripes > self.slow_from { self.stripe / 5.0 } else { self.stripe };
        let mut target = stripes * each;
        if self.oddity == Oddity::Interaction {
            // Many stripes need many buffers, and small transfers.
            target *= (buffers / (2.0 * stripes)).min(1.0) / (1.0 + transfer * stripes / 64.0);
        }
        let (compressor, ratio) = if is_compressed {
            (self.compressor * if frame < 1.0 { 0.85 } else { 1.0 }, self.ratio)
        } else {
            (20_000.0, 1.0)
        };
        let parts = [source, compressor, target * ratio];
        parts.iter().map(|rate| rate.powi(-6)).sum::<f64>().powf(-1.0 / 6.0)
    }

    /// What a look of so many seconds shows; the noise is that of one second.
    pub(super) fn look(&self, point: usize, seconds: f64, draws: &mut Normal) -> f64 {
        self.rate(point) * (draws.draw() * self.noise / seconds.sqrt()).exp()
    }
}
