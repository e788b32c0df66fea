//! A DiskSpd profile: the content of a command line or an XML document.
//!
//! The fields are those of DiskSpd's XML profile. Numbers are in the unit at the end of their name.

mod target;

pub use target::{
    Access, CacheMode, DEFAULT_BLOCK_BYTES, DiskspdTarget, FlushKind, IoPriority, ThreadTarget, Throughput,
    WriteBuffer,
};

#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdProfile {
    /// Print a dot after this many completions of a thread (`-P`); 0: never.
    pub progress: u32,
    /// Bit mask of `-:`; 0: none.
    pub experiment_flags: u32,
    pub result_formats: ResultFormats,
    /// `-v`.
    pub verbose: bool,
    /// `-vs`: the wait statistics table.
    pub verbose_stats: bool,
    pub precreate_files: Option<PrecreateFiles>,
    /// In sequence; a checked profile has at least one.
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
    pub text: bool,
    pub xml: bool,
}

impl ResultFormats {
    pub const TEXT: Self = Self { text: true, xml: false };
    pub const XML: Self = Self { text: false, xml: true };
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

    pub fn word(self) -> &'static str {
        match (self.text, self.xml) {
            (true, true) => "text,xml",
            (false, true) => "xml",
            _ => "text",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecreateFiles {
    /// Create each file once, with its largest size in any time span.
    UseMaxSize,
    /// Only files with the same size in every time span.
    OnlyConstantSizes,
    /// Only files with the same size, or none, in every time span.
    OnlyConstantOrZeroSizes,
}

impl PrecreateFiles {
    /// All of them, with their names in XML profiles.
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
    /// Width of an interval for `-D`.
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
    pub fn total_threads(&self) -> u64 {
        if self.thread_count > 0 {
            return u64::from(self.thread_count);
        }
        self.targets.iter().map(|target| u64::from(target.threads_per_file)).sum()
    }

    pub fn threads_on(&self, target: &DiskspdTarget) -> u32 {
        match (self.thread_count, target.thread_targets.len()) {
            (0, _) => target.threads_per_file,
            (pool, 0) => pool,
            (_, named) => u32::try_from(named).unwrap_or(u32::MAX),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAssignment {
    /// Processor group. Linux has one, 0.
    pub group: u16,
    pub processor: u8,
}
