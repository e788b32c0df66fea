//! DiskSpd's own nouns: the profile, its time spans, their targets.
//!
//! Field by field what DiskSpd's XML profile holds. Numbers are in the unit their name ends with.

use super::distribution::Distribution;

/// DiskSpd's default block size: 64 KiB.
pub const DEFAULT_BLOCK_BYTES: u32 = 64 * 1024;

/// A whole DiskSpd test: what one command line or one XML profile asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdProfile {
    /// A dot is printed after so many completions of a thread (`-P`); 0: none.
    pub progress: u32,
    /// Bit mask of `-:`; 0: none.
    pub experiment_flags: u32,
    /// Which reports are printed.
    pub result_formats: ResultFormats,
    /// `-v`.
    pub verbose: bool,
    /// `-vs`: the wait statistics table.
    pub verbose_stats: bool,
    /// Files to make before the first time span. XML only.
    pub precreate_files: Option<PrecreateFiles>,
    /// One after the other; a checked profile has at least one.
    pub time_spans: Vec<DiskspdTimeSpan>,
}

impl Default for DiskspdProfile {
    fn default() -> Self {
        Self {
            progress: 0,
            experiment_flags: 0,
            result_formats: ResultFormats::TEXT,
            verbose: false,
            verbose_stats: false,
            precreate_files: None,
            time_spans: Vec::new(),
        }
    }
}

/// Which reports are printed; at least one. Both at once is our extension (`-Rtext,xml`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultFormats {
    /// The text report.
    pub text: bool,
    /// The XML report.
    pub xml: bool,
}

impl ResultFormats {
    /// Text alone, the default.
    pub const TEXT: Self = Self { text: true, xml: false };
    /// XML alone.
    pub const XML: Self = Self { text: false, xml: true };
    /// Both from one run.
    pub const BOTH: Self = Self { text: true, xml: true };

    /// `text`, `xml`, `text,xml` or `xml,text`.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "text" => Some(Self::TEXT),
            "xml" => Some(Self::XML),
            "text,xml" | "xml,text" => Some(Self::BOTH),
            _ => None,
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match (self.text, self.xml) {
            (true, true) => "text,xml",
            (false, true) => "xml",
            _ => "text",
        }
    }
}

/// Which files are made before the first time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecreateFiles {
    /// Each in the largest size that any time span gives it.
    UseMaxSize,
    /// Only files that have the same size in every time span.
    OnlyConstantSizes,
    /// Only files that have the same size, or none, in every time span.
    OnlyConstantOrZeroSizes,
}

impl PrecreateFiles {
    /// All, with the words of the XML profile.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::UseMaxSize, "UseMaxSize"),
        (Self::OnlyConstantSizes, "CreateOnlyFilesWithConstantSizes"),
        (Self::OnlyConstantOrZeroSizes, "CreateOnlyFilesWithConstantOrZeroSizes"),
    ];
}

/// Warm-up, measured part and cool-down with one set of targets.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdTimeSpan {
    /// `-x`: completion routines instead of completion ports.
    pub completion_routines: bool,
    /// `-L`.
    pub measure_latency: bool,
    /// `-D`.
    pub iops_stdev: bool,
    /// `-n`: threads are not pinned.
    pub disable_affinity: bool,
    /// `-d`.
    pub duration_s: u32,
    /// `-W`.
    pub warmup_s: u32,
    /// `-C`.
    pub cooldown_s: u32,
    /// `-F`: size of the thread pool; 0: threads belong to targets.
    pub thread_count: u32,
    /// `-O`: outstanding requests of a pool thread over all targets; 0: each target has its own.
    pub request_count: u32,
    /// Width of an interval of `-D`.
    pub bucket_ms: u32,
    /// `-z`.
    pub seed: u32,
    /// `-Zr`: new random bytes for every write.
    pub random_write_data: bool,
    /// `-a`: processors in round-robin order; empty: all.
    pub affinity: Vec<CpuAssignment>,
    /// A checked time span has at least one.
    pub targets: Vec<DiskspdTarget>,
}

impl Default for DiskspdTimeSpan {
    fn default() -> Self {
        Self {
            completion_routines: false,
            measure_latency: false,
            iops_stdev: false,
            disable_affinity: false,
            duration_s: 10,
            warmup_s: 5,
            cooldown_s: 0,
            thread_count: 0,
            request_count: 0,
            bucket_ms: 1000,
            seed: 0,
            random_write_data: false,
            affinity: Vec::new(),
            targets: Vec::new(),
        }
    }
}

