//! What a DiskSpd command line asks for.

use std::ffi::OsString;
use std::path::Path;

use iostall_diskspd::command_line::Surroundings;
use iostall_diskspd::xml::{PROFILE_BYTES_MAX, write_profile};
use iostall_diskspd::{Parsed, Request, parse, usage};
use iostall_measure::clock::utc_now;
use iostall_session::names::read_whole;
use iostall_session::output::Taken;

use crate::cli::{DiskspdExtras, GlobalArgs};
use crate::printer::Printer;
use crate::store;

/// The parsed request; `None` if it only asked for output such as the usage.
pub(super) fn read(words: &[OsString], printer: &Printer) -> anyhow::Result<Option<Request>> {
    let words = words
        .iter()
        .map(|word| {
            word.clone().into_string().map_err(|word| anyhow::anyhow!("{} is not UTF-8", word.display()))
        })
        .collect::<anyhow::Result<Vec<String>>>()?;
    let exists = |path: &str| Path::new(path).exists();
    let clock_seed = u32::try_from(utc_now().as_millisecond().rem_euclid(1 << 32)).unwrap_or(0);
    let request = match parse(&words, &Surroundings { exists: &exists, clock_seed })? {
        Parsed::Usage => {
            printer.result(&format!("{}\n{}", usage::USAGE, DiskspdExtras::usage()))?;
            return Ok(None);
        }
        Parsed::Run(request) => *request,
        Parsed::ProfileFile(file) => {
            file.apply(&read_whole("profile", PROFILE_BYTES_MAX as u64, Path::new(&file.path))?)?
        }
    };
    warn(&request.warnings, printer);
    warn(&request.unsupported, printer);
    if request.profile_only {
        printer.result(&(write_profile(&request.profile) + "\n"))?;
        return Ok(None);
    }
    Ok(Some(request))
}

/// Its targets, and the file of a profile (`-X`).
pub(super) fn taken(request: &Request, words: &[OsString], global: &GlobalArgs) -> Taken {
    let targets = request.profile.time_spans.iter().flat_map(|span| &span.targets).map(|target| &target.path);
    let profile = words.iter().filter_map(|word| word.to_str()?.strip_prefix(['-', '/'])?.strip_prefix('X'));
    store::taken(global).targets(targets).inputs(profile)
}

/// Warns as DiskSpd does, before its report.
pub(super) fn warn(lines: impl IntoIterator<Item = impl std::fmt::Display>, printer: &Printer) {
    for line in lines {
        printer.note(&format!("WARNING: {line}"));
    }
}
