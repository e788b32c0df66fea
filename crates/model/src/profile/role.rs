//! A role: one kind of I/O in a span, with the types for its shape and pace.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Caching, Durability, Nanos, Percent, Rate, SyncCall, named};
use serde::{Deserialize, Serialize};

use super::{BlockMix, Distribution, Region};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoleProfile {
    /// Such as `data` or `log`; unique in its span.
    pub name: String,
    /// Names of the targets it uses (`--target log=PATH`). If the run has none of these names, or the list is
    /// empty, the role uses every target given without a name. So a preset's log shares a file with its data
    /// until the command line puts it elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    #[serde(default)]
    pub region: Region,
    pub block_size: BlockMix,
    /// Share of writes among reads and writes.
    #[serde(default)]
    pub write_pct: Percent,
    #[serde(default)]
    pub access: Access,
    /// With random access: share of requests that jump; the others continue where the last one ended. Default
    /// 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_pct: Option<Percent>,
    /// With random access and one block size: each block once, in random order, before any comes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_block: bool,
    /// A worker ends when it has asked for as many bytes as this many times its region has; the span ends with the last worker, or
    /// at its time. Absent: it goes on until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// With random access: the distribution of offsets.
    #[serde(default)]
    pub distribution: Distribution,
    /// With random access: offsets from the region's start are multiples of this. Default: the block size
    /// (the smallest of a mix).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<ByteCount>,
    /// With sequential access: distance between starts; 0 repeats one block. Default: end to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<ByteCount>,
    /// With sequential access: reads and writes each continue where the last of their kind ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// With sequential access: workers share one sequence (interlocked) instead of one each.
    #[serde(default)]
    pub shared_sequence: bool,
    /// With sequential access and one sequence per worker: worker k starts k times this into the region and
    /// goes through all of it. Default: the region is divided evenly among the workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_offset: Option<ByteCount>,
    /// Requests in flight per worker and target; in an open loop the maximum.
    #[serde(default = "RoleProfile::default_queue_depth")]
    pub queue_depth: u32,
    #[serde(default = "RoleProfile::default_workers")]
    pub workers: u32,
    /// Open loop at this rate, over all workers and targets of the role. Absent: closed loop at the queue
    /// depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    #[serde(default)]
    pub arrivals: Arrivals,
    #[serde(default)]
    pub caching: Caching,
    #[serde(default)]
    pub durability: Durability,
    /// A sync call after every so many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Share of zeros in each written block, so that a device can compress it. Default 0: incompressible.
    #[serde(default)]
    pub compressible_pct: Percent,
    /// What to write instead of incompressible data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_data: Option<WriteData>,
    /// With sequential access: each request in flight has its own pass through the sequence, so that every
    /// offset is used once by each. Default: they share the worker's sequence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sequence_per_request: bool,
    /// Weights of the targets, in order. If given, the queue depth is a worker's over all targets, and each
    /// request draws its target by weight. Empty: the queue depth is per target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_weights: Vec<u32>,
    /// Completions that a worker waits for at once, so that it is woken less often and spends less CPU time on a request. A
    /// latency then includes the wait for the others. Absent: a worker takes each completion as soon as it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// The longest that a completion waits for the others of its batch. Absent: [`RoleProfile::BATCH_WAIT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_wait: Option<Nanos>,
    /// CPUs that workers are pinned to: worker k of the span to entry k modulo the length of the list. An
    /// empty list means every CPU that the process may run on. Absent: the scheduler decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Vec<u32>>,
    /// What its results are compared with. Absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<Thresholds>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Thresholds {
    /// On flash, the 99th percentile of latency is at most this: of commits if the role syncs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_flash: Option<Nanos>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_disk: Option<Nanos>,
    /// One hard disk completes this many requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_disk: Option<f64>,
    /// Who says so.
    pub source: String,
}

impl RoleProfile {
    pub const BATCH_WAIT: Nanos = Nanos(1_000_000);

    fn default_queue_depth() -> u32 {
        1
    }

    fn default_workers() -> u32 {
        1
    }

    pub fn writes(&self) -> bool {
        self.write_pct > Percent::ZERO
    }
}

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Access {
        #[default]
        Random = "random",
        Sequential = "sequential",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    #[default]
    Constant,
    /// A Poisson process: exponential gaps, as from independent users.
    Poisson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SyncRule {
    /// Writes before each call; at least 1.
    pub every: u32,
    #[serde(default)]
    pub call: SyncCall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Burst {
    /// Requests per burst; at least 1.
    pub requests: u32,
    pub pause: Nanos,
}

/// Content other than incompressible data generated once per worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum WriteData {
    /// Bytes 0 to 255 repeated (DiskSpd's default; compresses and deduplicates well).
    Ramp,
    /// New random bytes for every write.
    Fresh,
    /// Each write takes a random part of a buffer that the workers share.
    Pool {
        /// Size of the buffer; at least a block.
        size: ByteCount,
        /// Its content, repeated if the file is shorter. Absent: random bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
    },
}
