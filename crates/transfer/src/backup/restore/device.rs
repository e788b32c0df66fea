//! Restores one file onto a block device, such as the image of one.
//!
//! A device has no temporary name: its content is lost with the first write. So everything is checked before, the device is held
//! exclusively, and an early end says what is left on it.

use std::io;
use std::path::Path;

use iostall_engine::files;
use iostall_engine::guard::{WriteGrant, check_write};
use iostall_measure::{Clock as _, MonotonicClock};

use super::batch::Writing;
use super::error::RestoreError;
use super::plan::Plan;
use super::request::{NotRestored, RestoreOptions, Restored};
use super::roots::Onto;
use super::tree::Tree;
use crate::backup::read::{Damage, OpenSet, ReadError, ReadShape};
use crate::progress::Progress;

/// What is zeroed with one call where a device cannot do it by itself.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Ranges that a device zeroes by itself are multiples of its sectors, which are not longer than this.
const SECTOR_BYTES_MAX: u64 = 4096;

/// Restores the one file of `plan` onto `device`, which the consent must name.
pub(super) fn restore(
    set: &OpenSet,
    plan: &Plan<'_>,
    device: &Path,
    options: &RestoreOptions<'_>,
    progress: &Progress,
) -> Result<Restored, NotRestored> {
    let Some(planned) = plan.one_file() else {
        return Err(RestoreError::ManyOntoDevice { device: device.to_owned() }.into());
    };
    let grant = check_write(device, &options.consent).map_err(RestoreError::from)?;
    let device_bytes = grant.size_bytes().map_err(RestoreError::system("measure", device))?;
    let size_bytes = planned.entry.size_bytes;
    if size_bytes > device_bytes {
        let device = device.to_owned();
        return Err(RestoreError::DeviceTooSmall { device, device_bytes, size_bytes }.into());
    }
    let tree = Tree::new(plan, Onto::Device(grant.file()));
    let done = write(set, &tree, &grant, device_bytes, options, progress);
    done.map(|restored| Restored { to: device.to_owned(), ..restored })
        .map_err(|error| NotRestored { error, left: Some(device.to_owned()) })
}

fn write(
    set: &OpenSet,
    tree: &Tree<'_>,
    grant: &WriteGrant,
    device_bytes: u64,
    options: &RestoreOptions<'_>,
    progress: &Progress,
) -> Result<Restored, RestoreError> {
    let clock = MonotonicClock::new();
    let plan = tree.plan;
    let shape = ReadShape::of(set, true, options.choice).limited(options.rate);
    let planned = plan.one_file().map(|planned| planned.entry);
    let (size_bytes, bytes) = planned.map_or((0, 0), |entry| (entry.size_bytes, entry.data_bytes));
    progress.add_total(1, bytes);
    if bytes < size_bytes {
        // What is on the device would show through the holes.
        let end = size_bytes.next_multiple_of(SECTOR_BYTES_MAX).min(device_bytes);
        zero(grant, end).map_err(RestoreError::system("zero", grant.path()))?;
    }
    let mut writing = Writing::new(set, tree, shape, options.rate, progress)?;
    writing.bundles(&writing.bundle_runs(options.only.is_empty()))?;
    writing.data(writing.data_runs())?;
    let stripes = std::mem::take(&mut writing.stripes);
    if let Some((name, missing_bytes)) = tree.incomplete() {
        let message = format!("{missing_bytes} bytes of {name} are in no frame of the set");
        return Err(ReadError::Damaged(vec![Damage::of_file(None, &set.manifest_path, message)]).into());
    }
    let begun_ns = clock.now_ns();
    grant.file().sync_all().map_err(RestoreError::system("make durable", grant.path()))?;
    Ok(Restored {
        files: 1,
        bytes,
        stripes,
        reads_max: shape.depth,
        workers: shape.workers,
        transfer_bytes: shape.transfer_bytes(),
        sync_ns: clock.now_ns() - begun_ns,
        ..Restored::default()
    })
}

fn zero(grant: &WriteGrant, end: u64) -> io::Result<()> {
    if files::punch_hole(grant.file(), &(0..end))? {
        return Ok(());
    }
    let mut at = 0;
    while at < end {
        let length = usize::try_from(end - at).unwrap_or(usize::MAX).min(ZEROS.len());
        files::write_all_at(grant.file(), &ZEROS[..length], at)?;
        at += length as u64;
    }
    Ok(())
}
