//! What a database server is built for: volumes and what each needs, and the drive that it is built of.

use std::str::FromStr;

use iostall_measure::{ByteCount, Percent, named};
use serde::Serialize;

use super::error::BuildError;
use super::level::RaidLevel;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Role {
        Os = "os",
        Data = "data",
        Log = "log",
        Tempdb = "tempdb",
        Backup = "backup",
    }
}

impl Role {
    /// The level where none is asked for: mirrors, but for backups, which are large, sequential and not the only copy.
    pub fn usual_level(self) -> RaidLevel {
        match self {
            Self::Os => RaidLevel::R1,
            Self::Data | Self::Log | Self::Tempdb => RaidLevel::R10,
            Self::Backup => RaidLevel::R6,
        }
    }
}

impl FromStr for Role {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        Self::named(text.trim()).ok_or_else(|| BuildError::Role { text: text.to_owned() })
    }
}

/// What a volume needs: `SIZE`, then in any order random requests a second, the share of writes in percent, and sequential bytes a
/// second: `2T,3000,30%`, `100G,60MB/s`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demand {
    pub size: ByteCount,
    pub iops: f64,
    pub writes: Percent,
    /// Sequential bytes a second, such as those of a log: all are taken for writes.
    pub sequential_bytes_per_s: f64,
}

/// More than any server asks for.
const IOPS_MAX: f64 = 1e9;

impl FromStr for Demand {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let refuse = || BuildError::Demand { text: text.to_owned() };
        let mut parts = text.split(',').map(str::trim);
        let size: ByteCount = parts.next().unwrap_or_default().parse().map_err(|_| refuse())?;
        let (mut iops, mut writes, mut sequential) = (None, None, None);
        for part in parts {
            let is_new = if let Some(rate) = part.strip_suffix("/s") {
                let rate: ByteCount = rate.parse().map_err(|_| refuse())?;
                sequential.replace(rate.bytes() as f64).is_none()
            } else if part.ends_with('%') {
                writes.replace(part.parse::<Percent>().map_err(|_| refuse())?).is_none()
            } else {
                iops.replace(part.parse::<f64>().map_err(|_| refuse())?).is_none()
            };
            if !is_new {
                return Err(refuse());
            }
        }
        let iops = iops.unwrap_or(0.0);
        if size.bytes() == 0 || !(0.0..=IOPS_MAX).contains(&iops) {
            return Err(refuse());
        }
        Ok(Self {
            size,
            iops,
            writes: writes.unwrap_or(Percent::ZERO),
            sequential_bytes_per_s: sequential.unwrap_or(0.0),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spindle {
    pub seek_ms: f64,
    pub turns_per_minute: f64,
}

impl Spindle {
    pub fn half_turn_ms(self) -> f64 {
        30_000.0 / self.turns_per_minute
    }

    pub fn request_ms(self) -> f64 {
        self.seek_ms + self.half_turn_ms()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drive {
    pub size: ByteCount,
    pub iops: f64,
    /// Where that comes from, in a few words.
    pub iops_from: String,
    /// If it is a hard disk whose requests follow from its mechanics.
    pub spindle: Option<Spindle>,
    pub latency_ms: f64,
    /// Sequential bytes a second, also while it is rebuilt.
    pub bytes_per_s: f64,
    pub rebuild_bytes_per_s: f64,
    /// Sectors that cannot be read, for each bit that is read.
    pub errors_per_bit: f64,
    /// Mean time between failures, hours.
    pub mtbf_h: f64,
    /// Bytes that may be written in its life, if it is worn by writes.
    pub rated: Option<ByteCount>,
    /// In any currency.
    pub price: Option<f64>,
}

/// What the drives do for one random request of the host.
pub(super) fn operations_per_request(demand: &Demand, level: RaidLevel) -> f64 {
    let writes = demand.writes.fraction();
    (1.0 - writes) + writes * f64::from(level.write_penalty())
}

pub(super) fn drives_for_size(demand: &Demand, level: RaidLevel, drive: &Drive) -> f64 {
    let size = (drive.size.bytes() as f64).max(1.0);
    level.with_redundancy((demand.size.bytes() as f64 / size).ceil().max(1.0))
}

pub(super) fn drives_for_iops(demand: &Demand, level: RaidLevel, drive: &Drive) -> f64 {
    (demand.iops * operations_per_request(demand, level) / drive.iops).ceil()
}

/// Drives for the sequential bytes of a volume, a whole number: whole stripes, to each drive with data its part.
pub(super) fn drives_for_rate(demand: &Demand, level: RaidLevel, drive: &Drive) -> f64 {
    if demand.sequential_bytes_per_s <= 0.0 {
        return 0.0;
    }
    level.with_redundancy((demand.sequential_bytes_per_s / drive.bytes_per_s).ceil())
}
