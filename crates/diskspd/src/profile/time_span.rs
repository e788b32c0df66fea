//! A time span of a DiskSpd profile: one test with its own times, threads and targets.

use super::DiskspdTarget;

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
