//! A file written onto a block device, from its first byte on.
//!
//! A device has no unfinished name: what is on it is lost with the first write. So everything that can be known is asked
//! before it, the guard's permission holds the device for us alone, and what ends the writing early says what is left.

use std::path::{Path, PathBuf};

use iostall_engine::Access;
use iostall_engine::files::{self, FileKind};
use iostall_engine::guard::{self, GrantReason, WriteGrant};
use iostall_measure::Clock as _;
use iostall_model::transfer::{DeviceImage, VerifyMode};

use super::Copier;
use super::error::CopyError;
use super::file::{BLOCK_BYTES, Filled};
use super::read_back::compare;
use super::recheck::source_is_unmodified;
use super::side::Side;
use crate::pipeline::FileHashes;
use crate::plan::Plan;

/// An image and the device that it may be written to.
#[derive(Debug)]
pub(super) struct ImagePlan {
    source: PathBuf,
    device: PathBuf,
    device_bytes: u64,
    grant: WriteGrant,
}

impl Copier<'_> {
    /// `None` where the destination is no block device.
    pub(super) fn plan_image(
        &mut self,
        sources: &[PathBuf],
        destination: &Path,
    ) -> Result<Option<ImagePlan>, CopyError> {
        let consent = &self.options.consent;
        let shown = destination.display();
        let refused = |message: String| CopyError::Names { message };
        if !files::is_block_device(destination) {
            return match consent.overwrite.iter().chain(&consent.destroy_signature).next() {
                None => Ok(None),
                Some(named) => {
                    Err(CopyError::NoDevice { named: named.clone(), destination: destination.to_owned() })
                }
            };
        }
        let [source] = sources else {
            return Err(refused(format!(
                "{shown} is a block device, which takes one file, and there are several"
            )));
        };
        let stamp = files::stamp_of_path(source).map_err(CopyError::system("find", source))?;
        if stamp.kind != FileKind::Regular {
            return Err(refused(format!(
                "{} is not a regular file, and only such a one is written onto the device {shown}",
                source.display()
            )));
        }
        let grant = guard::check_write(destination, consent)?;
        let device_bytes = grant.size_bytes().map_err(CopyError::system("measure", destination))?;
        let (source, device) = (source.clone(), destination.to_owned());
        let plan = ImagePlan { source, device, device_bytes, grant };
        plan.check_size(stamp.size_bytes)?;
        let passes = if self.options.verify == VerifyMode::ReadBack { 2 } else { 1 };
        self.progress.add_total(1, stamp.size_bytes * passes);
        Ok(Some(plan))
    }

    /// Writes the image, holes as zeros, flushes the device and reads it again where that was asked for.
    pub(super) fn write_image(&mut self, plan: &ImagePlan) -> Result<(), CopyError> {
        let from = Side::open(&plan.source, Access::Read, self.options.source_caching)?;
        plan.check_size(from.stamp.size_bytes)?;
        let to = Side::of_device(&plan.grant, &plan.device, Access::ReadWrite, self.options.target_caching)?;
        let replaced = match plan.grant.reason() {
            GrantReason::DestroySignatures(found) => found.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let image_bytes = from.stamp.size_bytes;
        self.log.image = Some(DeviceImage {
            device: plan.device.display().to_string(),
            device_bytes: plan.device_bytes,
            image_bytes,
            padding_bytes: image_bytes.next_multiple_of(u64::from(to.align)) - image_bytes,
            replaced,
        });
        let written = self.fill_device(&from, &to, plan);
        let hashes = written.map_err(|cause| CopyError::DeviceUnfinished {
            source_file: plan.source.clone(),
            device: plan.device.clone(),
            cause: Box::new(cause),
        })?;
        if let Some(hashes) = hashes {
            self.note(&from, &plan.device, Filled::moved(hashes));
        }
        Ok(())
    }

    /// `None` where it was read back and differs.
    fn fill_device(
        &mut self,
        from: &Side,
        to: &Side,
        plan: &ImagePlan,
    ) -> Result<Option<FileHashes>, CopyError> {
        let (device, size_bytes) = (plan.device.as_path(), from.stamp.size_bytes);
        self.progress.begin_file(device, size_bytes, "writing the image to");
        let same_device =
            self.share_a_device(from.path(), from.stamp.device, device, to.stamp.special_device);
        self.prepare_rig(same_device, from.path())?;
        self.expect_no_writers(from);
        let whole = Plan::whole(size_bytes, self.shape().transfer_bytes);
        let hashes = self.move_data(from, to, device, whole, None, same_device)?;
        let begun_ns = self.clock.now_ns();
        to.file().sync_all().map_err(CopyError::system("flush", device))?;
        self.log.sync_ns += self.clock.now_ns() - begun_ns;
        source_is_unmodified(from)?;
        if self.options.verify == VerifyMode::ReadBack {
            let begun_ns = self.clock.now_ns();
            self.progress.begin_file(device, size_bytes, "reading back");
            let by_descriptor = plan.grant.open_path();
            let found = self.read_back(&by_descriptor, size_bytes)?;
            self.log.verify_ns += self.clock.now_ns() - begun_ns;
            let differs = compare(device, from.path(), &by_descriptor, &hashes, &found, BLOCK_BYTES);
            if let Some(mismatch) = differs {
                self.log.mismatches.push(mismatch);
                return Ok(None);
            }
            self.log.verified_files += 1;
        }
        Ok(Some(hashes))
    }
}

impl ImagePlan {
    fn check_size(&self, image_bytes: u64) -> Result<(), CopyError> {
        if image_bytes <= self.device_bytes {
            return Ok(());
        }
        Err(CopyError::DeviceTooSmall {
            source_file: self.source.clone(),
            image_bytes,
            device: self.device.clone(),
            device_bytes: self.device_bytes,
        })
    }
}
