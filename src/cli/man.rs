//! Manual pages from the same description that parses the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use roff::{Inline, Roff, bold, roman};

use super::Cli;

/// What each status means, for every command.
const STATUSES: [(&str, &str); 4] = [
    ("0", "Done."),
    ("1", "Done, and the answer is no: requests failed, files differ, or a threshold was missed."),
    ("2", "Could not: bad input, no permission, no space. Nothing was lost."),
    ("130", "Interrupted. Partial results are kept and valid."),
];

/// One manual page.
pub(crate) struct Page {
    command: Command,
    /// The other pages, by name.
    see_also: Vec<String>,
}

impl Page {
    /// iostall(1).
    pub(crate) fn first() -> Self {
        let command = root();
        let see_also = names_below(&command);
        Self { command, see_also }
    }

    /// The page of every command.
    pub(crate) fn all() -> Vec<Self> {
        let mut pages = vec![Self::first()];
        let mut parents = vec![root()];
        while let Some(parent) = parents.pop() {
            let siblings = names_below(&parent);
            for command in parent.get_subcommands().filter(|below| !below.is_hide_set()) {
                let own = page_name(command);
                let mut see_also = vec![page_name(&parent)];
                see_also.extend(names_below(command));
                see_also.extend(siblings.iter().filter(|name| **name != own).cloned());
                pages.push(Self { command: command.clone(), see_also });
                parents.push(command.clone());
            }
        }
        pages
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}.1", page_name(&self.command))
    }

    /// Writes it as roff.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let man = Man::new(self.command.clone());
        man.render_title(out)?;
        man.render_name_section(out)?;
        man.render_synopsis_section(out)?;
        man.render_description_section(out)?;
        man.render_options_section(out)?;
        if self.command.has_subcommands() {
            man.render_subcommands_section(out)?;
        }
        self.own_sections().to_writer(out)
    }

    /// The sections that clap's description does not have.
    fn own_sections(&self) -> Roff {
        let mut roff = Roff::new();
        let after = self.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (examples, notes) = parted(&after);
        if !examples.is_empty() {
            roff.control("SH", ["EXAMPLES"]);
            verbatim(&mut roff, &examples);
        }
        if !notes.is_empty() {
            roff.control("SH", ["NOTES"]);
            verbatim(&mut roff, &notes);
        }
        roff.control("SH", ["EXIT STATUS"]);
        for (status, meaning) in STATUSES {
            roff.control("TP", []).text([bold(status)]).text([roman(meaning)]);
        }
        roff.control("SH", ["SEE ALSO"]);
        let mut words: Vec<Inline> = Vec::new();
        for (number, name) in self.see_also.iter().enumerate() {
            words.extend([roman(if number == 0 { "" } else { ", " }), bold(name.as_str()), roman("(1)")]);
        }
        roff.text(words);
        roff
    }
}

fn root() -> Command {
    let mut root = Cli::command();
    root.build();
    root
}

fn names_below(command: &Command) -> Vec<String> {
    command.get_subcommands().filter(|below| !below.is_hide_set()).map(page_name).collect()
}

fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// The lines below "Examples:", up to the first empty line, and the other lines.
fn parted(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut examples, mut notes, mut is_example) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        match line.trim() {
            "Examples:" => is_example = true,
            "" => is_example = false,
            // The page has a section for it.
            line if line.starts_with("Exit status:") => {}
            _ if is_example => examples.push(line),
            _ => notes.push(line),
        }
    }
    (examples, notes)
}

/// Lines as they are, without filling.
fn verbatim(roff: &mut Roff, lines: &[&str]) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []);
}
