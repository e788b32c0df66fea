//! `iostall drive plan`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::build_plan::{BuildRequest, Demand, Drive, RaidLevel, Role, Spindle, Volume};
use iostall_session::build::{MeasuredDrive, PlanRequest};

use super::qualify::some_time;

const EXAMPLES: &str = "Examples:
  iostall drive plan --data 2T,3000,30%                       data: 2 TiB, 3,000 requests a second, 30 % of them writes
  iostall drive plan --os 100G --data 2T,3000,30% --log 200G,60MB/s --tempdb 300G,500,50% --backup 4T,200MB/s
  iostall drive plan --data 2T,3000,30% --raid data=5         with the penalty of parity
  iostall drive plan --data 2T,30000 --drive-size 1.92TB --drive-iops 50000 --tbw 3500TB --price 400
  iostall drive plan --data 2T,3000 --rpm 15000 --seek 3.5ms  what one spindle can do follows from its mechanics
  iostall drive plan --data 2T,30000,20% --from last          of drives like the one that was measured
  iostall drive plan --check /var/lib/postgresql              TRIM, free space, alignment and units of what is there

SIZE is followed by random requests a second, the share of writes, and sequential bytes a second, in any order.
Each figure is shown with its formula. Nothing is written. docs/plan.md is the guide.

Exit status 1: a check found something bad.";

/// What to build, of which drives, and what to look at.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["os", "data", "log", "tempdb", "backup", "check"])))]
pub(crate) struct DrivePlanArgs {
    /// The system's volume
    #[arg(long, value_name = "SIZE,…", help_heading = "Volumes")]
    os: Option<Demand>,
    /// The data files
    #[arg(long, value_name = "SIZE,…", help_heading = "Volumes")]
    data: Option<Demand>,
    /// The log
    #[arg(long, value_name = "SIZE,…", help_heading = "Volumes")]
    log: Option<Demand>,
    /// Temporary tables and sorts
    #[arg(long, value_name = "SIZE,…", help_heading = "Volumes")]
    tempdb: Option<Demand>,
    /// Backups
    #[arg(long, value_name = "SIZE,…", help_heading = "Volumes")]
    backup: Option<Demand>,
    /// Levels, such as data=5 [default: mirrors, and 6 for backups]
    #[arg(long, value_name = "VOLUME=LEVEL,…", value_delimiter = ',', value_parser = level, help_heading = "Volumes")]
    raid: Vec<(Role, RaidLevel)>,
    /// Drives that stand by for any array [default: one for each 24 that are begun]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=1_000_000), help_heading = "Volumes")]
    hot_spares: Option<u64>,

    #[command(flatten)]
    drive: DriveChoice,

    /// Look at what is under this file, directory or device
    #[arg(long, value_name = "TARGET", help_heading = "Check")]
    pub(crate) check: Option<PathBuf>,
    /// What the drives erase at once, if their maker says so
    #[arg(long, value_name = "SIZE", requires = "check", help_heading = "Check")]
    erase_block: Option<ByteCount>,

    /// As JSON; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// As an HTML page, which needs no network; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// As Markdown; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
}

/// The drive that all is built of.
#[derive(Debug, Args)]
struct DriveChoice {
    /// Capacity of a drive
    #[arg(long, value_name = "SIZE", default_value = "600GB", help_heading = "Drive")]
    drive_size: ByteCount,
    /// Random requests a second that it serves: a hard disk about 130
    #[arg(long, value_name = "IOPS", default_value = "130", value_parser = positive, help_heading = "Drive")]
    drive_iops: f64,
    /// Take its requests, their latency and its rate from this stored run of it: number, id or last
    #[arg(long, value_name = "RUN", conflicts_with_all = ["drive_iops", "rpm", "latency"], help_heading = "Drive")]
    from: Option<String>,
    /// Turns a minute of a hard disk, from which and --seek its requests follow
    #[arg(long, value_name = "N", requires = "seek", conflicts_with = "drive_iops", value_parser = positive, help_heading = "Drive")]
    rpm: Option<f64>,
    /// Its mean time to seek
    #[arg(long, value_name = "TIME", requires = "rpm", value_parser = some_time, help_heading = "Drive")]
    seek: Option<Nanos>,
    /// How long a request takes [default: one after the other]
    #[arg(long, value_name = "TIME", value_parser = some_time, help_heading = "Drive")]
    latency: Option<Nanos>,
    /// Sequential bytes a second
    #[arg(long, value_name = "RATE", default_value = "100MB/s", value_parser = crate::cli::rate::bytes_per_second, help_heading = "Drive")]
    drive_rate: u64,
    /// Bytes a second of a rebuild beside the load [default: half of --drive-rate]
    #[arg(long, value_name = "RATE", value_parser = crate::cli::rate::bytes_per_second, help_heading = "Drive")]
    rebuild_rate: Option<u64>,
    /// Sectors that cannot be read, for each bit that is read: 1e-14 to 1e-17 in data sheets
    #[arg(long, value_name = "SHARE", default_value = "1e-15", value_parser = share, help_heading = "Drive")]
    errors_per_bit: f64,
    /// Mean time between failures, hours
    #[arg(long, value_name = "HOURS", default_value = "1200000", value_parser = positive, help_heading = "Drive")]
    mtbf: f64,
    /// Bytes that may be written in its life
    #[arg(long, value_name = "SIZE", help_heading = "Drive")]
    tbw: Option<ByteCount>,
    /// Price of a drive, in any currency
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Drive")]
    price: Option<f64>,
    /// Bytes of a random request
    #[arg(long, value_name = "SIZE", default_value = "8K", help_heading = "Drive")]
    request_size: ByteCount,
}

