//! Drives as a watched source: a device that is asked, or a directory where somebody saves documents.

use std::path::PathBuf;
use std::time::Duration;

use iostall_connect::{Address, SourceError};
use iostall_model::drive::{CountedBytes, CountedPercent, DriveHistory, DriveIdentity, DriveReading, Wear};
use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, Scope, Subject, Warning, WarningCode};
use jiff::Timestamp;

use super::error::SmartError;
use super::place::read;
use crate::sample_time;
use crate::source::Source;

/// Between the serial number and the model, where the number alone tells no drives apart.
const OF_MODEL: &str = " of ";
/// What a stored counter comes from, where the document itself is gone.
const STORED: &str = "the store";

pub(crate) struct SmartSource {
    name: String,
    place: PathBuf,
    limit: Duration,
}

impl SmartSource {
    pub(crate) fn new(address: &Address, limit: Duration) -> Self {
        Self { name: address.to_string(), place: address.database.clone().into(), limit }
    }

    fn failed(&self, error: &SmartError) -> SourceError {
        SourceError::Drive { source_name: self.name.clone(), reason: error.to_string(), hint: error.hint() }
    }
}

impl Source for SmartSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let taken = sample_time::now();
        let drives = read(&self.place, self.limit).map_err(|error| self.failed(&error))?;
        let newest = newest(drives.readings);
        if let ([], Some(error)) = (newest.as_slice(), drives.skipped.first()) {
            return Err(self.failed(error));
        }
        let left_out = drives
            .skipped
            .iter()
            .map(|error| Warning::new(WarningCode::NotRead, error.to_string()).about(self.name.clone()));
        let mut warnings: Vec<Warning> = left_out.collect();
        let mut rows = Vec::new();
        let placed: Vec<bool> = newest.iter().map(|reading| reading.drive.place.is_some()).collect();
        for reading in newest {
            let serial = &reading.drive.serial;
            warnings.extend(reading.warnings.iter().map(|warning| warning.clone().about(serial.clone())));
            rows.push(row(&reading));
        }
        give_identities(&mut rows, &placed);
        // A drive counts from its making on, whatever restarts here; a counter that goes back is seen as such.
        let made = "made".to_owned();
        let instance = self.name.clone();
        let epoch = Epoch {
            instance,
            version: 1,
            process_start: made.clone(),
            counters_since: vec![made],
            uptime_s: None,
        };
        Ok(Sample { taken, epoch, rows, warnings })
    }
}

/// The newest reading of each drive, with its logs of the same time together.
fn newest(readings: Vec<DriveReading>) -> Vec<DriveReading> {
    let histories = DriveHistory::by_drive(readings).into_iter().filter_map(DriveHistory::of);
    histories.map(|history| DriveReading { drive: history.drive(), ..history.latest().clone() }).collect()
}

/// Gives rows without a serial number of their own an identity. `placed` are those that only their place tells apart.
fn give_identities(rows: &mut [Row], placed: &[bool]) {
    let serials: Vec<String> = rows.iter().map(|row| row.subject.identity.clone()).collect();
    for (index, (row, is_placed)) in rows.iter_mut().zip(placed).enumerate() {
        let serial = &serials[index];
        let twins = serials.iter().filter(|other| *other == serial).count();
        if *is_placed || twins > 1 {
            let model = row.subject.name.strip_suffix(serial.as_str()).unwrap_or_default().trim();
            let size = row.counters.get(Counter::SizeBytes).unwrap_or(0);
            let number = serials[..index].iter().filter(|other| *other == serial).count();
            row.subject.identity = format!("{serial}{OF_MODEL}{model}, {size} bytes, {number}");
        }
    }
}

pub fn row(reading: &DriveReading) -> Row {
    let (drive, wear) = (&reading.drive, &reading.wear);
    let read = reading.taken_utc.and_then(|taken| u64::try_from(taken.as_second()).ok());
    let is_failing = wear.passed == Some(false) || wear.critical_warning.is_some_and(|bits| bits != 0);
    let counters = Counters::new()
        .with_opt(Counter::WriteBytes, wear.host_bytes())
        .with_opt(Counter::NandBytes, wear.nand_bytes())
        .with_opt(Counter::UsedPercent, wear.used_percent())
        .with_opt(Counter::SparePercent, wear.spare_percent)
        .with_opt(Counter::SpareThresholdPercent, wear.spare_threshold_percent)
        .with_opt(Counter::PowerOnHours, wear.power_on_hours)
        .with_opt(Counter::EraseCycles, wear.erase_cycles)
        .with_opt(Counter::SizeBytes, drive.capacity_bytes)
        .with_opt(Counter::DriveRead, read)
        .with(Counter::DriveFailing, u64::from(is_failing));
    let subject = Subject {
        kind: Kind::SmartDrive,
        scope: Scope::Source,
        name: format!("{} {}", drive.model, drive.serial).trim().to_owned(),
        identity: drive.serial.clone(),
        volume: None,
    };
    Row { subject, counters, age_ms: None }
}

