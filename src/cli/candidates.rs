//! What a shell offers for an argument: runs and sources from the store, presets, files.
//!
//! A key press must be answered at once and leave no trace: no store is made or migrated, and what cannot be read is not offered.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use iostall_load::preset::presets as built_in;
use iostall_report::runs::brief;
use iostall_store::{Entry, Filter, History as _, SqliteHistory, SqliteStore, Store as _, default_path};

/// As many as fit on a screen.
const RUNS_MAX: u32 = 40;

/// References to the newest runs, each with what it measured.
pub(super) fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(references)
}

/// Sides of a comparison: runs joined with commas, or files if they are to be measured.
pub(super) fn sides() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        if words().any(|word| word == "--fresh" || word.to_string_lossy().starts_with("--fresh=")) {
            return PathCompleter::any().complete(typed);
        }
        let typed = typed.to_string_lossy();
        let begun = typed.rsplit(',').next().unwrap_or_default();
        let joined = typed.strip_suffix(begun).unwrap_or_default();
        let fits = |run: &CompletionCandidate| run.get_value().to_string_lossy().starts_with(begun);
        references().into_iter().filter(fits).map(|run| run.add_prefix(joined)).collect()
    })
}

/// Names that runs were given.
pub(super) fn run_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut names: Vec<String> = newest_runs().into_iter().map(|entry| entry.name).collect();
        names.sort();
        names.dedup();
        names
            .into_iter()
            .filter(|name| !name.chars().any(char::is_control))
            .map(CompletionCandidate::new)
            .collect()
    })
}

/// Names of the watched sources.
pub(super) fn sources() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let history = store().and_then(|path| SqliteHistory::glance(path).ok().flatten());
        let watched = history.and_then(|history| history.sources().ok()).unwrap_or_default();
        let names = watched.into_iter().map(|watched| watched.source.name);
        names.filter(|name| !name.chars().any(char::is_control)).map(CompletionCandidate::new).collect()
    })
}

/// Names of the built-in profiles.
pub(super) fn presets() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        built_in().iter().map(|preset| CompletionCandidate::new(preset.name)).collect()
    })
}

fn references() -> Vec<CompletionCandidate> {
    let runs = newest_runs();
    let ages = ["last", "last~1"].into_iter().zip(&runs).map(|(age, run)| reference(age.to_owned(), run));
    ages.chain(runs.iter().map(|run| reference(run.number.0.to_string(), run))).collect()
}

fn reference(word: String, run: &Entry) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(brief(run).into()))
}

fn newest_runs() -> Vec<Entry> {
    let newest = Filter { limit: Some(RUNS_MAX), ..Filter::default() };
    let store = store().and_then(|path| SqliteStore::glance(path).ok().flatten());
    store.and_then(|store| store.list(&newest).ok()).unwrap_or_default()
}

/// The store of the line that is being typed, which is not parsed yet.
fn store() -> Option<PathBuf> {
    let mut words = words();
    while let Some(word) = words.next() {
        if word == "--store" {
            // bash takes an equals sign for a word.
            return words.find(|word| word != "=").map(PathBuf::from);
        }
        if let Some(path) = word.to_str().and_then(|word| word.strip_prefix("--store=")) {
            return Some(path.into());
        }
    }
    let named = std::env::var_os("IOSTALL_STORE").filter(|path| !path.is_empty());
    named.map(PathBuf::from).or_else(|| default_path().ok())
}

/// The words of that line: the shell's rules put them behind `--`.
fn words() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(1)
}
