//! Writes a file onto a block device, from its first byte on.
//!
//! A device has no temporary name: its content is lost with the first write. So everything is checked before
//! that, the grant keeps the device exclusive, and an early end reports what is left on it.

use std::path::{Path, PathBuf};

use iostall_engine::Access;
use iostall_engine::files::{self, FileKind};
use iostall_engine::guard::{self, GrantReason, WriteGrant};
use iostall_measure::{Caching, Clock as _};
use iostall_model::transfer::{DeviceImage, VerifyMode};

use super::context::CopyContext;
use super::endpoint::Endpoint;
use super::error::CopyError;
use super::file::FileCopier;
use super::log::Filled;
use super::mover::Transfer;
use super::read_back::{BLOCK_BYTES, compare};
use super::recheck::{expect_no_writers, source_is_unmodified};
use super::unread::{Alone, refuse_unread};
use crate::pipeline::FileHashes;
use crate::plan::Plan;

#[derive(Debug)]
pub(super) struct ImagePlan {
    source: PathBuf,
    device: PathBuf,
    device_bytes: u64,
    image_bytes: u64,
    grant: WriteGrant,
}

impl ImagePlan {
    pub(super) fn device(&self) -> &Path {
        &self.device
    }

    pub(super) fn image_bytes(&self) -> u64 {
        self.image_bytes
    }

    /// `None` if the destination is no block device.
    pub(super) fn find(
        context: &CopyContext<'_>,
        sources: &[PathBuf],
        destination: &Path,
    ) -> Result<Option<Self>, CopyError> {
        let consent = &context.options.consent;
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
                "{shown} is a block device, which accepts a single file, but there are several"
            )));
        };
        refuse_unread(context.options, Alone::Device)?;
        if context.options.mirror || context.options.remove_sources {
            return Err(refused(format!(
                "{shown} is a block device, onto which nothing is mirrored or moved"
            )));
        }
        let stat = files::stamp_of_path(source).map_err(CopyError::system("find", source))?;
        if stat.kind != FileKind::Regular {
            return Err(refused(format!(
                "{} is not a regular file, and only a regular file can be written onto the device {shown}",
                source.display()
            )));
        }
        let grant = guard::check_write(destination, consent)?;
        let device_bytes = grant.size_bytes().map_err(CopyError::system("measure", destination))?;
        let (source, device) = (source.clone(), destination.to_owned());
        let plan = Self { source, device, device_bytes, image_bytes: stat.size_bytes, grant };
        plan.check_size(stat.size_bytes)?;
        let passes = if context.options.verify == VerifyMode::ReadBack { 2 } else { 1 };
        context.progress.add_total(1, stat.size_bytes * passes);
        Ok(Some(plan))
    }

    /// Writes the image, with holes as zeros, flushes the device, and reads it back if requested.
    pub(super) fn write(&self, copier: &mut FileCopier<'_, '_>) -> Result<(), CopyError> {
        let options = copier.context.options;
        let from = Endpoint::open(&self.source, Access::Read, options.source_caching)?;
        let image_bytes = from.stat.size_bytes;
        self.check_size(image_bytes)?;
        let to = Endpoint::of_device(&self.grant, &self.device, Access::ReadWrite, options.target_caching)?;
        let replaced = match self.grant.reason() {
            GrantReason::DestroySignatures(found) => found.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        copier.log.image = Some(DeviceImage {
            device: self.device.display().to_string(),
            device_bytes: self.device_bytes,
            image_bytes,
            padding_bytes: image_bytes.next_multiple_of(u64::from(to.align)) - image_bytes,
            replaced,
        });
        let written = self.fill(copier, &from, &to).map_err(|cause| CopyError::DeviceUnfinished {
            source_file: self.source.clone(),
            device: self.device.clone(),
            cause: Box::new(cause),
        })?;
        if let Some(hashes) = written {
            copier.context.progress.end_file();
            copier.log.add_large_file(&self.device, image_bytes, Filled { hashes, ..Filled::default() });
        }
        Ok(())
    }

    /// `None` if it was read back and differs.
    fn fill(
        &self,
        copier: &mut FileCopier<'_, '_>,
        from: &Endpoint,
        to: &Endpoint,
    ) -> Result<Option<FileHashes>, CopyError> {
        let FileCopier { context, mover, log } = copier;
        let (clock, progress) = (&context.clock, context.progress);
        let (device, size_bytes) = (self.device.as_path(), from.stat.size_bytes);
        progress.begin_file(device, size_bytes, "writing the image to");
        let same_device = mover.devices.share(from.path(), from.stat.device, device, to.stat.special_device);
        expect_no_writers(from, clock, log);
        let plan = Plan::whole(size_bytes, mover.shape(same_device).transfer_bytes);
        let hashes = mover.run(Transfer { from, to, target: device, plan, journal: None, same_device })?;
        let begun_ns = clock.now_ns();
        to.file().sync_all().map_err(CopyError::system("flush", device))?;
        log.sync_ns += clock.now_ns() - begun_ns;
        source_is_unmodified(from)?;
        if copier.context.options.verify == VerifyMode::ReadBack {
            let by_descriptor = self.grant.open_path();
            let written = Endpoint::open(&by_descriptor, Access::Read, Caching::Direct)?;
            let found = copier.read_again(device, &written, size_bytes)?;
            let differs = compare(device, from.path(), &by_descriptor, &hashes, &found, BLOCK_BYTES);
            if !copier.log.note_compared(differs) {
                return Ok(None);
            }
        }
        Ok(Some(hashes))
    }

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
