//! The logs of NVMe drives, as smartctl and as nvme-cli write them.
//!
//! A data unit is 1,000 blocks of 512 bytes, rounded up; 0 means that the drive does not report it.

use iostall_model::drive::{CountedBytes, CountedPercent, DriveIdentity, DriveLink, DriveReading, Wear};

use super::error::SmartError;
use super::field::Field;

const DATA_UNIT_BYTES: u64 = 512_000;
/// The endurance group's log counts billions of bytes.
const MEDIA_UNIT_BYTES: u64 = 1_000_000_000;
/// The key of the log that the Open Compute Project defines, as nvme-cli names it, and as later versions do.
const PHYSICAL: [&str; 2] = ["Physical media units written", "physical_media_units_written"];

/// The health log in smartctl's document.
pub(super) fn of_smartctl(field: Field<'_>) -> Result<Wear, SmartError> {
    let Some(log) = field.part("nvme_smart_health_information_log") else { return Ok(Wear::default()) };
    health(log, "available_spare", "available_spare_threshold", "percentage_used")
}

/// A log of nvme-cli: health, endurance group, the one of the Open Compute Project, or the identity. `None` if it is none of
/// them.
pub(super) fn log(field: Field<'_>) -> Result<Option<DriveReading>, SmartError> {
    let drive = DriveIdentity { link: Some(DriveLink::Nvme), ..DriveIdentity::default() };
    let reading = |wear| Some(DriveReading { drive: drive.clone(), wear, ..DriveReading::default() });
    if let Some(key) = PHYSICAL.into_iter().find(|key| field.part(key).is_some()) {
        let nand = counted(field.times(key, 1)?, "log C0h of the Open Compute Project");
        return Ok(reading(Wear { nand, ..Wear::default() }));
    }
    if field.part("media_units_written").is_some() {
        let nand = counted(field.times("media_units_written", MEDIA_UNIT_BYTES)?, "endurance group log 09h");
        return Ok(reading(Wear { nand, ..Wear::default() }));
    }
    if field.part("data_units_written").is_some() && field.part("avail_spare").is_some() {
        let used = if field.part("percent_used").is_some() { "percent_used" } else { "percentage_used" };
        return Ok(reading(health(field, "avail_spare", "spare_thresh", used)?));
    }
    if field.part("sn").is_some() && field.part("mn").is_some() {
        let drive = DriveIdentity {
            model: field.text("mn").unwrap_or_default(),
            serial: field.text("sn").unwrap_or_default(),
            firmware: field.text("fr"),
            capacity_bytes: field.count("tnvmcap")?.filter(|bytes| *bytes > 0),
            ..drive
        };
        return Ok(Some(DriveReading { drive, ..DriveReading::default() }));
    }
    Ok(None)
}

fn counted(bytes: Option<u64>, origin: &str) -> Option<CountedBytes> {
    let bytes = bytes.filter(|bytes| *bytes > 0)?;
    Some(CountedBytes { bytes, origin: origin.to_owned() })
}

fn health(log: Field<'_>, spare: &str, threshold: &str, used: &str) -> Result<Wear, SmartError> {
    let used = log.percent(used)?;
    // nvme-cli takes the bits apart in its verbose form.
    let critical = match log.part("critical_warning") {
        Some(bits) if bits.value.is_object() => bits.count("value")?,
        _ => log.count("critical_warning")?,
    };
    Ok(Wear {
        host: counted(log.times("data_units_written", DATA_UNIT_BYTES)?, "NVMe log 02h"),
        used: used.map(|percent| CountedPercent { percent, origin: "NVMe log 02h".to_owned() }),
        spare_percent: log.percent(spare)?,
        spare_threshold_percent: log.percent(threshold)?,
        power_on_hours: log.count("power_on_hours")?,
        busy_minutes: log.count("controller_busy_time")?,
        media_errors: log.count("media_errors")?,
        critical_warning: critical,
        ..Wear::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    fn wear(text: &str) -> super::Wear {
        parse("x", text.as_bytes()).unwrap().wear
    }

    /// An emulated drive counts 64 MiB as 132 units of 512,000 bytes: rounded up.
    #[test]
    fn both_versions_of_the_tool_write_the_same_counters() {
        let second = r#"{"critical_warning":0,"temperature":323,"avail_spare":100,"spare_thresh":10,"percent_used":3,
            "data_units_read":"8","data_units_written":"132","host_read_commands":"1000","host_write_commands":"128",
            "controller_busy_time":"2","power_cycles":"1","power_on_hours":"9","media_errors":"0"}"#;
        let first = second.replace("\"132\"", "132").replace("\"2\"", "2").replace("\"9\"", "9");
        for text in [second.to_owned(), first] {
            let wear = wear(&text);
            assert_eq!(wear.host_bytes(), Some(132 * 512_000));
            assert_eq!(
                (wear.used_percent(), wear.spare_percent, wear.power_on_hours),
                (Some(3), Some(100), Some(9))
            );
        }
        let verbose =
            second.replace("\"critical_warning\":0", "\"critical_warning\":{\"value\":4,\"failed\":1}");
        assert_eq!(wear(&verbose).critical_warning, Some(4));
    }

    #[test]
    fn a_drive_that_reports_no_units_has_none_and_not_zero() {
        let text = r#"{"avail_spare":0,"spare_thresh":0,"percent_used":0,"data_units_written":"0"}"#;
        assert_eq!(wear(text).host_bytes(), None);
    }

    #[test]
    fn the_bytes_of_the_flash_come_from_logs_of_their_own() {
        let open_compute = r#"{"Physical media units written":{"hi":0,"lo":9000000000},"Physical media units read":{"hi":0,"lo":1}}"#;
        assert_eq!(wear(open_compute).nand_bytes(), Some(9_000_000_000));
        let group = r#"{"critical_warning":0,"avl_spare":100,"percent_used":1,"endurance_estimate":"5","data_units_written":"3",
            "media_units_written":"7"}"#;
        assert_eq!(wear(group).nand_bytes(), Some(7_000_000_000));
    }
}
