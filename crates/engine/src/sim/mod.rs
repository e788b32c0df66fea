//! A simulated device behind the engine trait: seeded latency, stalls, short transfers, errors, and crashes
//! that lose what was not durable. Time passes only on its own clock.

mod config;
mod contents;
mod device;
mod model;
#[cfg(test)]
mod tests;

pub use config::{Faults, SimConfig, SimFile, Stall};
pub use contents::{Image, SECTOR_BYTES};
pub use device::SimDevice;
pub use model::{Arrival, Channels, DeviceModel, TokenBucket};

use crate::report::EngineReport;
use crate::request::{Completion, Engine, EngineError, Request, Tokens, Wait};

/// An engine on a [`SimDevice`]. A submit that waits advances the device's clock to the completion it waits
/// for, or to its timeout. Dropping it cancels its requests in flight without effect on the device's files.
#[derive(Debug)]
pub struct SimEngine {
    device: SimDevice,
    number: usize,
    tokens: Tokens,
    pushed: Vec<Request>,
}

impl SimEngine {
    pub fn new(device: SimDevice, capacity: u32) -> Self {
        let mut state = device.state();
        let tokens = Tokens::new(capacity, state.file_count());
        let number = state.attach();
        drop(state);
        Self { device, number, tokens, pushed: Vec::new() }
    }
}

impl Engine for SimEngine {
    fn report(&self) -> EngineReport {
        EngineReport { name: "sim", ..EngineReport::default() }
    }

    fn capacity(&self) -> u32 {
        self.tokens.capacity()
    }

    fn in_flight(&self) -> u32 {
        self.tokens.in_flight()
    }

    fn push(&mut self, request: Request) {
        self.tokens.admit(&request);
        self.pushed.push(request);
    }

    fn submit(&mut self, wait: Wait, completions: &mut Vec<Completion>) -> Result<(), EngineError> {
        let wanted = completions.len() + wait.completions.min(self.in_flight()) as usize;
        let first = wanted.min(completions.len() + 1);
        let begun_ns = self.device.now_ns();
        let batch_end_ns = wait.batch_ns.map_or(u64::MAX, |batch_ns| begun_ns.saturating_add(batch_ns));
        let deadline_ns = wait.timeout_ns.map_or(u64::MAX, |timeout_ns| begun_ns.saturating_add(timeout_ns));
        let mut state = self.device.state();
        for request in self.pushed.drain(..) {
            state.begin(self.number, request, begun_ns);
        }
        loop {
            state.run_until(self.device.now_ns());
            for completion in state.fetch(self.number) {
                self.tokens.release(completion.token);
                completions.push(completion);
            }
            let enough = if self.device.now_ns() < batch_end_ns { wanted } else { first };
            if completions.len() >= enough {
                return Ok(());
            }
            let is_batch = completions.len() >= first;
            // Completions are wanted only while requests are in flight, so there is a next end.
            match state.next_end_ns() {
                Some(end_ns) if end_ns.min(batch_end_ns) <= deadline_ns && is_batch => {
                    self.device.clock().advance_to(end_ns.min(batch_end_ns));
                }
                Some(end_ns) if end_ns <= deadline_ns => self.device.clock().advance_to(end_ns),
                _ => {
                    self.device.clock().advance_to(deadline_ns);
                    return Ok(());
                }
            }
        }
    }

    fn calls(&self) -> u64 {
        0
    }
}

impl Drop for SimEngine {
    fn drop(&mut self) {
        self.device.state().detach(self.number);
    }
}
