//! What a volume of Amazon EBS says of itself: the detailed statistics of its NVMe controller, log page D0h.
//!
//! Layout (public: the metrics of the CloudWatch agent, the plugin of nvme-cli, and agents of its users), little-endian, 4096 bytes:
//!
//! ```text
//! 0 magic 3C23B510h, 4 bytes | 8 eleven counters of 8 bytes | 512 latencies of reads, 1544 bytes | 2056 of writes, 1544 bytes
//! latencies: number of bins, 8 bytes | 64 bins of: from, to (microseconds, 8 bytes each), count (4 bytes), 4 bytes
//! ```

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The counters since the volume was attached; of two logs, what came in between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeLog {
    pub read_ops: u64,
    pub write_ops: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read_us: u64,
    pub write_us: u64,
    /// How long more requests were asked for than the volume allows, microseconds.
    pub over_volume_iops_us: u64,
    /// How long more bytes were asked for than the volume allows, microseconds.
    pub over_volume_throughput_us: u64,
    /// How long more requests were asked for than the machine allows for all its volumes, microseconds.
    pub over_machine_iops_us: u64,
    /// How long more bytes were asked for than the machine allows for all its volumes, microseconds.
    pub over_machine_throughput_us: u64,
    /// Requests that wait, when it was read.
    pub queue_length: u64,
    /// Reads by latency, bins without any left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_latencies: Vec<LatencyBin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_latencies: Vec<LatencyBin>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBin {
    pub from_us: u64,
    pub to_us: u64,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum VolumeLogError {
    #[error("it has {found} bytes and a log of an EBS volume has {}", VolumeLog::BYTES)]
    Length { found: usize },
    #[error("it begins with {found:08x}h and a log of an EBS volume with {:08x}h", VolumeLog::MAGIC)]
    Magic { found: u32 },
    #[error("it counts {found} bins of latencies and has room for {}", VolumeLog::BINS)]
    Bins { found: u64 },
}

impl VolumeLog {
    pub const PAGE: u8 = 0xd0;
    pub const BYTES: usize = 4096;
    const MAGIC: u32 = 0x3c23_b510;
    const BINS: usize = 64;
    const READS_AT: usize = 512;
    const WRITES_AT: usize = 2056;

    pub fn decode(bytes: &[u8]) -> Result<Self, VolumeLogError> {
        if bytes.len() < Self::BYTES {
            return Err(VolumeLogError::Length { found: bytes.len() });
        }
        let magic = u32::try_from(number(bytes, 0) & 0xffff_ffff).unwrap_or(0);
        if magic != Self::MAGIC {
            return Err(VolumeLogError::Magic { found: magic });
        }
        let counter = |index: usize| number(bytes, 8 + index * 8);
        Ok(Self {
            read_ops: counter(0),
            write_ops: counter(1),
            read_bytes: counter(2),
            write_bytes: counter(3),
            read_us: counter(4),
            write_us: counter(5),
            over_volume_iops_us: counter(6),
            over_volume_throughput_us: counter(7),
            over_machine_iops_us: counter(8),
            over_machine_throughput_us: counter(9),
            queue_length: counter(10),
            read_latencies: bins(bytes, Self::READS_AT)?,
            write_latencies: bins(bytes, Self::WRITES_AT)?,
        })
    }

    /// What came between `earlier` and this log; `None` if a counter is smaller: the volume was attached again.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let (now, then) = (self, earlier);
        Some(Self {
            read_ops: now.read_ops.checked_sub(then.read_ops)?,
            write_ops: now.write_ops.checked_sub(then.write_ops)?,
            read_bytes: now.read_bytes.checked_sub(then.read_bytes)?,
            write_bytes: now.write_bytes.checked_sub(then.write_bytes)?,
            read_us: now.read_us.checked_sub(then.read_us)?,
            write_us: now.write_us.checked_sub(then.write_us)?,
            over_volume_iops_us: now.over_volume_iops_us.checked_sub(then.over_volume_iops_us)?,
            over_volume_throughput_us: now
                .over_volume_throughput_us
                .checked_sub(then.over_volume_throughput_us)?,
            over_machine_iops_us: now.over_machine_iops_us.checked_sub(then.over_machine_iops_us)?,
            over_machine_throughput_us: now
                .over_machine_throughput_us
                .checked_sub(then.over_machine_throughput_us)?,
            queue_length: now.queue_length,
            read_latencies: bins_since(&now.read_latencies, &then.read_latencies)?,
            write_latencies: bins_since(&now.write_latencies, &then.write_latencies)?,
        })
    }

    /// Mean latency of reads, and of writes, nanoseconds; `None` where there were none.
    pub fn latency_ns_mean(&self) -> (Option<f64>, Option<f64>) {
        let mean = |us: u64, ops: u64| (ops > 0).then(|| us as f64 * 1e3 / ops as f64);
        (mean(self.read_us, self.read_ops), mean(self.write_us, self.write_ops))
    }
}

impl LatencyBin {
    /// The bin in which this share of `bins` is reached, such as 0.99; `None` if they are empty. What is in a bin may lie anywhere in it.
    pub fn reaching(bins: &[Self], share: f64) -> Option<Self> {
        let whole: u64 = bins.iter().map(|bin| bin.count).sum();
        let mut sum = 0;
        bins.iter().copied().find(|bin| {
            sum += bin.count;
            bin.count > 0 && sum as f64 >= whole as f64 * share
        })
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..at + 8).and_then(|word| <[u8; 8]>::try_from(word).ok());
    word.map_or(0, u64::from_le_bytes)
}