impl DiskspdTimeSpan {
    /// Threads of the time span, all targets together.
    pub fn total_threads(&self) -> u64 {
        if self.thread_count > 0 {
            return u64::from(self.thread_count);
        }
        self.targets.iter().map(|target| u64::from(target.threads_per_file)).sum()
    }

    /// Threads that work on `target`.
    pub fn threads_on(&self, target: &DiskspdTarget) -> u32 {
        match (self.thread_count, target.thread_targets.len()) {
            (0, _) => target.threads_per_file,
            (pool, 0) => pool,
            (_, named) => u32::try_from(named).unwrap_or(u32::MAX),
        }
    }
}

/// A processor, counted in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAssignment {
    /// Processor group. Linux has one, 0.
    pub group: u16,
    /// Processor in the group.
    pub processor: u8,
}

/// One target with its settings.
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
    /// `-Z` but for `-Zr`.
    pub write_buffer: WriteBuffer,
    /// `-p`.
    pub parallel_async: bool,
    /// `-i`.
    pub burst_size: Option<u32>,
    /// `-j`.
    pub think_time_ms: Option<u32>,
    /// `-c`: the file is made in this size.
    pub create_bytes: Option<u64>,
    /// `-r…` or `-s…`.
    pub access: Access,
    /// `-T`.
    pub thread_stride_bytes: u64,
    /// `-f`, or the end that `-B` gives: no request crosses it; 0: the target's end.
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
    /// The pool threads that work on it; empty: all. XML only.
    pub thread_targets: Vec<ThreadTarget>,
}

impl DiskspdTarget {
    /// `path` with every default.
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

    /// The number of a template's place, from 1; `None` for a real path.
    pub fn template_number(&self) -> Option<usize> {
        self.path.strip_prefix('*')?.parse().ok().filter(|number| *number > 0)
    }
}

/// Which caches the operating system may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// Through the page cache: the default, and `-Sb`.
    #[default]
    Cached,
    /// Past it: `-Su`.
    NoOsCache,
    /// Past the local cache of a network file system: `-Sr`.
    NoLocalCache,
}

/// How mapped memory is flushed (`-N`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushKind {
    /// `v`.
    ViewOfFile,
    /// `n`.
    NonVolatileMemory,
    /// `i`.
    NonVolatileMemoryNoDrain,
}

impl FlushKind {
    /// All, with the words of the XML profile.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::ViewOfFile, "ViewOfFile"),
        (Self::NonVolatileMemory, "NonVolatileMemory"),
        (Self::NonVolatileMemoryNoDrain, "NonVolatileMemoryNoDrain"),
    ];
}

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteBuffer {
    /// Bytes 0 to 255 over and over: the default.
    #[default]
    Ramp,
    /// Zeros: `-Z`.
    Zero,
    /// A buffer of random bytes, or of a file's, that each write takes a random part of: `-Z<size>[,file]`.
    Random {
        /// Size of the buffer.
        bytes: u64,
        /// Where its bytes come from; `None`: random.
        file: Option<String>,
    },
}

/// Random or sequential.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// `-r`, `-rs`, `-rd`.
    Random {
        /// Offsets are multiples of it; above 0. With a share below 100 also the stride.
        align_bytes: u64,
        /// Share of requests that jump, 1 to 100.
        random_pct: u32,
        /// Where they land; `None`: everywhere alike.
        distribution: Option<Distribution>,
    },
    /// `-s`.
    Sequential {
        /// Distance between starts; 0 stays at one offset.
        stride_bytes: u64,
        /// `-si`: threads share one sequence.
        interlocked: bool,
    },
}

impl Access {
    /// Alignment or stride: one number in DiskSpd.
    pub fn step_bytes(&self) -> u64 {
        match self {
            Self::Random { align_bytes, .. } => *align_bytes,
            Self::Sequential { stride_bytes, .. } => *stride_bytes,
        }
    }

    /// Whether any request is random.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Random { .. })
    }

    /// Whether threads share one sequence.
    pub fn is_interlocked(&self) -> bool {
        matches!(self, Self::Sequential { interlocked: true, .. })
    }

    /// The distribution, where there is one.
    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Self::Random { distribution, .. } => distribution.as_ref(),
            Self::Sequential { .. } => None,
        }
    }
}

/// A limit on each thread's throughput on each target (`-g`). A float, so that nothing is cut off or wraps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Throughput {
    /// Bytes a millisecond.
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

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::VeryLow => 1,
            Self::Low => 2,
            Self::Normal => 3,
        }
    }
}

/// A pool thread that works on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTarget {
    /// Thread of the pool, from 0.
    pub thread: u32,
    /// Its own weight of the target; `None`: the target's.
    pub weight: Option<u32>,
}
