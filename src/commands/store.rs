//! `iostall store`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use iostall_measure::foreign::shown;
use iostall_report::collector::{SourceEntry, watched_sources};
use iostall_store::{History, Source, Watched};

use crate::cli::{GlobalArgs, StoreArgs, StoreCommand};
use crate::failure::{Status, hinted};
use crate::printer::Printer;
use crate::store::{self, open_watch};

/// The program that writes Parquet. It is separate because few users need it and it takes long to compile.
const LAKE: &str = "iostall-lake";

pub(crate) fn run(args: &StoreArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        StoreCommand::Sources(args) => sources(args.json, global, printer),
        StoreCommand::Remove(args) => remove(&args.source, global, printer),
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

fn sources(as_json: bool, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let store = open_watch(global)?;
    let entry = |watched: Watched| SourceEntry {
        id: watched.source.id.to_string(),
        store: (watched.source.store != store.id()).then(|| watched.source.store.to_string()),
        name: watched.source.name,
        first_utc: watched.first,
        last_utc: watched.last,
    };
    let sources: Vec<SourceEntry> = store.sources()?.into_iter().map(entry).collect();
    if as_json {
        printer.result(&(serde_json::to_string_pretty(&sources)? + "\n"))?;
    } else {
        printer.result(&watched_sources(&sources))?;
    }
    Ok(Status::Done)
}

fn remove(name: &str, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let sources = store.sources()?.into_iter().map(|watched| watched.source);
    let found: Vec<Source> =
        sources.filter(|source| source.name == name || source.id.to_string() == name).collect();
    let [source] = found.as_slice() else {
        let count = if found.is_empty() { "no" } else { "more than one" };
        let error = anyhow::anyhow!("there is {count} watched source {}", shown(name));
        return Err(hinted(error, "`iostall store sources` lists them with their ids"));
    };
    store.remove(source.id)?;
    printer.note(&format!("removed {} and its samples", shown(&source.name)));
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
