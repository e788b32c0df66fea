//! What an NVMe drive says that it writes whole when its power fails: AWUPF and NAWUPF, in logical blocks less one.

use std::time::Duration;

use iostall_model::atomic::NvmePowerFail;
use serde_json::Value;

use super::error::SmartError;
use super::program::output;

const NAMESPACE: [&str; 4] = ["nvme", "id-ns", "-o", "json"];
const CONTROLLER: [&str; 4] = ["nvme", "id-ctrl", "-o", "json"];
/// The bit of a namespace's features that says that its own units count.
const OWN_UNITS: u64 = 1 << 1;
/// Blocks of NVMe have 512 bytes to 64 KiB.
const BLOCK_SHIFTS: std::ops::RangeInclusive<u64> = 9..=16;

/// Asks nvme about the namespace `device`, for at most `limit` each time; `None` if there is no such program, or the drive does not
/// say.
pub fn nvme_power_fail(device: &str, limit: Duration) -> Result<Option<NvmePowerFail>, SmartError> {
    let Some(namespace) = output(device, NAMESPACE, limit)? else { return Ok(None) };
    let Some(controller) = output(device, CONTROLLER, limit)? else { return Ok(None) };
    Ok(of_documents(&namespace, &controller))
}

fn of_documents(namespace: &[u8], controller: &[u8]) -> Option<NvmePowerFail> {
    let namespace: Value = serde_json::from_slice(namespace).ok()?;
    let controller: Value = serde_json::from_slice(controller).ok()?;
    let formats = namespace.get("lbafs")?.as_array()?;
    let format = usize::try_from(namespace.get("flbas")?.as_u64()? & 0xf).ok()?;
    let shift = formats.get(format)?.get("ds")?.as_u64().filter(|shift| BLOCK_SHIFTS.contains(shift))?;
    // Every number has 16 bits.
    let blocks = |document: &Value, key: &str| {
        document.get(key)?.as_u64().filter(|blocks| u16::try_from(*blocks).is_ok())
    };
    let bytes = |blocks: u64| (blocks + 1) << shift;
    let has_own = namespace.get("nsfeat")?.as_u64()? & OWN_UNITS != 0;
    let own = if has_own { blocks(&namespace, "nawupf") } else { None };
    let boundary = if has_own { blocks(&namespace, "nabspf").filter(|blocks| *blocks > 0) } else { None };
    Some(NvmePowerFail {
        controller_bytes: bytes(blocks(&controller, "awupf")?),
        namespace_bytes: own.map(bytes),
        boundary_bytes: boundary.map_or(0, bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(namespace: &str, controller: &str) -> Option<NvmePowerFail> {
        of_documents(namespace.as_bytes(), controller.as_bytes())
    }

    #[test]
    fn units_are_blocks_less_one_and_those_of_the_namespace_count_if_it_says_so() {
        let own = r#"{"nsfeat":2,"nawupf":3,"nabspf":15,"flbas":1,"lbafs":[{"ds":9},{"ds":12}]}"#;
        let found = of(own, r#"{"awupf":0}"#).unwrap();
        assert_eq!(
            (found.controller_bytes, found.namespace_bytes, found.boundary_bytes),
            (4096, Some(16_384), 65_536)
        );
        let none = r#"{"nsfeat":0,"nawupf":3,"nabspf":15,"flbas":0,"lbafs":[{"ds":9}]}"#;
        let found = of(none, r#"{"awupf":7}"#).unwrap();
        assert_eq!((found.controller_bytes, found.namespace_bytes, found.boundary_bytes), (4096, None, 0));
        assert_eq!(found.bytes(), 4096);
    }

    #[test]
    fn documents_that_no_drive_can_have_say_nothing() {
        let good = r#"{"nsfeat":2,"nawupf":3,"flbas":0,"lbafs":[{"ds":9}]}"#;
        for (namespace, controller) in [
            ("", "{}"),
            (good, "{}"),
            (good, r#"{"awupf":-1}"#),
            (good, r#"{"awupf":65536}"#),
            (r#"{"nsfeat":0,"flbas":7,"lbafs":[{"ds":9}]}"#, r#"{"awupf":0}"#),
            (r#"{"nsfeat":0,"flbas":0,"lbafs":[{"ds":200}]}"#, r#"{"awupf":0}"#),
            (r#"{"nsfeat":0,"flbas":0,"lbafs":{}}"#, r#"{"awupf":0}"#),
        ] {
            assert_eq!(of(namespace, controller), None, "{namespace} {controller}");
        }
    }
}
