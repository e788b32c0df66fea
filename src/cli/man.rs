//! Manual pages from the same description that parses the command line.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_mangen::Man;

use super::Cli;

/// One manual page.
pub(crate) struct Page(Man);

impl Page {
    /// iostall(1).
    pub(crate) fn first() -> Self {
        Self(Man::new(Cli::command()))
    }

    /// The page of every command.
    pub(crate) fn all() -> Vec<Self> {
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        let (mut commands, mut pages) = (vec![root], Vec::new());
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
            pages.push(Self(Man::new(command)));
        }
        pages
    }

    pub(crate) fn file_name(&self) -> String {
        self.0.get_filename()
    }

    /// Writes it as roff.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.render(out)
    }
}
