//! The centre of a fleet, which servers send their history to: how they join it, what they say to it, and what they keep of it.

mod client;
mod join;
mod membership;

pub use client::{Centre, Greeting};
pub use join::{JoinCentre, join_centre};

pub use crate::centre_error::CentreError;
