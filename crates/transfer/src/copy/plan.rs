//! Plans a copy before anything is written.

use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use iostall_engine::guard::check_new_file;
use iostall_model::transfer::VerifyMode;

use super::context::CopyContext;
use super::error::CopyError;
use super::image::ImagePlan;
use super::log::CopyLog;
use super::part::directory_of;
use super::room::check_room;
use super::walk::{Inventory, pair_names};

/// The plan of a copy. Nothing is written until it is carried out.
#[derive(Debug, Default)]
pub struct CopyPlan {
    pub(super) inventory: Inventory,
    /// Directories that must exist.
    pub(super) into: Vec<PathBuf>,
    /// Instead of everything else: one file onto a device.
    pub(super) image: Option<ImagePlan>,
}

impl CopyPlan {
    /// Examines everything. Known failures go to the log.
    pub(super) fn make(
        context: &CopyContext<'_>,
        log: &mut CopyLog,
        sources: &[PathBuf],
        destination: &Path,
    ) -> Result<Self, CopyError> {
        let image = ImagePlan::find(context, sources, destination)?;
        if image.is_some() {
            return Ok(Self { image, ..Self::default() });
        }
        let pairs = pair_names(sources, destination)?;
        let mut into: Vec<PathBuf> =
            pairs.iter().map(|(_, target)| directory_of(target).to_owned()).collect();
        into.dedup();
        for (_, target) in pairs.iter().filter(|(_, target)| files::stamp_of_link(target).is_err()) {
            check_new_file(target)?;
        }
        for directory in &into {
            context.destinations.check_directory(directory)?;
        }
        let mut inventory = Inventory::take(&pairs, context.options, &context.destinations)?;
        check_room(context.options, &mut inventory)?;
        log.failures.append(&mut inventory.failures);
        log.failed_at_start = log.failures.len();
        log.counts.skipped_specials += inventory.skipped_specials;
        let plan = Self { inventory, into, image: None };
        plan.announce(context);
        Ok(plan)
    }

    fn announce(&self, context: &CopyContext<'_>) {
        let CopyContext { options, progress, .. } = context;
        let passes = if options.verify == VerifyMode::ReadBack { 2 } else { 1 };
        for entry in self.inventory.files() {
            // A small file is read back within its batch and not counted twice.
            let passes = if entry.is_small(options) { 1 } else { passes };
            progress.add_total(1, entry.stat.size_bytes * passes);
        }
        if options.verify != VerifyMode::None {
            let up_to_date = self.inventory.up_to_date();
            for entry in up_to_date.filter(|entry| entry.stat.kind == FileKind::Regular) {
                progress.add_total(1, entry.stat.size_bytes * passes);
            }
        }
    }
}
