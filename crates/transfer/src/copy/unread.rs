//! Options that a stream or an image does not read. Whoever gives one relies on it, so it is refused by name.

use iostall_measure::Caching;
use iostall_model::transfer::Reflink;

use super::error::CopyError;
use super::options::{CopyOptions, Equality, Resume, Specials, Symlinks};
use super::selection::Selection;

/// What is copied alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alone {
    StandardInput,
    StandardOutput,
    /// An image of a device, or one onto it.
    Device,
}

impl Alone {
    fn name(self) -> &'static str {
        match self {
            Self::StandardInput => "standard input",
            Self::StandardOutput => "standard output",
            Self::Device => "the image of a device",
        }
    }
}

/// Refuses the options that a copy of `alone` would not obey, all of them at once.
pub(super) fn refuse_unread(options: &CopyOptions, alone: Alone) -> Result<(), CopyError> {
    let unread = unread(options, alone);
    if unread.is_empty() {
        return Ok(());
    }
    let message = format!("{} does not go with {}: leave it out", unread.join(" or "), alone.name());
    Err(CopyError::Names { message })
}

/// Without `..`, so that a new option has to be placed here.
fn unread(options: &CopyOptions, alone: Alone) -> Vec<&'static str> {
    let usual = CopyOptions::default();
    let CopyOptions {
        // These are obeyed, or have been refused in words of their own; there is one file at most, so the first failure ends it.
        verify: _,
        hash: _,
        overwrite: _,
        consent: _,
        mirror: _,
        delete: _,
        remove_sources: _,
        dry_run: _,
        fail_fast: _,
        retry_wait_ns: _,
        rate: _,
        read_back_rate: _,
        reflink,
        resume,
        selection,
        equality,
        update,
        retries,
        source_caching,
        target_caching,
        transfer_bytes,
        depth,
        tune,
        small_file_bytes,
        checkpoint_bytes,
        symlinks,
        specials,
        one_file_system,
        workers,
        large_files_at_once,
    } = options;
    let Selection { rules, min_bytes, max_bytes, modified_since_ns, modified_before_ns, list } = selection;
    let is_stream = alone != Alone::Device;
    let from_stdin = alone == Alone::StandardInput;
    let to_stdout = alone == Alone::StandardOutput;
    let all = [
        ("--update", *update),
        ("--checksum", *equality == Some(Equality::Content)),
        ("--resume", *resume == Resume::Always),
        ("--reflink always", *reflink == Reflink::Always),
        ("--include or --exclude", !rules.is_empty()),
        ("--min-size", min_bytes.is_some()),
        ("--max-size", max_bytes.is_some()),
        ("--newer-than", modified_since_ns.is_some()),
        ("--older-than", modified_before_ns.is_some()),
        ("--files-from", list.is_some()),
        ("--retries", *retries > 0),
        ("--symlinks", *symlinks != Symlinks::Keep),
        ("--specials", *specials != Specials::Skip),
        ("--one-file-system", *one_file_system),
        ("--source-caching", from_stdin && *source_caching != Caching::Direct),
        ("--target-caching", is_stream && *target_caching != Caching::Direct),
        ("--transfer-size", is_stream && transfer_bytes.is_some()),
        ("--depth", is_stream && depth.is_some()),
        ("--tune", *tune),
        ("--small-file", *small_file_bytes != usual.small_file_bytes),
        ("--checkpoint", *checkpoint_bytes != usual.checkpoint_bytes),
        ("--workers", *workers != usual.workers),
        ("--parallel", *large_files_at_once != usual.large_files_at_once),
        ("--overwrite", to_stdout && options.overwrite && !*update),
    ];
    all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `--update`, which spares a newer file, was not looked at for standard input: the newer file was overwritten.
    #[test]
    fn every_option_that_is_not_read_is_named_and_the_others_pass() {
        for alone in [Alone::StandardInput, Alone::StandardOutput, Alone::Device] {
            refuse_unread(&CopyOptions { retry_wait_ns: 5, ..CopyOptions::default() }, alone).unwrap();
            let options = CopyOptions {
                update: true,
                equality: Some(Equality::Content),
                retries: 2,
                depth: Some(4),
                selection: Selection { max_bytes: Some(1), ..Selection::default() },
                ..CopyOptions::default()
            };
            let named = unread(&options, alone);
            for name in ["--update", "--checksum", "--retries", "--max-size"] {
                assert!(named.contains(&name), "{alone:?} {name}");
            }
            assert_eq!(named.contains(&"--depth"), alone != Alone::Device);
            refuse_unread(&options, alone).unwrap_err();
        }
        let never = CopyOptions { reflink: Reflink::Never, resume: Resume::Never, ..CopyOptions::default() };
        assert!(unread(&never, Alone::Device).is_empty(), "nothing is shared or resumed");
    }
}
