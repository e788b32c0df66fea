//! Unique names of a device.

use std::path::Path;

use iostall_model::device::{Cloud, CloudVolume, WorldWideNames};

use crate::device::unit_serial;
use crate::system::System;

impl System {
    pub(super) fn serial(&self, disk: &Path) -> Option<String> {
        let file = ["device/serial", "serial"].iter().find_map(|file| self.line(disk.join(file)));
        file.or_else(|| unit_serial(&self.bytes(disk.join("device/vpd_pg80"))?))
    }

    pub(super) fn world_wide_names(&self, disk: &Path) -> WorldWideNames {
        // NVMe has a file for each kind of name; SCSI has one file with the best name, prefixed by its kind.
        let namespace = |file: &str| self.line(disk.join(file)).and_then(|text| digits(&text));
        let mut names = WorldWideNames {
            naa: None,
            eui64: namespace("eui"),
            nguid: namespace("nguid"),
            uuid: ["uuid", "dm/uuid", "md/uuid"].iter().find_map(|file| self.line(disk.join(file))),
            t10: None,
        };
        let wwid = ["device/wwid", "wwid"].iter().find_map(|file| self.line(disk.join(file)));
        let (kind, name) = wwid.as_deref().and_then(|wwid| wwid.split_once('.')).unwrap_or_default();
        match kind {
            "naa" => names.naa = digits(name),
            // 16 digits are 64 bits; a namespace whose wwid has 32 digits uses its NGUID.
            "eui" if name.len() <= 16 => names.eui64 = names.eui64.or_else(|| digits(name)),
            "eui" => names.nguid = names.nguid.or_else(|| digits(name)),
            "uuid" => names.uuid = names.uuid.or_else(|| Some(name.to_owned())),
            "t10" => names.t10 = Some(single_spaced(name)),
            _ => {}
        }
        names
    }
}

/// Lower-case hexadecimal digits without separators; `None` for anything else and for all zeros, which means
/// that the device has none.
fn digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | ':')).collect();
    let is_name = digits.chars().all(|c| c.is_ascii_hexdigit()) && digits.chars().any(|c| c != '0');
    is_name.then(|| digits.to_ascii_lowercase())
}

/// T10 pads its fields with blanks.
fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cloud volume id, if this is a cloud volume and it can be read.
pub(super) fn cloud_volume(
    model: Option<&str>,
    serial: Option<&str>,
    names: &WorldWideNames,
) -> Option<CloudVolume> {
    if model == Some("Amazon Elastic Block Store") {
        // The serial number is the volume id of the console without its hyphen.
        let id = serial?.strip_prefix("vol")?;
        return Some(CloudVolume { cloud: Cloud::Amazon, id: format!("vol-{}", id.trim_start_matches('-')) });
    }
    let name = names.t10.as_deref()?.strip_prefix("Google PersistentDisk ")?;
    Some(CloudVolume { cloud: Cloud::Google, id: name.to_owned() })
}