impl DrivePlanArgs {
    /// The run whose drive is taken.
    pub(crate) fn measured_run(&self) -> Option<&str> {
        self.drive.from.as_deref()
    }

    pub(crate) fn request_size(&self) -> ByteCount {
        self.drive.request_size
    }

    /// Refuses levels that no volume would have.
    pub(crate) fn check_levels(&self) -> anyhow::Result<()> {
        let mut seen: Vec<Role> = Vec::new();
        for (role, level) in &self.raid {
            let name = role.name();
            anyhow::ensure!(!seen.contains(role), "--raid gives {name} two levels: write one of them");
            let is_asked = self.demands().iter().any(|(of, demand)| of == role && demand.is_some());
            anyhow::ensure!(
                is_asked,
                "--raid {name}={level} is for a volume that is not asked for: add --{name} SIZE"
            );
            seen.push(*role);
        }
        Ok(())
    }

    fn demands(&self) -> [(Role, Option<Demand>); 5] {
        [
            (Role::Os, self.os),
            (Role::Data, self.data),
            (Role::Log, self.log),
            (Role::Tempdb, self.tempdb),
            (Role::Backup, self.backup),
        ]
    }

    /// What was typed, as a request.
    /// `measured` is the drive of the run that [`Self::measured_run`] names.
    pub(crate) fn request(&self, measured: Option<&MeasuredDrive>) -> PlanRequest {
        let level = |role| self.raid.iter().find(|(of, _)| *of == role).map(|(_, level)| *level);
        let volume = |(role, demand): (Role, Option<Demand>)| {
            demand.map(|demand| Volume { role, demand, level: level(role) })
        };
        let volumes: Vec<Volume> = self.demands().into_iter().filter_map(volume).collect();
        let build = (!volumes.is_empty()).then(|| BuildRequest {
            volumes,
            drive: self.drive.drive(measured),
            request_bytes: self.drive.request_size,
            hot_spares: self.hot_spares,
        });
        PlanRequest { build, check: self.check.clone(), erase_block: self.erase_block }
    }
}

impl DriveChoice {
    fn drive(&self, measured: Option<&MeasuredDrive>) -> Drive {
        let spindle = self
            .rpm
            .zip(self.seek)
            .map(|(turns_per_minute, seek)| Spindle { seek_ms: seek.0 as f64 / 1e6, turns_per_minute });
        let iops = match (measured, spindle) {
            (Some(measured), _) => measured.iops,
            (None, Some(spindle)) => 1e3 / spindle.request_ms(),
            (None, None) => self.drive_iops,
        };
        let latency_ms = measured.map_or(1e3 / iops, |measured| measured.latency_ms);
        let rate = measured.and_then(|measured| measured.bytes_per_s).unwrap_or(self.drive_rate as f64);
        Drive {
            size: self.drive_size,
            iops,
            iops_from: measured.map_or_else(|| "--drive-iops".to_owned(), |measured| measured.from.clone()),
            spindle,
            latency_ms: self.latency.map_or(latency_ms, |time| time.0 as f64 / 1e6),
            bytes_per_s: rate,
            rebuild_bytes_per_s: self.rebuild_rate.map_or(rate / 2.0, |rate| rate as f64),
            errors_per_bit: self.errors_per_bit,
            mtbf_h: self.mtbf,
            rated: self.tbw,
            price: self.price,
        }
    }
}

/// `data=5`.
fn level(text: &str) -> Result<(Role, RaidLevel), String> {
    let (role, level) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not VOLUME=LEVEL, such as data=5 or log=10"))?;
    let role: Role = role.parse().map_err(|error| format!("{error}"))?;
    Ok((role, level.parse().map_err(|error| format!("{error}"))?))
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1e-9..=1e15).contains(&number) => Ok(number),
        _ => Err(format!("{text:?} is no number above 0")),
    }
}

/// A share above 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("{text:?} is no share, such as 1e-15")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_numbers_read_as_they_are_typed() {
        assert_eq!(level("data=5"), Ok((Role::Data, RaidLevel::R5)));
        for wrong in ["data", "data=", "data=7", "disk=5", "="] {
            assert!(level(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "-1", "nan", "inf", "x", ""] {
            assert!(positive(wrong).is_err() && share(wrong).is_err(), "{wrong}");
        }
        assert!(share("1").is_err() && share("1e-15").is_ok());
    }
}
