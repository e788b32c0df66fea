//! The profile: what a load run is asked to do. One form for TOML files, JSON results and flags.
//!
//! Parsing and checking live in the `load` crate; these are the types, because the store keeps them
//! with each run and reports show them.

use std::fmt;
use std::str::FromStr;

use iostall_measure::{BlockSize, ByteCount, Caching, Durability, Nanos, Percent, Rate, SyncCall};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use crate::distribution::{Distribution, RangeShare, SpanShare};
pub use crate::write_data::WriteData;

/// A load: one span or several, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Profile {
    /// Short name, such as `oltp`.
    pub name: String,
    /// One sentence: what it stands for.
    #[serde(default)]
    pub description: String,
    /// Seed of every random sequence of the run.
    #[serde(default)]
    pub seed: u64,
    /// The spans, in order; never empty in a checked profile.
    pub spans: Vec<SpanProfile>,
}

/// A stretch of load with one set of settings: warm-up, measured part, cool-down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SpanProfile {
    /// Load runs, nothing is measured.
    #[serde(default = "SpanProfile::default_warmup")]
    pub warmup: Nanos,
    /// The measured part.
    #[serde(default = "SpanProfile::default_duration")]
    pub duration: Nanos,
    /// Load goes on, nothing is measured.
    #[serde(default)]
    pub cooldown: Nanos,
    /// Length of the intervals of the series.
    #[serde(default = "SpanProfile::default_interval")]
    pub interval: Nanos,
    /// Also keeps a series for each worker, target and operation ([`crate::outcome::CellInterval`]); else for each role only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub worker_series: bool,
    /// What runs together and is reported apart; never empty in a checked profile.
    pub roles: Vec<RoleProfile>,
}

impl SpanProfile {
    /// Five seconds.
    pub fn default_warmup() -> Nanos {
        Nanos(5_000_000_000)
    }

    /// One second.
    pub fn default_interval() -> Nanos {
        Nanos(1_000_000_000)
    }

    /// Thirty seconds.
    pub fn default_duration() -> Nanos {
        Nanos(30_000_000_000)
    }
}

/// One role: a kind of I/O with its own targets, shape, depth and rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoleProfile {
    /// Name, such as `data` or `log`; unique in its span.
    pub name: String,
    /// Which of the run's targets, by the names that may be given to them (`--target log=PATH`). A role uses the targets whose
    /// names are here; when the run names none of these, or the list is empty, it uses every target given without a name. So
    /// a preset's log runs beside its data in one file, until a command line sends it elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The part of each target that is used.
    #[serde(default)]
    pub region: Region,
    /// Block size, or a mix of sizes by weight.
    pub block_size: BlockMix,
    /// Share of writes among reads and writes.
    #[serde(default)]
    pub write_pct: Percent,
    /// Random or sequential.
    #[serde(default)]
    pub access: Access,
    /// With random access: share of requests that jump; the rest go on from where the last one ended. Default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_pct: Option<Percent>,
    /// With random access: where requests land.
    #[serde(default)]
    pub distribution: Distribution,
    /// With random access: distances from the region's start are multiples of this. Default: the block size (the smallest of
    /// a mix).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<ByteCount>,
    /// With sequential access: distance between starts; 0 repeats one block. Default: end to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<ByteCount>,
    /// With sequential access: workers share one sequence (interlocked) instead of one each.
    #[serde(default)]
    pub shared_sequence: bool,
    /// With sequential access and a sequence each: worker k starts k times this into the region and goes through all of it.
    /// Default: the region is cut evenly and each worker stays in its piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_offset: Option<ByteCount>,
    /// Requests a worker keeps in flight per target; in open loop, the most it may have in flight.
    #[serde(default = "RoleProfile::default_queue_depth")]
    pub queue_depth: u32,
    /// Workers (threads) of this role. Each works on every target of the role.
    #[serde(default = "RoleProfile::default_workers")]
    pub workers: u32,
    /// Open loop at this rate, all workers and targets of the role together. Absent: closed loop at the queue depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How arrivals are spaced in open loop.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Past the page cache or through it.
    #[serde(default)]
    pub caching: Caching,
    /// What a completed write promises.
    #[serde(default)]
    pub durability: Durability,
    /// A sync call after every so many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncRule>,
    /// Bursts with pauses between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Share of each written block that is zeros, so that a compressing device can shrink it. Default 0: incompressible.
    #[serde(default)]
    pub compressible_pct: Percent,
    /// What else is written in place of incompressible data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_data: Option<WriteData>,
    /// With sequential access: each request in flight walks the whole sequence by itself, so that every offset is used once
    /// for each of them. Default: the requests in flight share the worker's sequence.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sequence_per_request: bool,
    /// Weights of the targets, in their order. Where given, the queue depth is a worker's over all of them, and each request
    /// goes to a target drawn by weight. Empty: the queue depth is per target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_weights: Vec<u32>,
    /// Processors that workers are pinned to: worker k of the span to entry k modulo the list's length. An empty list stands for
    /// every processor the process may run on. Absent: the scheduler decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Vec<u32>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl RoleProfile {
    fn default_queue_depth() -> u32 {
        1
    }

    fn default_workers() -> u32 {
        1
    }

    /// Whether it ever writes.
    pub fn writes(&self) -> bool {
        self.write_pct > Percent::ZERO
    }
}

