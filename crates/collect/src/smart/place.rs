//! Where documents are: a file, a directory of them, or a device that is asked now.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_engine::Input;
use iostall_measure::ByteCount;
use iostall_measure::clock::utc_now;
use iostall_model::drive::DriveReading;
use iostall_model::{Warning, WarningCode};
use jiff::{SignedDuration, Timestamp};

use super::document::parse;
use super::error::SmartError;
use super::program::{DOCUMENT_BYTES_MAX, output};

const DOCUMENT: Input = Input { what: "drive's document", limit: ByteCount(DOCUMENT_BYTES_MAX) };
const YEAR_2000: i64 = 946_684_800;
const CLOCK_AHEAD_MAX: SignedDuration = SignedDuration::from_hours(24);
const SMARTCTL: [&str; 4] = ["smartctl", "-j", "-x", ""];
const NVME_HEALTH: [&str; 4] = ["nvme", "smart-log", "-o", "json"];
const NVME_IDENTITY: [&str; 4] = ["nvme", "id-ctrl", "-o", "json"];

#[derive(Debug, Default)]
pub struct Drives {
    pub readings: Vec<DriveReading>,
    /// Files of a directory that are no document of a solid-state drive.
    pub skipped: Vec<SmartError>,
}

/// Reads `place`. A device is asked for at most `limit`.
pub fn read(place: &Path, limit: Duration) -> Result<Drives, SmartError> {
    if place.starts_with("/dev") && !place.is_dir() {
        let readings = vec![of_device(&place.to_string_lossy(), limit)?];
        return Ok(Drives { readings, skipped: Vec::new() });
    }
    if !place.is_dir() {
        return Ok(Drives { readings: vec![of_file(place)?], skipped: Vec::new() });
    }
    let mut drives = Drives::default();
    for path in documents(place).map_err(|source| SmartError::Directory { path: place.to_owned(), source })? {
        match of_file(&path) {
            Ok(reading) => drives.readings.push(reading),
            Err(error) => drives.skipped.push(error),
        }
    }
    if drives.readings.is_empty() && drives.skipped.is_empty() {
        return Err(SmartError::Empty { path: place.to_owned() });
    }
    Ok(drives)
}

