//! Restores a set: all stripes are read at once, runs of adjacent frames with one request each, and written where they belong as
//! soon as they are decoded, in any order.
//!
//! Everything is made in a directory of its own, with a temporary name, and gets its real name when all of it is durable. So
//! nothing that is not whole looks whole. The directory is held open and every name is taken relative to it, without following
//! a link: a hostile set cannot write elsewhere.

mod alone;
mod batch;
mod combine;
mod device;
mod error;
mod place;
mod plan;
mod request;
mod roots;
mod stage;
mod tree;
mod trial;

use std::path::Path;

use iostall_engine::files;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::backup::Manifest;

use self::batch::Writing;
use self::plan::Plan;
use self::roots::{Onto, Roots};
use self::tree::Tree;
use super::read::{Damage, OpenSet, ReadError, ReadShape};
use crate::progress::Progress;

pub use alone::Loaded;
pub use error::RestoreError;
pub use request::{BeforeNamed, NotRestored, RestoreOptions, Restored};
pub use roots::Elsewhere;
pub use tree::FileLoss;
pub use trial::{RestoreSample, RestoreShape};

/// Restores `set` to `to`: a new name, an empty directory, or what the consent says may be replaced, such as a block device.
/// After an error nothing has its final name; only a device, which has no temporary name, keeps what was written.
pub fn restore(
    set: &OpenSet,
    to: &Path,
    options: &RestoreOptions<'_>,
    progress: &Progress,
) -> Result<Restored, NotRestored> {
    set.check_usable()?;
    if set.is_in_parts() {
        combine::refuse_parts(&set.manifest, options.only)?;
    }
    let plan = Plan::new(&set.manifest, options.only)?;
    if files::is_block_device(to) {
        return device::restore(set, &plan, to, options, progress);
    }
    let one_file = plan.one_file().and_then(|planned| planned.path.file_name());
    let roots = Roots::prepare(to, one_file, &options.consent, options.elsewhere)?;
    let tree = Tree::new(&plan, Onto::Directories(&roots));
    let restored = write(set, &tree, &roots, options, progress).and_then(|restored| {
        roots.finish(|path, directory| tree.finish_root(path, directory))?;
        Ok(Restored { losses: tree.losses(), ..restored })
    });
    restored.map_err(|error| {
        let is_left = error.is_whole() || !roots.abandon();
        NotRestored { left: is_left.then(|| roots.main.temporary.clone()), error }
    })
}

pub(crate) fn check_names(manifest: &Manifest) -> Result<(), RestoreError> {
    Plan::new(manifest, &[]).map(drop)
}

fn write(
    set: &OpenSet,
    tree: &Tree<'_>,
    roots: &Roots,
    options: &RestoreOptions<'_>,
    progress: &Progress,
) -> Result<Restored, RestoreError> {
    let clock = MonotonicClock::new();
    let plan = tree.plan;
    let shape = ReadShape::of(set, true, options.choice).limited(options.rate);
    let content = || plan.files.values().map(|index| &plan.all[*index]);
    let bytes: u64 = content().map(|planned| planned.entry.data_bytes).sum();
    progress.add_total(plan.files.len() as u64, bytes);
    roots.check_room(content().map(|planned| (planned.path.as_path(), planned.entry.data_bytes)))?;
    tree.make_directories()?;
    let mut writing = Writing::new(set, tree, shape, options.rate, progress)?;
    writing.bundles(&writing.bundle_runs(options.only.is_empty()))?;
    writing.data(writing.data_runs())?;
    let stripes = std::mem::take(&mut writing.stripes);
    tree.make_empty_files()?;
    if let Some((name, missing_bytes)) = tree.incomplete() {
        let message = format!("{missing_bytes} bytes of {name} are in no frame of the set");
        return Err(ReadError::Damaged(vec![Damage::of_file(None, &set.manifest_path, message)]).into());
    }
    tree.make_links()?;
    tree.finish_directories()?;
    let is_combined = set.is_in_parts() && options.only.is_empty();
    let empty_maps = if is_combined { combine(set, roots, options, progress)? } else { 0 };
    if let Some(BeforeNamed(finish)) = options.before_named {
        finish(&roots.main.temporary).map_err(RestoreError::NotFinished)?;
    }
    let begun_ns = clock.now_ns();
    roots.sync()?;
    Ok(Restored {
        to: roots.main.target.clone(),
        files: plan.files.len() as u64,
        bytes,
        stripes,
        reads_max: shape.depth,
        workers: shape.workers,
        transfer_bytes: shape.transfer_bytes(),
        sync_ns: clock.now_ns() - begun_ns,
        empty_maps,
        losses: Vec::new(),
    })
}

/// Puts the files together that the server has sent in parts; returns how many visibility maps are empty now.
fn combine(
    set: &OpenSet,
    roots: &Roots,
    options: &RestoreOptions<'_>,
    progress: &Progress,
) -> Result<u64, RestoreError> {
    combine::combine(set, roots, options.elsewhere, progress, &|base, to, elsewhere| {
        let options = RestoreOptions {
            rate: options.rate,
            choice: options.choice,
            elsewhere,
            ..RestoreOptions::default()
        };
        restore(base, to, &options, progress).map(drop).map_err(|not| match not.error {
            RestoreError::Read(ReadError::Damaged(found)) => {
                let set = base.manifest.set;
                ReadError::Damaged(found.into_iter().map(|damage| damage.in_base(set)).collect()).into()
            }
            other => other,
        })
    })
}