/// Random or sequential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Each request anywhere in the region.
    #[default]
    Random,
    /// Each request after the one before.
    Sequential,
}

/// How open-loop arrivals are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly.
    #[default]
    Constant,
    /// As a Poisson process: exponential gaps, the way independent users arrive.
    Poisson,
}

/// A sync call after every `every` completed writes of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SyncRule {
    /// Writes before each call; at least 1.
    pub every: u32,
    /// Which call.
    #[serde(default)]
    pub call: SyncCall,
}

/// `requests` requests of a worker, then `pause` without new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Burst {
    /// Requests in a burst; at least 1.
    pub requests: u32,
    /// Time without new requests.
    pub pause: Nanos,
}

/// Why a text is not one of this module's small languages.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not {wanted}")]
pub struct SpellingError {
    text: String,
    wanted: &'static str,
}

pub(crate) fn refuse<T>(text: &str, wanted: &'static str) -> Result<T, SpellingError> {
    Err(SpellingError { text: text.to_owned(), wanted })
}

/// Reads and writes a type as the text of its `FromStr` and `Display`.
macro_rules! as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use as_text;

/// One end of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A share of the target's size.
    Percent(Percent),
    /// Bytes from the target's start.
    Bytes(ByteCount),
}

impl Bound {
    /// Bytes from the start of a target of `size_bytes`; never beyond its end.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u64 fits a u64"
    )]
    pub fn offset_in(self, size_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0.min(size_bytes),
            // The 1e-9 forgives the rounding of a share that should be whole.
            Self::Percent(share) => ((size_bytes as f64 * share.fraction() + 1e-9) as u64).min(size_bytes),
        }
    }
}

/// A part of a target, written `START..END` with bytes or percent: `0%..90%`, `1G..`, `..64M`, `all`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// First byte.
    pub start: Bound,
    /// First byte after it; `None`: the target's end.
    pub end: Option<Bound>,
}

impl Region {
    /// `(start, end)` in bytes in a target of `size_bytes`.
    pub fn range_in(self, size_bytes: u64) -> (u64, u64) {
        let end = self.end.map_or(size_bytes, |bound| bound.offset_in(size_bytes));
        (self.start.offset_in(size_bytes), end)
    }
}

impl Default for Region {
    fn default() -> Self {
        Self { start: Bound::Bytes(ByteCount(0)), end: None }
    }
}

const REGION_WANTED: &str =
    "a region: write START..END in bytes or percent, such as 0%..90%, 1G.. or ..64M, or all";

fn parse_bound(text: &str, whole: &str) -> Result<Bound, SpellingError> {
    if text.ends_with('%') {
        return text.parse().map(Bound::Percent).or_else(|_| refuse(whole, REGION_WANTED));
    }
    text.parse().map(Bound::Bytes).or_else(|_| refuse(whole, REGION_WANTED))
}

impl FromStr for Region {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        let trimmed = text.trim();
        if trimmed == "all" {
            return Ok(Self::default());
        }
        let Some((start, end)) = trimmed.split_once("..") else {
            return refuse(text, REGION_WANTED);
        };
        let start = match start.trim() {
            "" => Bound::Bytes(ByteCount(0)),
            start => parse_bound(start, text)?,
        };
        let end = match end.trim() {
            "" => None,
            end => Some(parse_bound(end, text)?),
        };
        Ok(Self { start, end })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(share) => write!(f, "{}%", share.percent()),
            Self::Bytes(bytes) => write!(f, "{}", bytes.0),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("all");
        }
        write!(f, "{}..", self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))
    }
}

as_text!(Region);

/// One size, or several by weight: `8K`, or `8K:80,64K:20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMix(Vec<(BlockSize, u32)>);

