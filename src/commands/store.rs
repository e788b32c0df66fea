//! `iostall store`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use iostall_store::History;

use crate::cli::{GlobalArgs, StoreArgs, StoreCommand};
use crate::failure::{Status, hinted};
use crate::printer::Printer;
use crate::store::{self, open_watch};

/// The program that writes Parquet. It is separate because few users need it and it takes long to compile.
const LAKE: &str = "iostall-lake";

/// Maintains the history.
pub(crate) fn run(args: &StoreArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        StoreCommand::Rebuild => rebuild(global, printer),
        StoreCommand::Export(export_args) => export(&export_args.parquet, global),
    }
}

fn rebuild(global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    for watched in store.sources()? {
        let source = watched.source;
        store.rebuild(source.id)?;
        printer.note(&format!("rebuilt the roll-ups of {}", source.name));
    }
    Ok(Status::Done)
}

/// Runs the other program, and returns its exit status.
fn export(directory: &Path, global: &GlobalArgs) -> anyhow::Result<Status> {
    let Some(program) = lake() else {
        return Err(hinted(
            anyhow::anyhow!("{LAKE}, which writes Parquet, is not installed"),
            "`cargo install --path crates/lake` in the sources of iostall installs it; it must be next to iostall or on PATH",
        ));
    };
    let mut to = OsString::from("--parquet=");
    to.push(directory);
    let status = Command::new(&program)
        .arg("export")
        .arg(to)
        .arg("--")
        .arg(store::path(global)?)
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    Ok(match status.code() {
        Some(0) => Status::Done,
        Some(130) => Status::Interrupted,
        _ => Status::CouldNot,
    })
}

/// The path of the other program: next to this one, or on PATH.
fn lake() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let on_path = std::env::var_os("PATH").map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>());
    let directories = beside.into_iter().chain(on_path.unwrap_or_default());
    // A relative directory on PATH depends on the working directory, and may belong to anyone.
    directories
        .filter(|directory| directory.is_absolute())
        .map(|one| one.join(LAKE))
        .find(|path| path.is_file())
}
