//! House-keeping commands of the workspace: `cargo xtask tidy`, `cargo xtask lines` and `cargo xtask picture`.

mod lines;
mod picture;
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
        ["picture", title] => picture(title),
        _ => bail!(
            "run `cargo xtask tidy`, which checks the rules of this project that no compiler knows, \
             `cargo xtask lines`, which counts its lines (those of other sources: `cargo xtask lines <directory>`), \
             or `cargo xtask picture TITLE`, which makes an SVG of the coloured text on standard input"
        ),
    }
}

fn tree() -> Result<tidy::Tree> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    tidy::Tree::read(root)
}

/// Standard input as a picture on standard output.
fn picture(title: &str) -> Result<ExitCode> {
    let text = std::io::read_to_string(std::io::stdin())?;
    std::io::stdout().write_all(picture::picture(title, &text).as_bytes())?;
    Ok(ExitCode::SUCCESS)
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

fn lines(tree: &tidy::Tree) -> Result<ExitCode> {
    write!(std::io::stdout().lock(), "{}", lines::Count::of(tree))?;
    Ok(ExitCode::SUCCESS)
}
