//! Service times of a flash device: a model on which any load can run.

use iostall_engine::RequestOp;
use iostall_engine::sim::{Arrival, DeviceModel};
use iostall_model::flash::FlashSettings;

use crate::counts::Counts;
use crate::error::FlashError;
use crate::ftl::Ftl;
use crate::theory::NandTimes;

#[derive(Clone, Debug, PartialEq)]
pub struct FlashBuild {
    /// Of the whole device; each plane has an equal part of it.
    pub settings: FlashSettings,
    /// Planes, which work side by side: at least 1.
    pub planes: u32,
    /// Channels, which move one page at a time each: at least 1.
    pub channels: u32,
    pub times: NandTimes,
    /// To move a page over a channel, microseconds.
    pub transfer_us: f64,
    /// After how long without a request a plane collects ahead, microseconds. `None`: it collects only when it must.
    pub idle_us: Option<f64>,
}

/// A flash device behind the simulated engine. Page n lies on plane n modulo the planes, and each plane collects for itself, so a
/// request waits for what collection does on its plane. It has no write cache: a flush takes no time.
#[derive(Debug)]
pub struct FlashDevice {
    planes: Vec<Plane>,
    /// When each channel is free, nanoseconds.
    channels_ns: Vec<u64>,
    page_bytes: u64,
    user_pages: u64,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    transfer_ns: u64,
    idle_ns: Option<u64>,
    /// Writes that found every page valid.
    refused: u64,
}

#[derive(Debug)]
struct Plane {
    ftl: Ftl,
    free_ns: u64,
}

impl FlashDevice {
    pub fn new(build: &FlashBuild) -> Result<Self, FlashError> {
        let count = build.planes.max(1);
        let user_pages = build.settings.user_pages.div_ceil(count);
        let plane = |number: u32| {
            let seed = build.settings.seed.wrapping_add(u64::from(number));
            let settings = FlashSettings { user_pages, seed, ..build.settings.clone() };
            Ok(Plane { ftl: Ftl::new(&settings)?, free_ns: 0 })
        };
        Ok(Self {
            planes: (0..count).map(plane).collect::<Result<_, FlashError>>()?,
            channels_ns: vec![0; build.channels.max(1) as usize],
            page_bytes: u64::from(build.settings.page_bytes.max(1)),
            user_pages: u64::from(build.settings.user_pages),
            read_ns: nanos(build.times.read_us),
            program_ns: nanos(build.times.program_us),
            erase_ns: nanos(build.times.erase_us),
            transfer_ns: nanos(build.transfer_us),
            idle_ns: build.idle_us.map(nanos),
            refused: 0,
        })
    }

    /// Writes every page once in order, which takes no time: what came before the load.
    pub fn fill(&mut self) -> Result<(), FlashError> {
        for plane in &mut self.planes {
            for page in 0..plane.ftl.user_pages() {
                plane.ftl.write(page)?;
            }
        }
        Ok(())
    }

    pub fn counts(&self) -> Counts {
        self.planes.iter().fold(Counts::default(), |all, plane| all.and(&plane.ftl.counts()))
    }

    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// When page `page` is read or written, nanoseconds.
    fn page_end_ns(&mut self, page: u64, now_ns: u64, op: PageOp) -> u64 {
        let count = self.planes.len() as u64;
        let number = usize::try_from(page % count).unwrap_or(0);
        let Ok(local) = u32::try_from(page % self.user_pages.max(1) / count) else { return now_ns };
        self.collect_while_idle(number, now_ns);
        let channel = number % self.channels_ns.len();
        let plane = &mut self.planes[number];
        match op {
            PageOp::Read if !plane.ftl.is_live(local) => {
                // The controller knows that there is nothing, and asks no chip.
                let end_ns = now_ns.max(self.channels_ns[channel]) + self.transfer_ns;
                self.channels_ns[channel] = end_ns;
                end_ns
            }
            PageOp::Read => {
                plane.free_ns = now_ns.max(plane.free_ns) + self.read_ns;
                let end_ns = plane.free_ns.max(self.channels_ns[channel]) + self.transfer_ns;
                self.channels_ns[channel] = end_ns;
                end_ns
            }
            PageOp::Write { is_part } => {
                let sent_ns = now_ns.max(self.channels_ns[channel]) + self.transfer_ns;
                self.channels_ns[channel] = sent_ns;
                // A part of a page is written with the rest of it, which is read before.
                let first_ns = if is_part && plane.ftl.is_live(local) { self.read_ns } else { 0 };
                let before = plane.ftl.counts();
                self.refused += u64::from(plane.ftl.write(local).is_err());
                let caused = plane.ftl.counts().since(&before);
                let work_ns = self.program_ns + self.moving_ns(&caused);
                let plane = &mut self.planes[number];
                plane.free_ns = sent_ns.max(plane.free_ns) + first_ns + work_ns;
                plane.free_ns
            }
        }
    }

