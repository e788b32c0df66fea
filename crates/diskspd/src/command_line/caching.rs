//! `-S` and `-h`: two properties, cache mode and write-through, plus memory mapping; each may be set once.

use super::linux_port;
use super::scan::{CommandLineError, Switch};
use crate::profile::{CacheMode, DiskspdTarget};

#[derive(Debug, Default)]
pub(super) struct Caching {
    mode: Option<(CacheMode, char)>,
    write_through: Option<char>,
    mapped: bool,
}

impl Caching {
    /// Applies `-S…`; a bare `-S` means `-Su`.
    pub(super) fn take(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        if switch.value.is_empty() {
            return self.set_mode(switch, CacheMode::NoOsCache, 'u');
        }
        if let Some(reason) = linux_port::caching(&switch.value) {
            return Err(switch.bad(reason));
        }
        for flag in switch.value.chars() {
            match flag {
                'b' => self.set_mode(switch, CacheMode::Cached, flag)?,
                'u' => self.set_mode(switch, CacheMode::NoOsCache, flag)?,
                'r' => self.set_mode(switch, CacheMode::NoLocalCache, flag)?,
                'h' => self.take_h(switch)?,
                'w' => self.set_write_through(switch, flag)?,
                'm' if self.mapped => return Err(switch.conflict("m was already given")),
                'm' => self.mapped = true,
                _ => return Err(switch.bad(format!("'{flag}' is not one of b, h, m, r, u and w"))),
            }
        }
        Ok(())
    }

    /// `-h` and `-Sh`: no operating system cache, and write-through.
    pub(super) fn take_h(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        self.set_mode(switch, CacheMode::NoOsCache, 'h')?;
        self.set_write_through(switch, 'h')
    }

    fn set_mode(&mut self, switch: &Switch, mode: CacheMode, by: char) -> Result<(), CommandLineError> {
        if let Some((_, before)) = self.mode {
            return Err(switch.conflict(format!("the cache mode was already set by '{before}'")));
        }
        self.mode = Some((mode, by));
        Ok(())
    }

    fn set_write_through(&mut self, switch: &Switch, by: char) -> Result<(), CommandLineError> {
        if let Some(before) = self.write_through {
            return Err(switch.conflict(format!("write-through was already set by '{before}'")));
        }
        self.write_through = Some(by);
        Ok(())
    }

    pub(super) fn apply(&self, target: &mut DiskspdTarget) {
        target.cache_mode = self.mode.map_or(CacheMode::Cached, |(mode, _)| mode);
        target.write_through = self.write_through.is_some();
        target.memory_mapped = self.mapped;
    }
}
