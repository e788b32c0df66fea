//! Decides by content whether a file at the destination is equal.

use std::fs::File;
use std::path::PathBuf;

use iostall_engine::files;

use super::context::CopyContext;
use super::entry::{Action, Entry};
use super::error::CopyError;
use super::log::CopyFailure;
use super::part::directory_of;
use super::target::{check_target, is_to_be_opened};
use super::walk::Inventory;

const COMPARED_BYTES: usize = 1 << 20;

/// Reads each file of the inventory that has one of its size at the destination, and leaves equal ones alone.
pub(super) fn resolve_compared(
    context: &CopyContext<'_>,
    inventory: &mut Inventory,
) -> Result<(), CopyError> {
    for entry in inventory.entries.iter_mut().filter(|entry| entry.action == Action::Compare) {
        match decide(context, entry) {
            Ok((action, read_only)) => {
                entry.action = action;
                inventory.read_only.extend(read_only);
            }
            Err(error) if context.options.continues_after(&error) => {
                inventory.failures.push(CopyFailure::of(entry, error));
            }
            Err(error) => return Err(error),
        }
    }
    // Those that could not be compared.
    inventory.entries.retain(|entry| entry.action != Action::Compare);
    Ok(())
}

/// What is to be done, and the directory that must be opened for it.
fn decide(context: &CopyContext<'_>, entry: &Entry) -> Result<(Action, Option<PathBuf>), CopyError> {
    let (source, target, stat) = (&entry.source(), &entry.target(), &entry.stat());
    if is_same_content(context, entry)? {
        return Ok((Action::UpToDate, None));
    }
    let is_newer = |there: files::FileStamp| there.modified_ns > stat.modified_ns;
    if context.options.update && files::stamp_of_link(target).is_ok_and(is_newer) {
        return Ok((Action::NewerThere, None));
    }
    check_target(source, stat, target, context.options.overwrite, &context.destinations)?;
    let directory = directory_of(target);
    let is_read_only = is_to_be_opened(&context.destinations, directory)?;
    Ok((Action::File, is_read_only.then(|| directory.to_owned())))
}

fn is_same_content(context: &CopyContext<'_>, entry: &Entry) -> Result<bool, CopyError> {
    let (source, target, stat) = (&entry.source(), &entry.target(), &entry.stat());
    context.progress.begin_file(target, stat.size_bytes, "comparing");
    let from = File::open(source).map_err(CopyError::system("open", source))?;
    let to = File::open(target).map_err(CopyError::system("open", target))?;
    let (mut one, mut other) = (vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]);
    let mut at = 0;
    while at < stat.size_bytes {
        let length = usize::try_from(stat.size_bytes - at).unwrap_or(usize::MAX).min(COMPARED_BYTES);
        if !context.wait_to_read_back(2 * length as u64) {
            return Err(CopyError::cancelled(source, target, false));
        }
        let read = |file: &File, buffer: &mut [u8]| -> std::io::Result<usize> {
            let mut filled = 0;
            while filled < buffer.len() {
                match files::read_at(file, &mut buffer[filled..], at + filled as u64)? {
                    0 => break,
                    read => filled += read,
                }
            }
            files::drop_read(file, &(at..at + filled as u64));
            Ok(filled)
        };
        let from_read = read(&from, &mut one[..length]).map_err(CopyError::system("read", source))?;
        let to_read = read(&to, &mut other[..length]).map_err(CopyError::system("read", target))?;
        if from_read != to_read || one[..from_read] != other[..to_read] {
            return Ok(false);
        }
        if from_read < length {
            break;
        }
        at += length as u64;
    }
    Ok(true)
}
