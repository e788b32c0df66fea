//! House-keeping commands of the workspace: `cargo xtask tidy` and `cargo xtask lines`.

mod lines;
mod tidy;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["lines"] => lines(&tree()?),
        ["lines", directory] => lines(&tidy::Tree::read(Path::new(directory))?),
        _ => bail!(
            "run `cargo xtask tidy`, which checks the rules of this project that no compiler knows, \
             or `cargo xtask lines`, which counts its lines (those of other sources: `cargo xtask lines <directory>`)"
        ),
    }
}

fn tree() -> Result<tidy::Tree> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    tidy::Tree::read(root)
}

/// Prints all violations; exit status 1 if there are any.
fn tidy() -> Result<ExitCode> {
    let tree = tree()?;
    let mut out = std::io::stdout().lock();
    for note in tidy::notes(&tree) {
        writeln!(out, "note: {note}")?;
    }
    let findings = tidy::findings(&tree);
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    writeln!(out, "tidy: {} files, {} findings", tree.files().len(), findings.len())?;
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the lines of every crate and their sum.
fn lines(tree: &tidy::Tree) -> Result<ExitCode> {
    write!(std::io::stdout().lock(), "{}", lines::Count::of(tree))?;
    Ok(ExitCode::SUCCESS)
}
