//! Finds out which file systems are on the same device.

use std::collections::HashMap;
use std::path::Path;

use iostall_host as host;
use iostall_measure::platform::Device;

/// Cached answers by the device numbers of two file systems.
#[derive(Default)]
pub(super) struct SharedDevices(HashMap<(u64, u64), bool>);

impl SharedDevices {
    /// Whether source and destination share a device; `one` and `other` are the numbers of their file
    /// systems.
    pub(super) fn share(&mut self, source: &Path, one: u64, target: &Path, other: u64) -> bool {
        if one == other {
            return true;
        }
        *self.0.entry((one, other)).or_insert_with(|| {
            let (Some(source), Some(target)) = (host::device_of(source), host::device_of(target)) else {
                return false;
            };
            let source = bottoms_of(&source);
            bottoms_of(&target).iter().any(|name| source.contains(name))
        })
    }
}

/// Names of the physical devices at the bottom: two partitions of one disk share it.
fn bottoms_of(device: &Device) -> Vec<String> {
    if device.below.is_empty() {
        return vec![device.name.clone()];
    }
    device.below.iter().flat_map(bottoms_of).collect()
}
