//! Sources as a user names them: their addresses are read, their passwords found, and then they can be opened.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use iostall_collect::{Address, Engine, Secret, Source, SourceError, open};

use crate::error::WatchError;

/// Asks the user for the password of a source; `None` without a terminal.
pub type AskPassword<'a> = &'a dyn Fn(&str) -> io::Result<Option<String>>;

#[derive(Clone)]
pub struct NamedSource {
    name: String,
    pub(crate) address: Address,
    pub(crate) secret: Secret,
}

impl NamedSource {
    pub(crate) fn at(address: Address, ask: AskPassword<'_>) -> Result<Self, WatchError> {
        let name = address.to_string();
        let secret = secret(&address, &name, ask)?;
        Ok(Self { name, address, secret })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn engine(&self) -> Engine {
        self.address.engine
    }

    /// Opens it: the first reading connects, and no reading takes longer than `limit`.
    pub fn open(&self, limit: Duration) -> Result<Box<dyn Source>, SourceError> {
        open(self.address.clone(), self.secret.clone(), limit)
    }
}

pub fn named_sources(texts: &[String], ask: AskPassword<'_>) -> Result<Vec<NamedSource>, WatchError> {
    let mut names = HashSet::new();
    texts
        .iter()
        .map(|text| {
            let address: Address = text.parse()?;
            let name = address.to_string();
            if !names.insert(name.clone()) {
                return Err(WatchError::NamedTwice { name });
            }
            NamedSource::at(address, ask)
        })
        .collect()
}

fn secret(address: &Address, name: &str, ask: AskPassword<'_>) -> Result<Secret, WatchError> {
    if let Some(secret) = Secret::of(&address.password)? {
        return Ok(secret);
    }
    let typed = ask(name).map_err(WatchError::Terminal)?;
    typed.map(Secret::typed).ok_or_else(|| WatchError::NoTerminal { name: name.to_owned() })
}
