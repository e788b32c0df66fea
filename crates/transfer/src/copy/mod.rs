//! Copying files and trees.

mod already;
mod behind;
mod beside;
mod durable;
mod error;
mod file;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod image;
#[cfg(test)]
mod into_memory;
mod journal;
mod kept_time;
mod links;
mod log;
mod options;
mod part;
pub(crate) mod read_back;
mod recheck;
mod resume;
mod room;
mod side;
mod small;
mod steady;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traps;
mod tree;
mod tree_mark;
mod tune;
mod walk;

use std::collections::HashMap;
use std::path::Path;

use iostall_engine::guard::Destinations;
use iostall_host as host;
use iostall_measure::MonotonicClock;
use iostall_measure::platform::Device;
use iostall_model::transfer::VerifyMode;

pub use beside::{is_part_name, journal_path, part_path};
pub use error::CopyError;
pub use log::{CopiedFile, CopyFailure, CopyLog};
pub use options::{CHECKPOINT_BYTES, CopyOptions, Resume, SMALL_FILE_BYTES, Specials, Symlinks};
pub use tree::CopyPlan;
pub use walk::pair_names;

use crate::progress::Progress;
use crate::rig::Rig;
use crate::shape::Shape;

/// Copies, and remembers what it has done.
pub struct Copier<'a> {
    options: &'a CopyOptions,
    progress: &'a Progress,
    clock: MonotonicClock,
    rig: Option<(Shape, Rig)>,
    /// The fastest shape, once it was measured.
    tuned: Option<Shape>,
    /// Whether two file systems, by their device numbers, stand on one device.
    shared_devices: HashMap<(u64, u64), bool>,
    named: part::Named,
    destinations: Destinations,
    log: CopyLog,
}

impl<'a> Copier<'a> {
    /// One that has done nothing.
    pub fn new(options: &'a CopyOptions, progress: &'a Progress) -> Self {
        Self {
            options,
            progress,
            clock: MonotonicClock::new(),
            rig: None,
            tuned: None,
            shared_devices: HashMap::new(),
            named: part::Named::default(),
            destinations: Destinations::new(&options.consent),
            log: CopyLog::default(),
        }
    }

    /// What it has done so far.
    pub fn log(&self) -> &CopyLog {
        &self.log
    }

    /// What it has done.
    pub fn into_log(self) -> CopyLog {
        self.log
    }

    fn is_hashed(&self) -> bool {
        self.options.verify != VerifyMode::None || self.options.checkpoint_bytes > 0
    }

    /// Whether source and destination share a device, the file systems being numbered `one` and `other`.
    fn share_a_device(&mut self, source: &Path, one: u64, target: &Path, other: u64) -> bool {
        if one == other {
            return true;
        }
        *self.shared_devices.entry((one, other)).or_insert_with(|| {
            let (Some(source), Some(target)) = (host::device_of(source), host::device_of(target)) else {
                return false;
            };
            let source = bottoms_of(&source);
            bottoms_of(&target).iter().any(|name| source.contains(name))
        })
    }
}

/// Names of the devices that a device stands on in the end: two partitions of one disk share it.
fn bottoms_of(device: &Device) -> Vec<String> {
    if device.below.is_empty() {
        return vec![device.name.clone()];
    }
    device.below.iter().flat_map(bottoms_of).collect()
}
