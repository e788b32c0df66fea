//! One job, option by option. What an option means may depend on others of its job: `whole` reads them together.

use iostall_measure::{BlockSize, ByteCount, Nanos, Rate, SyncCall};
use iostall_model::profile::{Access, Arrivals, BlockMix, Bound, Distribution, SyncRule};

use super::error::FioError;
use super::number::{count, flag, percent, size, time, wrong};
use super::others::{Other, no_equal, other};
use super::values::{Each, blocks, bound, distribution, files, split, sync};

/// As many files and jobs are run: each is looked up among the others.
pub(super) const PLACES_MAX: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Taken,
    /// It changes nothing here: how fio counts, prints or prepares.
    None,
}

/// How requests are handed to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioEngine {
    /// One request in flight whatever `iodepth` says: fio's default does so.
    Sync,
    Async,
    /// No I/O.
    Null,
}

/// A job with fio's defaults: sequential reads of 4 KiB through the page cache, one at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJob {
    pub name: String,
    /// `[…]` above it: what files are called that have no name, whatever `name` says.
    pub(super) section: Option<String>,
    /// `filename`, taken apart at the colons.
    pub files: Vec<String>,
    /// Whether they are of the section that is being read: its first `filename` takes the place of others.
    pub(super) has_own_files: bool,
    pub(super) file_count: Option<u32>,
    pub(super) takes_turns: bool,
    pub(super) directory: Option<String>,
    pub(super) size: Option<Bound>,
    pub(super) file_size: Option<u64>,
    pub(super) offset: Bound,
    pub(super) offset_increment: u64,
    pub(super) may_make_files: bool,
    pub(super) only_reads: bool,
    /// `rw`: random or sequential.
    pub(super) access: Access,
    /// `rw`: percent of writes; `None` where it mixes, which `rwmixread` and `rwmixwrite` say.
    pub(super) kind_pct: Option<u32>,
    pub(super) mix_pct: u32,
    pub(super) block: Each<BlockMix>,
    /// `bssplit`, which wins over `bs` wherever the two stand.
    pub(super) split: Each<Option<BlockMix>>,
    pub(super) align: Each<Option<u64>>,
    pub(super) random_pct: Each<u32>,
    pub(super) has_random_map: bool,
    pub(super) distribution: Distribution,
    pub(super) depth: u32,
    pub(super) jobs: u32,
    /// Of one job.
    pub(super) rate: Each<Option<Rate>>,
    pub(super) rate_iops: Each<Option<Rate>>,
    pub(super) arrivals: Arrivals,
    pub(super) direct: bool,
    pub(super) invalidates: bool,
    pub(super) write_through: bool,
    /// `fsync`, `fdatasync`.
    pub(super) sync: Option<SyncRule>,
    pub(super) runtime: Option<Nanos>,
    pub(super) by_time: bool,
    pub(super) loops: u32,
    pub(super) ramp: Nanos,
    pub(super) seed: u64,
    pub(super) buffer_compress_pct: u32,
    pub(super) has_zero_buffers: bool,
    pub engine: FioEngine,
    /// `output`, where `output-format` is JSON.
    pub(super) output: Option<String>,
    pub(super) json: bool,
    /// `stonewall`: it begins when those before it have ended.
    pub(super) waits: bool,
    pub(super) waits_for: Option<String>,
    pub(super) ends_others: bool,
    /// What is otherwise than fio does it, a sentence each.
    pub(super) notes: Vec<&'static str>,
}

impl Default for FioJob {
    fn default() -> Self {
        Self {
            name: "fio".to_owned(),
            section: None,
            files: Vec::new(),
            has_own_files: false,
            file_count: None,
            takes_turns: true,
            directory: None,
            size: None,
            file_size: None,
            offset: Bound::Bytes(ByteCount(0)),
            offset_increment: 0,
            may_make_files: true,
            only_reads: false,
            access: Access::Sequential,
            kind_pct: Some(0),
            mix_pct: 50,
            block: Each::both(BlockMix::single(BlockSize::new(4096).expect("fio's own block size is one"))),
            split: Each::both(None),
            align: Each::both(None),
            random_pct: Each::both(100),
            has_random_map: true,
            distribution: Distribution::Uniform,
            depth: 1,
            jobs: 1,
            rate: Each::both(None),
            rate_iops: Each::both(None),
            arrivals: Arrivals::Constant,
            direct: false,
            invalidates: true,
            write_through: false,
            sync: None,
            runtime: None,
            by_time: false,
            loops: 1,
            ramp: Nanos(0),
            seed: 0,
            buffer_compress_pct: 0,
            has_zero_buffers: false,
            engine: FioEngine::Sync,
            output: None,
            json: false,
            waits: false,
            waits_for: None,
            ends_others: false,
            notes: Vec::new(),
        }
    }
}

