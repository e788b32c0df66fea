//! What a plan would do, for a dry run.

use iostall_engine::files;
use iostall_model::transfer::{DryRun, PlannedAction, PlannedEntry};

use super::entry::{Action, Entry};
use super::options::CopyOptions;
use super::plan::CopyPlan;

impl CopyPlan {
    /// What carrying it out would do. If some files cannot be copied, nothing would be deleted or removed.
    pub fn preview(&self, options: &CopyOptions, has_failures: bool) -> DryRun {
        let mut entries: Vec<PlannedEntry> = self.inventory.entries.iter().filter_map(planned).collect();
        if let Some(image) = &self.image {
            entries.push(planned_entry(PlannedAction::Replace, image.device(), image.image_bytes()));
        }
        if let Some(stream) = &self.stream {
            let (path, bytes) = stream.described();
            let action =
                if files::stamp_of_link(path).is_ok() { PlannedAction::Replace } else { PlannedAction::Copy };
            entries.push(planned_entry(action, path, bytes));
        }
        if !has_failures {
            let deleted = self.extras.all.iter();
            entries.extend(
                deleted
                    .map(|extra| planned_entry(PlannedAction::Delete, &extra.target, extra.stat.size_bytes)),
            );
        }
        if options.remove_sources && !has_failures {
            let removed = self.inventory.entries.iter().filter(|entry| entry.action != Action::Directory);
            let removed = removed.filter(|entry| entry.action != Action::NewerThere);
            entries.extend(removed.map(|entry| {
                planned_entry(PlannedAction::RemoveSource, &entry.source(), entry.size_bytes())
            }));
        }
        DryRun::new(entries)
    }
}

fn planned(entry: &Entry) -> Option<PlannedEntry> {
    let target = entry.target();
    let exists = || files::stamp_of_link(&target).is_ok();
    let made = |action| if exists() { PlannedAction::Replace } else { action };
    let (action, bytes) = match entry.action {
        Action::Directory if exists() => return None,
        Action::Directory => (PlannedAction::Create, 0),
        Action::File | Action::Compare => (made(PlannedAction::Copy), entry.size_bytes()),
        Action::HardLink(_) | Action::Symlink | Action::Special => (made(PlannedAction::Create), 0),
        Action::UpToDate => (PlannedAction::KeepEqual, entry.size_bytes()),
        Action::NewerThere => (PlannedAction::KeepNewer, entry.size_bytes()),
    };
    Some(planned_entry(action, &target, bytes))
}

fn planned_entry(action: PlannedAction, path: &std::path::Path, bytes: u64) -> PlannedEntry {
    PlannedEntry { action, path: path.display().to_string(), bytes }
}
