//! Whether a flush is true: writes whose acknowledgement a witness on another machine keeps, and a look at what is there after the power
//! was cut.

mod block;
mod cuts;
mod error;
mod inspect;
mod log;
mod protocol;
#[cfg(test)]
mod tests;
mod witness;
mod write;

use std::io;
use std::path::PathBuf;

use iostall_engine::files::read_at;
use iostall_engine::{Access, BufferPool, OpenOptions, Pages, open_target};
use iostall_measure::Caching;
use iostall_model::powerfail::PowerfailReport;

use crate::error::SessionError;
use cuts::{add_cut, read_cuts, verdicts};
use error::PowerfailError;
use inspect::inspect;
use log::read_log;

pub(crate) use cuts::{cuts_of, share_max};
pub use witness::{WitnessRequest, witness};
pub use write::{WriteRequest, Written, write};

/// Writes that a flush can make durable at once.
pub const WRITES_PER_FLUSH: std::ops::RangeInclusive<u32> = 1..=protocol::GROUP_MAX;
pub const BLOCK_BYTES: std::ops::RangeInclusive<u32> = protocol::BLOCK_BYTES;

#[derive(Clone, Debug)]
pub struct CheckRequest {
    pub target: PathBuf,
    pub log: PathBuf,
    /// The run; `None`: the newest of the log.
    pub run: Option<String>,
    /// The file of all cuts, to which this one is added.
    pub cuts: Option<PathBuf>,
    /// The share of cuts with a loss that is to be excluded, above 0 and below 1.
    pub below: f64,
}

pub fn check(request: &CheckRequest) -> Result<PowerfailReport, SessionError> {
    let logged = read_log(&request.log, request.run.as_deref())?;
    let mut known = request.cuts.as_deref().map(read_cuts).transpose()?.unwrap_or_default();
    // What the page cache holds may never have been on the medium.
    let options = OpenOptions { access: Access::Read, caching: Caching::Direct, ..OpenOptions::default() };
    let opened = open_target(&request.target, &options).map_err(SessionError::Open)?;
    let (_pool, mut buffers) =
        BufferPool::new(1, logged.run.block_bytes, Pages::Small).map_err(PowerfailError::Buffer)?;
    let buffer = &mut buffers[0];
    let cut = inspect(&logged, &mut |offset, block| {
        let mut done = 0;
        while done < block.len() {
            let moved = read_at(opened.file(), &mut buffer[done..block.len()], offset + done as u64)?;
            if moved == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            done += moved;
        }
        block.copy_from_slice(&buffer[..block.len()]);
        Ok(())
    });
    match &request.cuts {
        Some(path) => add_cut(path, &mut known, &cut)?,
        None => known.cuts.push(cut.clone()),
    }
    let verdicts = verdicts(&known.cuts, request.below);
    Ok(PowerfailReport { findings: cut.findings(), below: request.below, verdicts, cut })
}
