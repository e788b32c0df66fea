//! Which destination each source gets.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use iostall_engine::guard::Refusal;

use super::error::CopyError;
use super::options::CopyOptions;
use super::tree_mark;

impl CopyOptions {
    pub fn pairs(
        &self,
        sources: &[PathBuf],
        destination: &Path,
    ) -> Result<Vec<(PathBuf, PathBuf)>, CopyError> {
        if self.mirror { mirrored(sources, destination) } else { pair_names(sources, destination) }
    }
}

/// A mirror is the destination itself, also when it exists: copied into it, a second run would add a second
/// tree, and everything else there would count as extra.
fn mirrored(sources: &[PathBuf], destination: &Path) -> Result<Vec<(PathBuf, PathBuf)>, CopyError> {
    let names = |message: String| CopyError::Names { message };
    let [source] = sources else {
        return Err(names("--mirror takes one source directory, and there are several sources".to_owned()));
    };
    let stat = files::stamp_of_path(source).map_err(CopyError::system("find", source))?;
    if stat.kind != FileKind::Directory {
        return Err(names(format!("{} is not a directory, and --mirror takes one", source.display())));
    }
    Ok(vec![(source.clone(), destination.to_owned())])
}

/// The destination of each source: `destination` itself, or inside it if it is a directory.
pub(super) fn pair_names(
    sources: &[PathBuf],
    destination: &Path,
) -> Result<Vec<(PathBuf, PathBuf)>, CopyError> {
    let names = |message: String| CopyError::Names { message };
    let is_directory = files::stamp_of_path(destination).is_ok_and(|stat| stat.kind == FileKind::Directory);
    // A directory left by an earlier attempt is the destination itself, not a directory to copy into.
    let into = is_directory
        && match sources {
            [only] => !tree_mark::is_of(destination, only),
            _ => true,
        };
    if sources.len() > 1 && !into {
        return Err(names(format!(
            "{} is not a directory, and there are several sources",
            destination.display()
        )));
    }
    let is_of_file =
        |source: &PathBuf| files::stamp_of_path(source).is_ok_and(|stat| stat.kind != FileKind::Directory);
    if !into && names_a_directory(destination) && sources.iter().any(is_of_file) {
        return Err(Refusal::NoDirectory { path: destination.to_owned() }.into());
    }
    let mut pairs: Vec<(PathBuf, PathBuf)> = Vec::with_capacity(sources.len());
    for source in sources {
        let target = if into {
            // `.` and `/` have no name of their own; take it from their real path.
            let name = match source.file_name() {
                Some(name) => name.to_owned(),
                None => fs::canonicalize(source)
                    .ok()
                    .and_then(|real| Some(real.file_name()?.to_owned()))
                    .ok_or_else(|| names(format!("{} has no name to copy it under", source.display())))?,
            };
            destination.join(name)
        } else {
            destination.to_owned()
        };
        if let Some((other, _)) = pairs.iter().find(|(_, taken)| *taken == target) {
            return Err(names(format!(
                "{} and {} would both become {}",
                other.display(),
                source.display(),
                target.display()
            )));
        }
        pairs.push((source.clone(), target));
    }
    Ok(pairs)
}

/// Whether a path ends as one of a directory does (`Path` drops such an ending).
fn names_a_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    [&b"/"[..], b"/.", b"/.."].iter().any(|end| bytes.ends_with(end))
}
