//! A directory or a bucket between servers and the centre of a fleet, for networks that are isolated from each other: servers put
//! sealed files there, the centre takes them and puts confirmations there. `docs/formats.md` explains the files.
//!
//! ```text
//! store ──► Relay (a destination) ──► STORE.NUMBER.batch ──► receive ──► repository
//!             ▲                                                 │
//!             └────────── STORE.NUMBER.confirmed ◄──────────────┘
//! ```
//!
//! Neither side keeps anything of its own about it: a server knows what is there and what is on its way from the confirmation and from
//! its files that wait. A file that is lost or comes twice does no harm: each message in it says what it follows.

mod confirmation;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod join;
mod keys;
mod names;
mod place;
mod receive;
mod sealed;
mod sender;

pub use crate::relay_error::RelayError;
pub use join::{JoinRelay, join_relay};
pub use place::RelayPlace;
pub use receive::{ReceiveEvent, receive, receive_as_it_comes};
pub use sender::Relay;