impl FioJob {
    pub(super) fn reads(&self) -> bool {
        self.kind_pct.unwrap_or(self.mix_pct) < 100
    }

    pub(super) fn writes(&self) -> bool {
        self.kind_pct.unwrap_or(self.mix_pct) > 0
    }

    /// Takes `rwmixread` and `rwmixwrite` for what they say although no `rw` mixes.
    pub fn mix(&mut self) {
        self.kind_pct = None;
    }

    /// fio fills buffers with zeros only where no share of them is to be compressible.
    pub(super) fn compressible_pct(&self) -> u32 {
        if self.buffer_compress_pct == 0 && self.has_zero_buffers { 100 } else { self.buffer_compress_pct }
    }

    pub(super) fn block(&self) -> Each<BlockMix> {
        Each {
            read: self.split.read.clone().unwrap_or_else(|| self.block.read.clone()),
            write: self.split.write.clone().unwrap_or_else(|| self.block.write.clone()),
        }
    }

    /// Requests that it really keeps in flight.
    pub(super) fn depth(&self) -> u32 {
        if self.engine == FioEngine::Sync { 1 } else { self.depth }
    }

    pub fn depth_is_ignored(&self) -> bool {
        self.engine == FioEngine::Sync && self.depth > 1
    }

    /// Whether `name` is an option of fio's that is known here, whatever comes of it.
    pub fn knows(name: &str) -> bool {
        let value = |value| Self::default().take(name, value);
        let unknown = |found| matches!(found, Err(FioError::Unknown { .. }));
        !unknown(value(None)) || !unknown(value(Some("1")))
    }

    pub fn take(&mut self, name: &str, value: Option<&str>) -> Result<Effect, FioError> {
        let name = name.replace('-', "_").to_ascii_lowercase();
        match other(&name, value)? {
            Some(Other::Otherwise(said)) => {
                self.notes.push(said);
                return Ok(Effect::None);
            }
            Some(Other::NoEffect) => return Ok(Effect::None),
            None => {}
        }
        let text = value.map(str::trim).unwrap_or_default();
        match name.as_str() {
            "direct" => self.direct = flag(&name, value)?,
            "buffered" => self.direct = !flag(&name, value)?,
            "invalidate" => self.invalidates = flag(&name, value)?,
            "norandommap" => self.has_random_map = !flag(&name, value)?,
            "time_based" => self.by_time = flag(&name, value)?,
            "allow_file_create" => self.may_make_files = flag(&name, value)?,
            "readonly" => self.only_reads = flag(&name, value)?,
            "exitall" => self.ends_others = flag(&name, value)?,
            "stonewall" | "wait_for_previous" => self.waits = flag(&name, value)?,
            "zero_buffers" => self.has_zero_buffers = flag(&name, value)?,
            "sync" => self.take_sync(&name, text)?,
            _ if text.is_empty() && is_known(&name) => {
                return Err(wrong(&name, text, "a value must follow"));
            }
            _ => return self.take_where(&name, text),
        }
        Ok(Effect::Taken)
    }

    fn take_where(&mut self, name: &str, text: &str) -> Result<Effect, FioError> {
        match name {
            "name" => text.clone_into(&mut self.name),
            "description" => {}
            "filename" => {
                if !std::mem::replace(&mut self.has_own_files, true) {
                    self.files.clear();
                }
                // Each is one file however often it is named. More than can be run are refused as they are.
                for file in files(text) {
                    if self.files.len() > PLACES_MAX || !self.files.contains(&file) {
                        self.files.push(file);
                    }
                }
            }
            "directory" if files(text).len() > 1 => {
                return Err(no_equal(name, "name each of the files (filename)"));
            }
            "directory" => self.directory = files(text).into_iter().next(),
            "nrfiles" | "nr_files" => self.file_count = Some(count(name, text, 1)?),
            "file_service_type" => {
                self.takes_turns = match text {
                    "roundrobin" | "roundrobin:1" => true,
                    "random" | "random:1" => false,
                    _ => return Err(no_equal(name, "requests go to the files of a job alike")),
                };
            }
            "size" => self.size = Some(bound(name, text)?),
            "filesize" => self.file_size = Some(size(name, text)?),
            "offset" => self.offset = bound(name, text)?,
            "offset_increment" => self.offset_increment = size(name, text)?,
            "wait_for" => self.waits_for = Some(text.to_owned()),
            "output" => self.output = Some(text.to_owned()),
            "output_format" => self.json = text.starts_with("json"),
            _ => return self.take_what(name, text),
        }
        Ok(Effect::Taken)
    }