fn bins(bytes: &[u8], at: usize) -> Result<Vec<LatencyBin>, VolumeLogError> {
    let found = number(bytes, at);
    let count = usize::try_from(found).ok().filter(|count| *count <= VolumeLog::BINS);
    let count = count.ok_or(VolumeLogError::Bins { found })?;
    let bin = |index: usize| {
        let at = at + 8 + index * 24;
        let count = number(bytes, at + 16) & 0xffff_ffff;
        LatencyBin { from_us: number(bytes, at), to_us: number(bytes, at + 8), count }
    };
    Ok((0..count).map(bin).filter(|bin| bin.count > 0).collect())
}

/// A count has 32 bits and may have begun again at 0.
fn bins_since(now: &[LatencyBin], then: &[LatencyBin]) -> Option<Vec<LatencyBin>> {
    let difference = |bin: &LatencyBin| {
        let before =
            then.iter().find(|before| before.from_us == bin.from_us).map_or(0, |before| before.count);
        let count = bin.count.wrapping_sub(before) & 0xffff_ffff;
        LatencyBin { count, ..*bin }
    };
    let lost = then.iter().any(|before| !now.iter().any(|bin| bin.from_us == before.from_us));
    let found: Vec<LatencyBin> = now.iter().map(difference).filter(|bin| bin.count > 0).collect();
    (!lost).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with these counters, and a bin of reads.
    fn page(counters: [u64; 11], bin: (u64, u64, u32)) -> Vec<u8> {
        let mut bytes = vec![0; VolumeLog::BYTES];
        bytes[..4].copy_from_slice(&0x3c23_b510_u32.to_le_bytes());
        for (index, counter) in counters.into_iter().enumerate() {
            bytes[8 + index * 8..16 + index * 8].copy_from_slice(&counter.to_le_bytes());
        }
        bytes[512..520].copy_from_slice(&2_u64.to_le_bytes());
        bytes[544..552].copy_from_slice(&bin.0.to_le_bytes());
        bytes[552..560].copy_from_slice(&bin.1.to_le_bytes());
        bytes[560..564].copy_from_slice(&bin.2.to_le_bytes());
        // What is reserved may have anything.
        bytes[564..568].fill(0xff);
        bytes[3600..].fill(0xff);
        bytes
    }

    #[test]
    fn each_counter_has_its_place() {
        let log = VolumeLog::decode(&page([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], (512, 1024, 42))).unwrap();
        assert_eq!((log.read_ops, log.write_ops, log.read_bytes, log.write_bytes), (1, 2, 3, 4));
        assert_eq!((log.read_us, log.write_us), (5, 6));
        assert_eq!((log.over_volume_iops_us, log.over_volume_throughput_us), (7, 8));
        assert_eq!((log.over_machine_iops_us, log.over_machine_throughput_us), (9, 10));
        assert_eq!(log.queue_length, 11);
        assert_eq!(log.read_latencies, [LatencyBin { from_us: 512, to_us: 1024, count: 42 }]);
        assert!(log.write_latencies.is_empty());
        assert_eq!(log.latency_ns_mean(), (Some(5000.0), Some(3000.0)));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let good = page([0; 11], (0, 0, 0));
        assert_eq!(VolumeLog::decode(&good[..4095]), Err(VolumeLogError::Length { found: 4095 }));
        assert_eq!(VolumeLog::decode(&[0; 4096]), Err(VolumeLogError::Magic { found: 0 }));
        let mut many = good.clone();
        many[512..520].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(VolumeLog::decode(&many), Err(VolumeLogError::Bins { found: u64::MAX }));
        many[512..520].copy_from_slice(&65_u64.to_le_bytes());
        assert!(VolumeLog::decode(&many).is_err());
        assert!(VolumeLog::decode(&[]).is_err());
    }

    #[test]
    fn between_two_logs_is_what_was_added_and_a_volume_attached_again_has_no_difference() {
        let of =
            |base: u64, count: u32| VolumeLog::decode(&page([base; 11], (512, 1024, count))).expect("a log");
        let (then, now) = (of(100, u32::MAX), of(160, 9));
        let between = now.since(&then).unwrap();
        assert_eq!(
            (between.read_ops, between.over_machine_throughput_us, between.queue_length),
            (60, 60, 160)
        );
        // 32 bits that began again.
        assert_eq!(between.read_latencies[0].count, 10);
        assert_eq!(then.since(&now), None);
    }

    #[test]
    fn a_share_is_reached_in_the_bin_that_holds_it() {
        let bin = |from_us: u64, count: u64| LatencyBin { from_us, to_us: from_us * 2, count };
        let bins = [bin(100, 90), bin(200, 9), bin(400, 1)];
        let reached = |share: f64| LatencyBin::reaching(&bins, share).map(|bin| bin.from_us);
        assert_eq!((reached(0.5), reached(0.95), reached(0.999)), (Some(100), Some(200), Some(400)));
        assert_eq!(LatencyBin::reaching(&[], 0.5), None);
    }
}
