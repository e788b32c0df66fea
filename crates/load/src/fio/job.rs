//! One job, option by option.

use iostall_measure::{BlockSize, Nanos, Rate, SyncCall};
use iostall_model::profile::{Access, Arrivals, BlockMix, Distribution, SyncRule};

use super::error::FioError;
use super::number::{count, flag, percent, size, time, wrong};
use super::others::{no_equal, without_effect};

/// fio's own block size.
const BLOCK_DEFAULT: &str = "4k";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Taken,
    /// It changes nothing here: how fio counts, prints or prepares.
    None,
}

/// A job with fio's defaults: sequential reads of 4 KiB through the page cache, one at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJob {
    pub name: String,
    /// `filename`, taken apart at the colons.
    pub files: Vec<String>,
    pub directory: Option<String>,
    pub size: Option<u64>,
    pub offset: u64,
    /// `rw`: random or sequential.
    pub access: Access,
    /// `rw`: percent of writes; `None` where it mixes, which `rwmixread` and `rwmixwrite` say.
    kind_pct: Option<u32>,
    mix_pct: u32,
    /// `bs` or `bssplit`.
    pub block: BlockMix,
    pub align: Option<u64>,
    pub random_pct: Option<u32>,
    pub distribution: Distribution,
    depth: u32,
    pub jobs: u32,
    /// `rate_iops` or `rate`, of one job.
    pub rate: Option<Rate>,
    pub arrivals: Arrivals,
    pub direct: bool,
    pub write_through: bool,
    /// `fsync`, `fdatasync`.
    pub sync: Option<SyncRule>,
    pub runtime: Option<Nanos>,
    pub ramp: Nanos,
    pub seed: u64,
    /// `buffer_compress_percentage`, `zero_buffers`.
    pub compressible_pct: u32,
    /// `ioengine`, where it keeps one request in flight whatever `iodepth` says: fio's default does.
    pub one_at_a_time: bool,
    pub no_io: bool,
    /// `output`, where `output-format` is JSON.
    pub output: Option<String>,
    pub json: bool,
    /// `stonewall`: it begins when those before it have ended.
    pub waits: bool,
}

impl Default for FioJob {
    fn default() -> Self {
        Self {
            name: "fio".to_owned(),
            files: Vec::new(),
            directory: None,
            size: None,
            offset: 0,
            access: Access::Sequential,
            kind_pct: Some(0),
            mix_pct: 50,
            block: BlockMix::single(block(4096)),
            align: None,
            random_pct: None,
            distribution: Distribution::Uniform,
            depth: 1,
            jobs: 1,
            rate: None,
            arrivals: Arrivals::Constant,
            direct: false,
            write_through: false,
            sync: None,
            runtime: None,
            ramp: Nanos(0),
            seed: 0,
            compressible_pct: 0,
            one_at_a_time: true,
            no_io: false,
            output: None,
            json: false,
            waits: false,
        }
    }
}

fn block(bytes: u64) -> BlockSize {
    BlockSize::new(bytes).expect("fio's own block size is one")
}

impl FioJob {
    pub fn write_pct(&self) -> u32 {
        self.kind_pct.unwrap_or(self.mix_pct)
    }

    /// Takes `rwmixread` and `rwmixwrite` for what they say although no `rw` mixes.
    pub fn mix(&mut self) {
        self.kind_pct = None;
    }

    /// Requests that it really keeps in flight.
    pub fn depth(&self) -> u32 {
        if self.one_at_a_time { 1 } else { self.depth }
    }

    pub fn depth_is_ignored(&self) -> bool {
        self.one_at_a_time && self.depth > 1
    }

    /// Whether `name` is an option of fio's that is known here, whatever comes of it.
    pub fn knows(name: &str) -> bool {
        let value = |value| Self::default().take(name, value);
        let unknown = |found| matches!(found, Err(FioError::Unknown { .. }));
        !unknown(value(None)) || !unknown(value(Some("1")))
    }

    pub fn take(&mut self, name: &str, value: Option<&str>) -> Result<Effect, FioError> {
        let name = name.replace('-', "_").to_ascii_lowercase();
        if without_effect(&name, value)? {
            return Ok(Effect::None);
        }
        let text = value.map(str::trim).unwrap_or_default();
        match name.as_str() {
            "direct" => self.direct = flag(&name, value)?,
            "buffered" => self.direct = !flag(&name, value)?,
            "stonewall" | "wait_for_previous" => self.waits = flag(&name, value)?,
            "zero_buffers" if flag(&name, value)? => self.compressible_pct = 100,
            "zero_buffers" => {}
            "sync" => self.write_through = !matches!(text, "0" | "none"),
            _ if text.is_empty() && is_known(&name) => {
                return Err(wrong(&name, text, "a value must follow"));
            }
            _ => return self.take_where(&name, text),
        }
        Ok(Effect::Taken)
    }

