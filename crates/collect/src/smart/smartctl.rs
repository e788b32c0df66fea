//! The document of `smartctl -j`. It is valid whatever smartctl's exit status is.

use iostall_model::drive::{CountedPercent, DriveIdentity, DriveLink, DriveReading, Wear};
use iostall_model::{Warning, WarningCode};
use jiff::Timestamp;

use super::error::SmartError;
use super::field::Field;
use super::{ata, nvme, scsi};

/// The command line was wrong, or the device could not be opened: there is nothing to read.
const NOTHING_READ: u64 = 0b11;
/// Bits of the exit status that say something about the drive or the reading.
const SAID: [(u64, WarningCode, &str); 5] = [
    (1 << 2, WarningCode::NotRead, "smartctl says that a command failed: some counters may be missing"),
    (1 << 4, WarningCode::DriveReports, "an attribute is at its threshold: the drive expects to fail"),
    (1 << 5, WarningCode::DriveReports, "an attribute was at its threshold in the past"),
    (1 << 6, WarningCode::DriveReports, "the drive has errors in its log"),
    (1 << 7, WarningCode::DriveReports, "a self-test of the drive failed"),
];
/// What says how worn a drive is, also where the document does not say which drive it is.
const LOGS: [&str; 3] =
    ["ata_smart_attributes", "nvme_smart_health_information_log", "scsi_error_counter_log"];
/// The drive's own judgement, and an attribute that has reached its threshold now.
const FAILING: u64 = 1 << 3 | 1 << 4;

pub(super) fn reading(field: Field<'_>) -> Result<DriveReading, SmartError> {
    let program = field.part("smartctl").unwrap_or(field);
    let status = program.count("exit_status")?.unwrap_or(0);
    let drive = identity(field)?;
    let is_nameless = drive.model.is_empty() && drive.serial.is_empty();
    if is_nameless && LOGS.into_iter().any(|log| field.part(log).is_some()) {
        return Err(SmartError::Nameless { name: field.document.to_owned() });
    }
    if status & NOTHING_READ != 0 || is_nameless {
        return Err(SmartError::NoDrive { name: field.document.to_owned(), reason: messages(program) });
    }
    if field.count("rotation_rate")?.is_some_and(|rate| rate > 0) {
        return Err(SmartError::HardDisk { name: field.document.to_owned(), model: drive.model });
    }
    let mut warnings: Vec<Warning> = SAID
        .into_iter()
        .filter(|(bit, ..)| status & bit != 0)
        .map(|(_, code, message)| Warning::new(code, message))
        .collect();
    let mut wear = match drive.link {
        Some(DriveLink::Nvme) => nvme::of_smartctl(field)?,
        Some(DriveLink::Sas) => scsi::wear(field)?,
        Some(DriveLink::Sata) | None => ata::wear(field, &drive, &mut warnings)?,
    };
    common(field, &mut wear)?;
    if status & FAILING != 0 {
        wear.passed = Some(false);
    }
    let seconds = field.part("local_time").map(|time| time.count("time_t")).transpose()?.flatten();
    let taken_utc = seconds.and_then(|seconds| Timestamp::from_second(i64::try_from(seconds).ok()?).ok());
    Ok(DriveReading { drive, taken_utc, wear, warnings })
}

fn identity(field: Field<'_>) -> Result<DriveIdentity, SmartError> {
    let protocol = field.part("device").and_then(|device| device.text("protocol"));
    let link = protocol.and_then(|protocol| match protocol.as_str() {
        "ATA" => Some(DriveLink::Sata),
        "SCSI" => Some(DriveLink::Sas),
        "NVMe" => Some(DriveLink::Nvme),
        _ => None,
    });
    let capacity = field.part("user_capacity").map(|capacity| capacity.count("bytes")).transpose()?.flatten();
    let model = ["model_name", "scsi_model_name", "scsi_product"].into_iter().find_map(|key| field.text(key));
    Ok(DriveIdentity {
        model: model.unwrap_or_default(),
        family: field.text("model_family"),
        serial: field.text("serial_number").unwrap_or_default(),
        place: None,
        firmware: field.text("firmware_version").or_else(|| field.text("scsi_revision")),
        link,
        capacity_bytes: match capacity {
            Some(bytes) => Some(bytes),
            None => field.count("nvme_total_capacity")?,
        },
    })
}

/// What smartctl says in the same place for every sort of drive, where the drive's own log did not.
fn common(field: Field<'_>, wear: &mut Wear) -> Result<(), SmartError> {
    let within = |part: &str, key: &str| {
        field.part(part).map(|part| part.percent(key)).transpose().map(Option::flatten)
    };
    let hours = field.part("power_on_time").map(|time| time.count("hours")).transpose()?.flatten();
    let used = within("endurance_used", "current_percent")?;
    let used = used.map(|percent| CountedPercent { percent, origin: "smartctl's endurance_used".to_owned() });
    wear.fill_from(Wear {
        used,
        spare_percent: within("spare_available", "current_percent")?,
        spare_threshold_percent: within("spare_available", "threshold_percent")?,
        power_on_hours: hours,
        passed: field.part("smart_status").and_then(|status| status.truth("passed")),
        ..Wear::default()
    });
    Ok(())
}

fn messages(program: Field<'_>) -> String {
    let all: Vec<String> =
        program.parts("messages").filter_map(|message| message.text("string")).take(3).collect();
    if all.is_empty() { "it does not say why".to_owned() } else { all.join("; ") }
}
