//! Drives with SAS: the endurance indicator, and the bytes of the error counter log.

use iostall_model::drive::{CountedBytes, CountedPercent, Wear};

use super::error::SmartError;
use super::field::Field;

const INDICATOR: &str = "scsi_percentage_used_endurance_indicator";
const BYTES: &str = "gigabytes_processed";

pub(super) fn wear(field: Field<'_>) -> Result<Wear, SmartError> {
    let used = field.percent(INDICATOR)?;
    let written = field.part("scsi_error_counter_log").and_then(|log| log.part("write"));
    let gigabytes = written.and_then(|write| write.text(BYTES));
    let bytes = gigabytes.map(|text| {
        bytes_of(&text).ok_or_else(|| SmartError::Value {
            name: field.document.to_owned(),
            key: BYTES.to_owned(),
            found: format!("{text:?}, which is no number of gigabytes"),
        })
    });
    let origin = "the error counter log of writes".to_owned();
    Ok(Wear {
        host: bytes.transpose()?.map(|bytes| CountedBytes { bytes, origin }),
        used: used.map(|percent| CountedPercent { percent, origin: "SCSI endurance indicator".to_owned() }),
        ..Wear::default()
    })
}

/// `127551.260` gigabytes of a thousand million bytes, without a float in between.
fn bytes_of(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || rest.len() > 9 || !is_number(whole) || !is_number(rest) {
        return None;
    }
    let billions: u64 = whole.parse().ok()?;
    billions.checked_mul(1_000_000_000)?.checked_add(format!("{rest:0<9}").parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn gigabytes_are_read_to_the_last_digit() {
        let read = super::bytes_of;
        assert_eq!(read("127551.260"), Some(127_551_260_000_000));
        assert_eq!((read("0"), read("7.")), (Some(0), Some(7_000_000_000)));
        for wrong in ["", ".5", "1e3", "-1", "99999999999999999999", "1.0000000001"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_drive_with_sas_has_its_indicator_and_its_bytes() {
        let text = r#"{"smartctl":{"exit_status":0},"device":{"protocol":"SCSI"},"model_name":"M","serial_number":"S",
            "rotation_rate":0,"power_on_time":{"hours":20000,"minutes":1},"scsi_percentage_used_endurance_indicator":6,
            "scsi_error_counter_log":{"write":{"gigabytes_processed":"127551.260"}}}"#;
        let wear = parse("x", text.as_bytes()).unwrap().wear;
        assert_eq!((wear.host_bytes(), wear.used_percent()), (Some(127_551_260_000_000), Some(6)));
        assert_eq!(wear.power_on_hours, Some(20_000));
        let disk = text.replace("\"rotation_rate\":0", "\"rotation_rate\":10000");
        assert!(parse("x", disk.as_bytes()).unwrap_err().to_string().contains("hard disk"));
    }
}
