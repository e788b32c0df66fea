//! `iostall completions` and `iostall man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Which shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  iostall completions bash > ~/.local/share/bash-completion/completions/iostall
  iostall completions zsh > ~/.zfunc/_iostall                      a directory of $fpath
  iostall completions fish > ~/.config/fish/completions/iostall.fish

The rules ask the program at each key press. It reads the store, for stored runs and watched sources, but never makes one.")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Where to.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  iostall man | man -l -
  iostall man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a manual page for every command into this directory, which is created if needed. None:
    /// iostall(1) on standard output
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
