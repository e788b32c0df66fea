//! What a server does with a release: everything that its own policy file allows, and nothing else.
//!
//! ```text
//! bytes from anybody ──► signature, time, version ──► policy ──► plan ──► keep, stage, record, replace, verify
//! ```
//!
//! A plan is carried out as a whole or put back as a whole. A process that is killed in between leaves each object whole, the old or the
//! new one; the next one finishes what was recorded.

mod agent;
mod carry_out;
mod place;
mod policy;
mod state;
#[cfg(test)]
mod tests;

pub use agent::{PushAgent, Recovered};
pub use carry_out::{Applied, ApplyStep, Change, ChangeKind};
pub use policy::{Policy, refuse_root};
