//! A target of a DiskSpd profile: the settings for one file or device.

use crate::distribution::{Distribution, EffectiveRange};

/// DiskSpd's default block size: 64 KiB.
pub const DEFAULT_BLOCK_BYTES: u32 = 64 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdTarget {
    /// File or device; `*1`, `*2`, … in a template.
    pub path: String,
    /// `-b`.
    pub block_bytes: u32,
    /// `-B`.
    pub base_bytes: u64,
    /// `-fs`.
    pub sequential_scan: bool,
    /// `-fr`.
    pub random_access: bool,
    /// `-ft`.
    pub temporary_file: bool,
    /// `-l`.
    pub large_pages: bool,
    /// `-S` with b, u or r.
    pub cache_mode: CacheMode,
    /// `-S` with w, and `-h`.
    pub write_through: bool,
    /// `-Sm`.
    pub memory_mapped: bool,
    /// `-N`.
    pub flush: Option<FlushKind>,
    /// `-Z`, except `-Zr`.
    pub write_buffer: WriteBuffer,
    /// `-p`.
    pub parallel_async: bool,
    /// `-i`.
    pub burst_size: Option<u32>,
    /// `-j`.
    pub think_time_ms: Option<u32>,
    /// `-c`: the file is created with this size.
    pub create_bytes: Option<u64>,
    /// `-r…` or `-s…`.
    pub access: Access,
    /// `-T`.
    pub thread_stride_bytes: u64,
    /// `-f`, or the end given with `-B`: no request crosses it; 0: the target's end.
    pub max_bytes: u64,
    /// `-o`.
    pub request_count: u32,
    /// `-w`, 0 to 100.
    pub write_pct: u32,
    /// `-g`.
    pub throughput: Option<Throughput>,
    /// `-t`.
    pub threads_per_file: u32,
    /// `-I`.
    pub io_priority: IoPriority,
    /// Weight among the targets of a pool with `-O`.
    pub weight: u32,
    /// The pool threads that use it; empty: all. XML only.
    pub thread_targets: Vec<ThreadTarget>,
}

impl DiskspdTarget {
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            block_bytes: DEFAULT_BLOCK_BYTES,
            base_bytes: 0,
            sequential_scan: false,
            random_access: false,
            temporary_file: false,
            large_pages: false,
            cache_mode: CacheMode::Cached,
            write_through: false,
            memory_mapped: false,
            flush: None,
            write_buffer: WriteBuffer::Ramp,
            parallel_async: false,
            burst_size: None,
            think_time_ms: None,
            create_bytes: None,
            access: Access::Sequential { stride_bytes: u64::from(DEFAULT_BLOCK_BYTES), interlocked: false },
            thread_stride_bytes: 0,
            max_bytes: 0,
            request_count: 2,
            write_pct: 0,
            throughput: None,
            threads_per_file: 1,
            io_priority: IoPriority::Normal,
            weight: 1,
            thread_targets: Vec::new(),
        }
    }

    /// Where its random requests go on `size_bytes` of target, relative to `-B`; empty without `-rd`.
    pub fn effective_ranges(&self, size_bytes: u64) -> Vec<EffectiveRange> {
        let end = if self.max_bytes > 0 { self.max_bytes.min(size_bytes) } else { size_bytes };
        let length = end.saturating_sub(self.base_bytes);
        let distribution = self.access.distribution();
        distribution
            .map(|it| it.effective(length, self.block_bytes, self.access.step_bytes()))
            .unwrap_or_default()
    }

    /// The number of a template, from 1; `None` for a real path.
    pub fn template_number(&self) -> Option<usize> {
        self.path.strip_prefix('*')?.parse().ok().filter(|number| *number > 0)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// The page cache: the default, and `-Sb`.
    #[default]
    Cached,
    /// Past it: `-Su`.
    NoOsCache,
    /// Not the local cache of a network file system: `-Sr`.
    NoLocalCache,
}

/// How mapped memory is flushed (`-N`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushKind {
    /// `v`.
    ViewOfFile,
    /// `n`.
    NonVolatileMemory,
    NonVolatileMemoryNoDrain,
}

impl FlushKind {
    /// All of them, with their names in XML profiles.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::ViewOfFile, "ViewOfFile"),
        (Self::NonVolatileMemory, "NonVolatileMemory"),
        (Self::NonVolatileMemoryNoDrain, "NonVolatileMemoryNoDrain"),
    ];
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteBuffer {
    /// Bytes 0 to 255 repeated: the default.
    #[default]
    Ramp,
    /// Zeros: `-Z`.
    Zero,
    /// Each write takes a random part of a buffer, filled with random bytes or from a file:
    /// `-Z<size>[,file]`.
    Random {
        bytes: u64,
        /// Source of its bytes; `None`: random.
        file: Option<String>,
    },
}

/// A limit on each thread's throughput on each target (`-g`). A float, so that nothing is truncated or wraps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Throughput {
    BytesPerMs(f64),
    /// Requests a second.
    Iops(f64),
}

/// `-I`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoPriority {
    /// 1.
    VeryLow,
    /// 2.
    Low,
    /// 3, the default.
    #[default]
    Normal,
}

impl IoPriority {
    /// 1, 2 or 3.
    pub fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::VeryLow),
            2 => Some(Self::Low),
            3 => Some(Self::Normal),
            _ => None,
        }
    }

    pub fn number(self) -> u32 {
        match self {
            Self::VeryLow => 1,
            Self::Low => 2,
            Self::Normal => 3,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTarget {
    /// Thread of the pool, from 0.
    pub thread: u32,
    /// Its own weight for the target; `None`: the target's.
    pub weight: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// `-r`, `-rs`, `-rd`.
    Random {
        /// Alignment of offsets; above 0. With a share below 100 also the stride.
        align_bytes: u64,
        /// Share of requests that jump, 1 to 100.
        random_pct: u32,
        /// `None` is uniform.
        distribution: Option<Distribution>,
    },
    /// `-s`.
    Sequential {
        /// Distance between starts; 0 repeats one offset.
        stride_bytes: u64,
        /// `-si`: threads share one sequence.
        interlocked: bool,
    },
}

impl Access {
    /// Alignment or stride, which DiskSpd stores as one number.
    pub fn step_bytes(&self) -> u64 {
        match self {
            Self::Random { align_bytes, .. } => *align_bytes,
            Self::Sequential { stride_bytes, .. } => *stride_bytes,
        }
    }

    pub fn is_random(&self) -> bool {
        matches!(self, Self::Random { .. })
    }

    pub fn is_interlocked(&self) -> bool {
        matches!(self, Self::Sequential { interlocked: true, .. })
    }

    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Self::Random { distribution, .. } => distribution.as_ref(),
            Self::Sequential { .. } => None,
        }
    }
}