const MIX_WANTED: &str = "a block size or a mix of sizes by weight: write 8K, or 8K:80,64K:20";

impl BlockMix {
    /// One size.
    pub fn single(size: BlockSize) -> Self {
        Self(vec![(size, 1)])
    }

    /// Sizes and their weights; never empty, weights at least 1.
    pub fn parts(&self) -> &[(BlockSize, u32)] {
        &self.0
    }

    /// The largest size.
    pub fn largest(&self) -> BlockSize {
        self.0.iter().map(|(size, _)| *size).max().expect("a mix is never empty")
    }

    /// The smallest size.
    pub fn smallest(&self) -> BlockSize {
        self.0.iter().map(|(size, _)| *size).min().expect("a mix is never empty")
    }

    /// Mean size, bytes.
    pub fn mean_bytes(&self) -> f64 {
        let weights: f64 = self.0.iter().map(|(_, weight)| f64::from(*weight)).sum();
        self.0.iter().map(|(size, weight)| f64::from(size.bytes()) * f64::from(*weight)).sum::<f64>()
            / weights
    }
}

impl FromStr for BlockMix {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        let mut parts = Vec::new();
        for part in text.split(',') {
            let (size, weight) = part.split_once(':').unwrap_or((part, "1"));
            let size = size.parse().or_else(|_| refuse(text, MIX_WANTED))?;
            match weight.trim().parse() {
                Ok(weight) if weight > 0 => parts.push((size, weight)),
                _ => return refuse(text, MIX_WANTED),
            }
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for BlockMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(size, _)] = self.0.as_slice() {
            return f.pad(&spell_size(*size));
        }
        let parts: Vec<String> =
            self.0.iter().map(|(size, weight)| format!("{}:{weight}", spell_size(*size))).collect();
        f.pad(&parts.join(","))
    }
}

/// `8K` where it divides evenly, else bytes: what can be typed back.
fn spell_size(size: BlockSize) -> String {
    let bytes = size.bytes();
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

impl Serialize for BlockMix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// A bare number is a size in bytes, as it is for every other size of a profile.
impl<'de> Deserialize<'de> for BlockMix {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Typed {
            Bytes(u64),
            Text(String),
        }
        match Typed::deserialize(deserializer)? {
            Typed::Bytes(bytes) => BlockSize::new(bytes).map(Self::single).map_err(serde::de::Error::custom),
            Typed::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_language_reads_back_what_it_writes() {
        for text in ["all", "0%..90%", "1073741824..", "0..67108864", "10%..2097152"] {
            assert_eq!(text.parse::<Region>().unwrap().to_string(), text);
        }
        for text in ["8K", "8K:80,64K:20", "512", "1M"] {
            assert_eq!(text.parse::<BlockMix>().unwrap().to_string(), text);
        }
        for text in
            ["uniform", "zipf:0.99", "hot:90/10", "ranges:50/10,30/20,20/70", "spans:90/1073741824,10/0"]
        {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_to_write() {
        for text in ["", "90%", "a..b", "..150%"] {
            assert!(text.parse::<Region>().unwrap_err().to_string().contains("0%..90%"), "{text}");
        }
        for text in ["", "8K:0", "8K:-1", "8K,,"] {
            assert!(text.parse::<BlockMix>().is_err(), "{text}");
        }
        for text in [
            "zipf",
            "zipf:0",
            "zipf:nan",
            "hot:90",
            "hot:90/0",
            "ranges:50/10",
            "spans:90/1G",
            "spans:50/0,50/1G",
            "pareto",
        ] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_region_is_cut_from_the_target_it_meets() {
        let region: Region = "50%..".parse().unwrap();
        assert_eq!(region.range_in(1000), (500, 1000));
        let region: Region = "0..10K".parse().unwrap();
        assert_eq!(region.range_in(1000), (0, 1000));
    }

    #[test]
    fn a_profile_needs_little_and_an_unknown_word_is_refused() {
        let text = "name = 'tiny'\n[[spans]]\n[[spans.roles]]\nname = 'data'\nblock-size = '8K'\n";
        let profile: Profile = toml::from_str(text).unwrap();
        assert_eq!(profile.spans[0].roles[0].queue_depth, 1);
        let in_bytes = text.replace("'8K'", "8192");
        assert_eq!(toml::from_str::<Profile>(&in_bytes).unwrap(), profile);
        let wrong = text.replace("block-size", "blocksize");
        assert!(toml::from_str::<Profile>(&wrong).unwrap_err().to_string().contains("blocksize"));
    }
}