/// The reading that was stored as `row`, in a sample taken at `taken`; `None` if it is no drive.
pub fn of_row(row: &Row, taken: Timestamp) -> Option<DriveReading> {
    let (subject, get) = (&row.subject, |counter| row.counters.get(counter));
    if subject.kind != Kind::SmartDrive {
        return None;
    }
    let counted = |counter| get(counter).map(|bytes| CountedBytes { bytes, origin: STORED.to_owned() });
    let used = get(Counter::UsedPercent).map(|percent| CountedPercent { percent, origin: STORED.to_owned() });
    let read =
        get(Counter::DriveRead).and_then(|second| Timestamp::from_second(i64::try_from(second).ok()?).ok());
    let wear = Wear {
        host: counted(Counter::WriteBytes),
        nand: counted(Counter::NandBytes),
        used,
        spare_percent: get(Counter::SparePercent),
        spare_threshold_percent: get(Counter::SpareThresholdPercent),
        power_on_hours: get(Counter::PowerOnHours),
        erase_cycles: get(Counter::EraseCycles),
        passed: get(Counter::DriveFailing).map(|failing| failing == 0),
        ..Wear::default()
    };
    let serial = subject.identity.split(OF_MODEL).next().unwrap_or_default();
    let drive = DriveIdentity {
        model: subject.name.strip_suffix(serial).unwrap_or(&subject.name).trim().to_owned(),
        serial: serial.to_owned(),
        place: subject.identity.contains(OF_MODEL).then(|| subject.identity.clone()),
        capacity_bytes: get(Counter::SizeBytes),
        ..DriveIdentity::default()
    };
    Some(DriveReading { drive, taken_utc: read.or(Some(taken)), wear, warnings: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const DOCUMENT: &str = include_str!("../../testdata/smart/intel_sata.json");

    fn source(place: &std::path::Path) -> SmartSource {
        SmartSource::new(&format!("smart:{}", place.display()).parse().unwrap(), Duration::from_secs(30))
    }

    #[test]
    fn a_directory_is_a_source_of_the_newest_document_of_each_drive() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("new.json"), DOCUMENT).unwrap();
        fs::write(directory.path().join("old.json"), DOCUMENT.replace("1790000000", "1780000000")).unwrap();
        fs::write(directory.path().join("bad.json"), "{").unwrap();
        let sample = source(directory.path()).read().unwrap();
        let [row] = sample.rows.as_slice() else { panic!("one drive: {:?}", sample.rows) };
        assert_eq!(row.subject.name, "INTEL SSDSC2BB016T4 TESTSERIAL0001");
        assert_eq!(row.counters.get(Counter::DriveRead), Some(1_790_000_000));
        assert_eq!(sample.warnings.len(), 1, "{:?}", sample.warnings);
        let reading = of_row(row, sample.taken.utc).unwrap();
        assert_eq!(reading.drive.model, "INTEL SSDSC2BB016T4");
        assert_eq!(reading.wear.nand_bytes(), Some(138_721_860 * (32 << 20)));
        assert_eq!(reading.taken_utc.unwrap().as_second(), 1_790_000_000);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_of_the_source_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let error = source(directory.path()).read().unwrap_err();
        assert!(error.to_string().contains("ends in .json") && error.hint().contains("smartctl"), "{error}");
        fs::write(directory.path().join("bad.json"), "{").unwrap();
        assert!(source(directory.path()).read().unwrap_err().to_string().contains("bad.json"));
        assert!(source(std::path::Path::new("/dev/no-such-drive")).read().is_err());
    }

    #[test]
    fn an_address_has_the_whole_path_of_its_drives() {
        let parsed = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        for good in ["smart:/dev/nvme0", "smart:/dev/disk/by-id/nvme-ACME_1", "smart:/var/lib/my%20drives"] {
            assert_eq!(parsed(good).unwrap(), good.replace("%20", " "));
        }
        for wrong in ["smart:", "smart:nvme0", "smart://host/dev/nvme0"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