/// The files of a directory that end in `.json`, by name. What a program is still writing under another name is none of them.
fn documents(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        // A pipe would never end.
        let is_file = || fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if path.extension().is_some_and(|extension| extension == "json") && is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// A saved document. One without a serial number or a time has them in its name, as `NAME@TIME.json`; without that, the time is
/// that of the file. Names of files are told apart by their directory: `nvme0n1.json` of two hosts are two drives.
fn of_file(path: &Path) -> Result<DriveReading, SmartError> {
    let text = DOCUMENT.read(path)?;
    let mut reading = parse(&path.display().to_string(), &text)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let (name, time) = stem.rsplit_once('@').unwrap_or((&stem, ""));
    if !reading.drive.has_serial() {
        let directory = path.parent().unwrap_or(Path::new("")).display();
        if reading.drive.serial.is_empty() {
            name.clone_into(&mut reading.drive.serial);
            reading.drive.place = Some(directory.to_string());
        } else {
            reading.drive.place = Some(format!("{directory}/{name}"));
        }
    }
    if reading.taken_utc.is_none() {
        let modified = || Timestamp::try_from(fs::metadata(path).ok()?.modified().ok()?).ok();
        reading.taken_utc = time.parse().ok().or_else(modified);
    }
    if let Some(taken) = reading.taken_utc.take_if(|taken| !is_plausible(*taken)) {
        let message = format!(
            "{} says that it was read at {taken}, which cannot be: its time is not used",
            path.display()
        );
        reading.warnings.push(Warning::new(WarningCode::Implausible, message));
    }
    Ok(reading)
}

/// A machine whose clock lost its battery writes 1970, and a reading from the future would be the newest for ever.
fn is_plausible(taken: Timestamp) -> bool {
    taken.as_second() >= YEAR_2000 && taken.duration_since(utc_now()) <= CLOCK_AHEAD_MAX
}

fn of_device(device: &str, limit: Duration) -> Result<DriveReading, SmartError> {
    let mut reading = match output(device, SMARTCTL, limit)? {
        Some(text) => parse(device, &text)?,
        None => of_nvme(device, limit)?,
    };
    if reading.drive.serial.is_empty() {
        device.clone_into(&mut reading.drive.serial);
    }
    if !reading.drive.has_serial() {
        reading.drive.place = Some(device.to_owned());
    }
    reading.taken_utc = Some(utc_now());
    Ok(reading)
}

/// Without smartctl, nvme-cli reads drives of its own sort.
fn of_nvme(device: &str, limit: Duration) -> Result<DriveReading, SmartError> {
    let no_program = || SmartError::NoProgram { name: device.to_owned() };
    let mut reading = parse(device, &output(device, NVME_HEALTH, limit)?.ok_or_else(no_program)?)?;
    if let Some(text) = output(device, NVME_IDENTITY, limit)? {
        reading.drive = parse(device, &text)?.drive;
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);
    const HEALTH: &str = r#"{"avail_spare":100,"spare_thresh":10,"percent_used":1,"data_units_written":"7"}"#;

    #[test]
    fn a_directory_gives_its_drives_and_says_what_it_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("b.json", include_str!("../../testdata/smart/intel_sata.json"));
        write("nvme0@2026-11-01T00:00:00Z.json", HEALTH);
        write("plain.json", HEALTH);
        write("broken.json", "{");
        write("notes.txt", "nothing");
        write("half.json.tmp", "{");
        // Nobody writes into it: reading would never end.
        let pipe = std::process::Command::new("mkfifo").arg(directory.path().join("pipe.json")).status();
        assert!(pipe.unwrap().success());
        let drives = read(directory.path(), LIMIT).unwrap();
        let serials: Vec<&str> = drives.readings.iter().map(|one| one.drive.serial.as_str()).collect();
        assert_eq!(serials, ["TESTSERIAL0001", "nvme0", "plain"]);
        assert_eq!(drives.readings[1].taken_utc, Some("2026-11-01T00:00:00Z".parse().unwrap()));
        assert!(drives.readings[2].taken_utc.is_some(), "the time of the file");
        assert_eq!(drives.skipped.len(), 1);
    }

    /// The story: "it lasts 60 years", from one document of 1970 and one of today.
    #[test]
    fn a_document_of_another_century_has_no_time() {
        let directory = tempfile::tempdir().unwrap();
        let yesterday = utc_now() - SignedDuration::from_hours(24);
        let times = [
            ("1970-01-01T00:00:10Z", false),
            ("2126-01-01T00:00:00Z", false),
            (&*yesterday.to_string(), true),
        ];
        for (name, is_timed) in times {
            let path = directory.path().join(format!("drive@{name}.json"));
            fs::write(&path, HEALTH).unwrap();
            let reading = of_file(&path).unwrap();
            assert_eq!(reading.taken_utc.is_some(), is_timed, "{name}");
            assert_eq!(reading.warnings.is_empty(), is_timed, "{name}");
        }
    }

    #[test]
    fn what_is_not_there_or_too_large_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read(directory.path(), LIMIT), Err(SmartError::Empty { .. })));
        assert!(matches!(read(&directory.path().join("a.json"), LIMIT), Err(SmartError::Input(_))));
        let large = directory.path().join("large.json");
        fs::File::create(&large).unwrap().set_len(DOCUMENT_BYTES_MAX + 1).unwrap();
        assert!(read(&large, LIMIT).unwrap_err().to_string().contains("larger than 16 MiB"));
    }

    #[test]
    fn a_device_that_is_no_drive_is_an_error_in_words() {
        let error = read(Path::new("/dev/no-such-drive"), LIMIT).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        assert!(error.to_string().contains("/dev/no-such-drive"), "{error}");
    }
}