    fn moving_ns(&self, caused: &Counts) -> u64 {
        (caused.moved_pages + caused.refreshed_pages) * (self.read_ns + self.program_ns)
            + caused.erased_blocks * self.erase_ns
    }

    /// Uses the time since the plane's last work, if it was long, as far as whole blocks fit into it.
    fn collect_while_idle(&mut self, number: usize, now_ns: u64) {
        let Some(idle_ns) = self.idle_ns else { return };
        let begin_ns = self.planes[number].free_ns.saturating_add(idle_ns);
        let mut at_ns = begin_ns;
        while at_ns < now_ns {
            let before = self.planes[number].ftl.counts();
            if !self.planes[number].ftl.collect_ahead() {
                break;
            }
            let caused = self.planes[number].ftl.counts().since(&before);
            at_ns += self.moving_ns(&caused);
        }
        if at_ns > begin_ns {
            // A block that is begun is finished, even if a request comes.
            self.planes[number].free_ns = at_ns;
        }
    }
}

#[derive(Clone, Copy)]
enum PageOp {
    Read,
    Write { is_part: bool },
}

impl DeviceModel for FlashDevice {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let is_write = match arrival.op {
            RequestOp::Read => false,
            RequestOp::Write | RequestOp::WriteThrough => true,
            RequestOp::Fdatasync | RequestOp::Fsync | RequestOp::SyncFileRange => return arrival.now_ns,
        };
        let end = arrival.offset.saturating_add(u64::from(arrival.length));
        let (first, last) = (arrival.offset / self.page_bytes, end.div_ceil(self.page_bytes));
        let mut end_ns = arrival.now_ns;
        for page in first..last {
            let is_part = page * self.page_bytes < arrival.offset || (page + 1) * self.page_bytes > end;
            let op = if is_write { PageOp::Write { is_part } } else { PageOp::Read };
            end_ns = end_ns.max(self.page_end_ns(page, arrival.now_ns, op));
        }
        end_ns
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn nanos(us: f64) -> u64 {
    (us * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_near, settings};
    use iostall_engine::sim::SimFile;
    use iostall_engine::{
        BufferPool, Engine as _, FileIndex, Pages, Request, SimConfig, SimDevice, SimEngine, Wait,
    };
    use iostall_measure::{Clock as _, Durability, ManualClock};

    fn build(alpha: f64, planes: u32) -> FlashBuild {
        FlashBuild {
            settings: settings(alpha, 64, 400 * planes),
            planes,
            channels: planes,
            times: NandTimes::TYPICAL,
            transfer_us: 10.0,
            idle_us: None,
        }
    }

    fn arrival(now_ns: u64, op: RequestOp, offset: u64, length: u32) -> Arrival {
        Arrival { now_ns, op, file: FileIndex(0), offset, length, exponential: 1.0 }
    }

    /// Random writes with one in flight for each plane, `fills` times the device; the time of the last fill of them, nanoseconds.
    fn random_writes(device: &mut FlashDevice, build: &FlashBuild, fills: u64) -> f64 {
        let pages = build.settings.user_pages;
        let mut rng = crate::random::Stream::of_seed(3);
        let mut now_ns = device.planes.iter().map(|plane| plane.free_ns).max().unwrap_or(0);
        let mut began_ns = now_ns;
        for number in 0..u64::from(pages) * fills {
            if number == u64::from(pages) * (fills - 1) {
                began_ns = now_ns;
            }
            let offset = u64::from(rng.below(pages)) * 4096;
            now_ns = device.end_ns(&arrival(now_ns, RequestOp::Write, offset, 4096));
        }
        (now_ns - began_ns) as f64
    }

    #[test]
    fn one_plane_takes_what_the_formula_says_for_its_amplification() {
        let build = build(1.28, 1);
        let mut device = FlashDevice::new(&build).unwrap();
        device.fill().unwrap();
        random_writes(&mut device, &build, 3);
        let before = device.counts();
        let took_ns = random_writes(&mut device, &build, 1);
        let amplification = device.counts().since(&before).write_amplification().unwrap();
        let page_us = took_ns / f64::from(build.settings.user_pages) / 1000.0;
        assert_near(page_us, build.times.write_us(amplification, 64) + 10.0, 0.01, "time of a page");
        assert_eq!(device.refused(), 0);
    }

    #[test]
    fn reads_of_what_was_never_written_touch_no_chip_and_parts_of_pages_are_read_first() {
        let build = build(1.28, 2);
        let mut device = FlashDevice::new(&build).unwrap();
        let mut end =
            |now_ns, op, offset, length| device.end_ns(&arrival(now_ns, op, offset, length)) - now_ns;
        assert_eq!(end(0, RequestOp::Read, 0, 4096), 10_000);
        assert_eq!(end(1_000_000, RequestOp::Write, 0, 4096), 760_000);
        assert_eq!(end(10_000_000, RequestOp::Read, 0, 4096), 85_000);
        assert_eq!(end(20_000_000, RequestOp::Write, 512, 512), 835_000);
        // Two pages on two planes side by side, and two on one after the other.
        assert_eq!(end(30_000_000, RequestOp::Write, 0, 8192), 760_000);
        assert_eq!(end(40_000_000, RequestOp::Write, 0, 12_288), 1_510_000);
        assert_eq!(end(50_000_000, RequestOp::Fdatasync, 0, 0), 0);
    }

    /// The model behind the engine that every load uses.
    #[test]
    fn requests_of_an_engine_fall_off_the_cliff_in_simulated_time() {
        let build = build(1.28, 4);
        let pages = build.settings.user_pages;
        let mut model = FlashDevice::new(&build).unwrap();
        model.fill().unwrap();
        let file = SimFile {
            size_bytes: u64::from(pages) * 4096,
            durability: Durability::WriteThrough,
            ..SimFile::default()
        };
        let config = SimConfig { files: vec![file], ..SimConfig::default() };
        let device = SimDevice::with_model(config, Box::new(model), ManualClock::new());
        let mut engine = SimEngine::new(device.clone(), 64);
        let (_pool, mut buffers) = BufferPool::new(64, 4096, Pages::Small).unwrap();
        let mut rng = crate::random::Stream::of_seed(5);
        let mut completions = Vec::new();
        let mut free: Vec<u32> = (0..64).collect();
        // Writes a second of each tenth of a fill.
        let mut rates = Vec::new();
        for _ in 0..20 {
            let began_ns = device.clock().now_ns();
            let mut left = pages / 10;
            while left > 0 {
                while let Some(token) = free.pop() {
                    let (op, offset) = (RequestOp::Write, u64::from(rng.below(pages)) * 4096);
                    let buffer = buffers.pop();
                    engine.push(Request { token, op, file: FileIndex(0), offset, length: 4096, buffer });
                }
                engine.submit(Wait::ONE, &mut completions).unwrap();
                for completion in completions.drain(..) {
                    assert!(completion.result.is_ok());
                    free.push(completion.token);
                    buffers.extend(completion.buffer);
                    left = left.saturating_sub(1);
                }
            }
            let took_s = (device.clock().now_ns() - began_ns) as f64 / 1e9;
            rates.push(f64::from(pages / 10) / took_s);
        }
        // A plane that collects makes its requests wait while others have none, so it is a little less than the planes can do.
        let (fresh, steady) = (rates[0], rates[15..].iter().sum::<f64>() / 5.0);
        let rate = |amplification| 4.0 / (build.times.write_us(amplification, 64) + 10.0) * 1e6;
        let formula = rate(crate::theory::greedy(1.28, 64));
        assert!(steady < formula * 1.03 && steady > formula * 0.6, "{steady} for {formula}: {rates:?}");
        assert!(fresh < rate(1.0) * 1.1 && fresh > steady * 2.0, "{fresh}, then {steady}");
    }

    #[test]
    fn a_device_that_was_idle_has_collected_ahead() {
        let with = |idle_us| {
            let build = FlashBuild { idle_us, ..build(1.28, 1) };
            let mut device = FlashDevice::new(&build).unwrap();
            device.fill().unwrap();
            random_writes(&mut device, &build, 3);
            // A pause of a minute, then a burst of 400 writes.
            let mut now_ns = device.planes[0].free_ns + 60_000_000_000;
            let began_ns = now_ns;
            let mut rng = crate::random::Stream::of_seed(9);
            for _ in 0..400 {
                let offset = u64::from(rng.below(build.settings.user_pages)) * 4096;
                now_ns = device.end_ns(&arrival(now_ns, RequestOp::Write, offset, 4096));
            }
            (now_ns - began_ns) as f64
        };
        let (busy, rested) = (with(None), with(Some(1000.0)));
        // Without collection 400 writes take 0.3 s.
        assert!(rested < 0.35e9 && busy > rested * 1.8, "{busy} {rested}");
    }
}
