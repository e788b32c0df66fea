//! What every command that samples does: read the names of sources, find their passwords, open them.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Context;
use iostall_collect::address::PasswordFrom;
use iostall_collect::{Address, AddressError, Secret, Source, SourceError, open};
use iostall_measure::foreign::shown;

use crate::failure::hinted;

/// A source as it was named, with its password.
pub(crate) struct Named {
    pub(crate) name: String,
    address: Address,
    secret: Secret,
}

impl Named {
    /// Opens it: the first reading connects, and no reading takes longer than `limit`.
    pub(crate) fn open(&self, limit: Duration) -> anyhow::Result<Box<dyn Source>> {
        self.open_again(limit).map_err(advised)
    }

    /// The same, with the source's own error.
    pub(crate) fn open_again(&self, limit: Duration) -> Result<Box<dyn Source>, SourceError> {
        open(self.address.clone(), self.secret.clone(), limit)
    }
}

/// The sources as typed, validated.
pub(crate) fn named(sources: &[String]) -> anyhow::Result<Vec<Named>> {
    let mut names = HashSet::new();
    sources
        .iter()
        .map(|text| {
            let address = address(text)?;
            let name = address.to_string();
            if !names.insert(name.clone()) {
                let error = anyhow::anyhow!("{name} is named twice: its samples would mix");
                return Err(hinted(error, "name each source once; databases are chosen with --database"));
            }
            let secret = secret(&address, &name)?;
            Ok(Named { name, address, secret })
        })
        .collect()
}

/// What was typed as a source.
pub(crate) fn address(text: &str) -> anyhow::Result<Address> {
    text.parse().map_err(|error: AddressError| {
        let hint = error.hint();
        hinted(error, hint)
    })
}

/// The error with the source's own advice.
pub(crate) fn advised(error: SourceError) -> anyhow::Error {
    let hint = error.hint();
    hinted(error, hint)
}

/// The password of the source called `name`, from where its address says.
pub(crate) fn secret(address: &Address, name: &str) -> anyhow::Result<Secret> {
    Ok(match &address.password {
        PasswordFrom::Nowhere => Secret::default(),
        PasswordFrom::File(path) => Secret::from_file(path).map_err(advised)?,
        PasswordFrom::Environment(variable) => Secret::from_environment(variable).map_err(advised)?,
        PasswordFrom::Prompt => prompt(name)?,
    })
}

fn prompt(name: &str) -> anyhow::Result<Secret> {
    let term = console::Term::stderr();
    if !term.is_term() {
        let error = anyhow::anyhow!("there is no terminal to ask for the password of {name}");
        return Err(hinted(error, "put it in a file and write ?password-file=PATH"));
    }
    term.write_str(&format!("password for {}: ", shown(name))).context("cannot write to the terminal")?;
    Ok(Secret::typed(term.read_secure_line().context("cannot read from the terminal")?))
}