    fn take_where(&mut self, name: &str, text: &str) -> Result<Effect, FioError> {
        match name {
            "name" | "description" => {
                if name == "name" {
                    text.clone_into(&mut self.name);
                }
            }
            "filename" => self.files = files(text),
            "directory" => self.directory = Some(text.to_owned()),
            "size" | "filesize" if text.ends_with('%') => {
                return Err(no_equal(name, "a share of the device; name bytes, or a region of the profile"));
            }
            "size" | "filesize" => self.size = Some(size(name, text)?),
            "offset" => self.offset = size(name, text)?,
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
            "bs" | "blocksize" => self.block = blocks(name, text)?,
            "bssplit" => self.block = split(name, text)?,
            "ba" | "blockalign" => self.align = Some(size(name, text)?),
            "percentage_random" => self.random_pct = Some(percent(name, text)?),
            "random_distribution" => self.distribution = distribution(name, text)?,
            "buffer_compress_percentage" => self.compressible_pct = percent(name, text)?,
            "randseed" => self.seed = size(name, text)?,
            "fsync" => self.sync = sync(name, text, SyncCall::Fsync)?,
            "fdatasync" => self.sync = sync(name, text, SyncCall::Fdatasync)?,
            _ => return self.take_pace(name, text),
        }
        Ok(Effect::Taken)
    }

    fn take_pace(&mut self, name: &str, text: &str) -> Result<Effect, FioError> {
        const SECOND: u64 = 1_000_000_000;
        match name {
            "iodepth" => self.depth = count(name, text, 1)?,
            "numjobs" => self.jobs = count(name, text, 1)?,
            "runtime" | "timeout" => self.runtime = Some(time(name, text, SECOND)?),
            "ramp_time" => self.ramp = time(name, text, SECOND)?,
            "rate_iops" => self.rate = Some(Rate::Iops(f64::from(count(name, one(name, text)?, 1)?))),
            "rate" => self.rate = Some(Rate::BytesPerSecond(size(name, one(name, text)?)? as f64)),
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

    fn take_engine(&mut self, name: &str, text: &str) -> Result<(), FioError> {
        match text {
            "libaio" | "io_uring" | "posixaio" | "io_uring_cmd" => self.one_at_a_time = false,
            "psync" | "sync" | "pvsync" | "pvsync2" | "vsync" => self.one_at_a_time = true,
            "null" => (self.no_io, self.one_at_a_time) = (true, false),
            _ => {
                return Err(no_equal(
                    name,
                    "files and block devices are read and written through io_uring or threads",
                ));
            }
        }
        Ok(())
    }
}

fn is_known(name: &str) -> bool {
    !matches!(FioJob::default().take_where(name, "1"), Err(FioError::Unknown { .. }))
}

/// One value for all: fio takes one each for reads, writes and trims.
fn one<'a>(name: &str, text: &'a str) -> Result<&'a str, FioError> {
    if text.trim_matches(',').contains(',') {
        return Err(no_equal(
            name,
            "reads and writes of a role share one value; make them two roles of a profile",
        ));
    }
    Ok(text.trim_matches(','))
}

fn blocks(name: &str, text: &str) -> Result<BlockMix, FioError> {
    let bytes = size(name, one(name, text)?)?;
    let size = BlockSize::new(bytes).map_err(|_| wrong(name, text, "a block is 1 byte to below 4 GiB"))?;
    Ok(BlockMix::single(size))
}

/// `4k/60:64k/40`.
fn split(name: &str, text: &str) -> Result<BlockMix, FioError> {
    let parts: Result<Vec<String>, FioError> = one(name, text)?
        .split(':')
        .map(|part| {
            let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
            let bytes = size(name, if bytes.is_empty() { BLOCK_DEFAULT } else { bytes })?;
            let share = percent(name, share)
                .map_err(|_| wrong(name, text, "give each size its share, such as 4k/60:64k/40"))?;
            Ok(format!("{bytes}:{share}"))
        })
        .collect();
    parts?.join(",").parse().map_err(|_| wrong(name, text, "give each size its share, such as 4k/60:64k/40"))
}

fn distribution(name: &str, text: &str) -> Result<Distribution, FioError> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "random" => Ok(Distribution::Uniform),
        "zipf" => text.parse().map_err(|_| wrong(name, text, "write zipf:THETA, such as zipf:1.2")),
        "zoned" => zones(rest).ok_or_else(|| {
            wrong(name, text, "write zoned:IO%/SIZE%:…, whose sizes add up to 100, such as zoned:60/10:40/90")
        }),
        _ => Err(no_equal(
            name,
            "where requests land is uniform, zipf:, hot:, ranges: or spans: (--distribution)",
        )),
    }
}

fn zones(text: &str) -> Option<Distribution> {
    format!("ranges:{}", text.replace(':', ",")).parse().ok()
}

fn sync(name: &str, text: &str, call: SyncCall) -> Result<Option<SyncRule>, FioError> {
    let every = count(name, text, 0)?;
    Ok((every > 0).then_some(SyncRule { every, call }))
}

fn files(text: &str) -> Vec<String> {
    text.split(':').filter(|file| !file.is_empty()).map(str::to_owned).collect()
}