    fn take_what(&mut self, name: &str, text: &str) -> Result<Effect, FioError> {
        match name {
            "rw" | "readwrite" => self.take_kind(name, text)?,
            "rwmixread" => self.mix_pct = 100 - percent(name, text)?,
            "rwmixwrite" => self.mix_pct = percent(name, text)?,
            "bs" | "blocksize" => self.block.set(text, |text| blocks(name, text))?,
            "bssplit" => self.split.set(text, |text| split(name, text).map(Some))?,
            "ba" | "blockalign" => self.align.set(text, |text| size(name, text).map(Some))?,
            "percentage_random" => self.random_pct.set(text, |text| percent(name, text))?,
            "random_distribution" => self.distribution = distribution(name, text)?,
            // Both of the others draw each block again and again unless there is a map.
            "random_generator" => match text {
                "tausworthe" | "tausworthe64" => {}
                "lfsr" => self.has_random_map = true,
                _ => return Err(wrong(name, text, "write tausworthe, tausworthe64 or lfsr")),
            },
            "buffer_compress_percentage" => self.buffer_compress_pct = percent(name, text)?,
            "randseed" => self.seed = size(name, text)?,
            "fsync" | "fdatasync" => {
                let call = if name == "fsync" { SyncCall::Fsync } else { SyncCall::Fdatasync };
                let rule = sync(name, text, call)?;
                if rule.is_some() || self.sync.is_some_and(|before| before.call == call) {
                    self.sync = rule;
                }
            }
            _ => return self.take_pace(name, text),
        }
        Ok(Effect::Taken)
    }

    fn take_pace(&mut self, name: &str, text: &str) -> Result<Effect, FioError> {
        const SECOND: u64 = 1_000_000_000;
        let above_0 = |number: f64| (number > 0.0).then_some(number);
        match name {
            "iodepth" => self.depth = count(name, text, 1)?,
            "numjobs" => self.jobs = count(name, text, 1)?,
            "loops" => self.loops = count(name, text, 1)?,
            "runtime" | "timeout" => {
                self.runtime = Some(time(name, text, SECOND)?).filter(|time| time.0 > 0);
            }
            "ramp_time" => self.ramp = time(name, text, SECOND)?,
            "rate_iops" => {
                self.rate_iops
                    .set(text, |text| Ok(above_0(f64::from(count(name, text, 0)?)).map(Rate::Iops)))?;
            }
            "rate" => {
                self.rate
                    .set(text, |text| Ok(above_0(size(name, text)? as f64).map(Rate::BytesPerSecond)))?;
            }
            "rate_process" => {
                self.arrivals = match text {
                    "linear" => Arrivals::Constant,
                    "poisson" => Arrivals::Poisson,
                    _ => return Err(wrong(name, text, "write linear or poisson")),
                };
            }
            "ioengine" => self.take_engine(name, text)?,
            _ => return Err(FioError::Unknown { option: name.to_owned() }),
        }
        Ok(Effect::Taken)
    }

    fn take_kind(&mut self, name: &str, text: &str) -> Result<(), FioError> {
        (self.access, self.kind_pct) = match text {
            "read" => (Access::Sequential, Some(0)),
            "write" => (Access::Sequential, Some(100)),
            "randread" => (Access::Random, Some(0)),
            "randwrite" => (Access::Random, Some(100)),
            "rw" | "readwrite" => (Access::Sequential, None),
            "randrw" => (Access::Random, None),
            _ if text.contains("trim") => return Err(no_equal(name, "nothing is trimmed")),
            _ if text.contains(':') => {
                return Err(no_equal(name, "a stride is --stride; a share of jumps is --random-pct"));
            }
            _ => return Err(wrong(name, text, "write read, write, randread, randwrite, rw or randrw")),
        };
        Ok(())
    }

    fn take_sync(&mut self, name: &str, text: &str) -> Result<(), FioError> {
        self.write_through = match text {
            "0" | "none" => false,
            "dsync" => true,
            "" | "1" | "sync" => {
                self.notes
                    .push("a write is durable with its data, and does not wait for its time stamps (sync=1)");
                true
            }
            _ => return Err(wrong(name, text, "write none, sync or dsync")),
        };
        Ok(())
    }

    fn take_engine(&mut self, name: &str, text: &str) -> Result<(), FioError> {
        self.engine = match text {
            "libaio" | "io_uring" | "posixaio" => FioEngine::Async,
            "windowsaio" | "solarisaio" => {
                self.notes.push("requests go through the engine of this machine (ioengine)");
                FioEngine::Async
            }
            "psync" | "sync" | "pvsync" | "pvsync2" | "vsync" => FioEngine::Sync,
            "null" => FioEngine::Null,
            _ => {
                return Err(no_equal(
                    name,
                    "files and block devices are read and written through io_uring or threads",
                ));
            }
        };
        Ok(())
    }
}

fn is_known(name: &str) -> bool {
    !matches!(FioJob::default().take_where(name, "1"), Err(FioError::Unknown { .. }))
}
