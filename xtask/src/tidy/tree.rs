//! The files of the workspace, read once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::product::{self, Sources};

#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// Relative to the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl SourceFile {
    /// Whether its name ends in `.extension`.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    pub(crate) fn stem(&self) -> &str {
        Path::new(&self.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }

    /// Its lines, numbered from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Whether it is written by hand. Broken and captured files under `tests/data`, snapshots, results and
    /// generated pages must stay as they are.
    pub(crate) fn is_hand_written(&self) -> bool {
        const EXTENSIONS: [&str; 8] = ["rs", "toml", "md", "sql", "sh", "css", "js", "py"];
        let is_script = self.text.starts_with("#!");
        let is_as_it_must_be = self.path.contains("tests/data/") || self.path.ends_with(".min.js");
        !is_as_it_must_be && (is_script || EXTENSIONS.iter().any(|extension| self.has_extension(extension)))
    }
}

/// All files that git would include.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    files: Vec<SourceFile>,
    /// All files and directories, including those that are not text.
    paths: BTreeSet<String>,
    sources: OnceLock<Vec<Sources>>,
}

impl Tree {
    /// Reads everything under `root` that `.gitignore` does not exclude.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let walk = ignore::WalkBuilder::new(root)
            .hidden(false)
            .require_git(false)
            .parents(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .sort_by_file_path(Path::cmp)
            .build();
        for entry in walk {
            let entry = entry?;
            let relative = entry.path().strip_prefix(root)?;
            let path = relative.to_str().with_context(|| format!("{} is not UTF-8", relative.display()))?;
            tree.paths.insert(path.to_owned());
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
                // Files that are not text, such as images, have no text rules.
                if let Ok(text) = String::from_utf8(bytes) {
                    tree.files.push(SourceFile { path: path.to_owned(), text });
                }
            }
        }
        Ok(tree)
    }

    pub(crate) fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The product's Rust sources, parsed once for all rules.
    pub(crate) fn sources(&self) -> &[Sources] {
        self.sources.get_or_init(|| product::parsed(self))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.has_extension("rs"))
    }

    pub(crate) fn hand_written(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.is_hand_written())
    }

    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.paths.contains(path.trim_end_matches('/'))
    }

    /// The crates under `crates/`: name of the directory and manifest.
    pub(crate) fn crates(&self) -> impl Iterator<Item = (&str, &SourceFile)> {
        self.files.iter().filter_map(|file| {
            let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some((name, file))
        })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.files.push(SourceFile { path: (*path).into(), text: (*text).into() });
            tree.paths.extend(Path::new(path).ancestors().filter_map(Path::to_str).map(String::from));
        }
        tree
    }
}
