//! Load generation: a profile says what to do, a plan says which request comes next.

pub mod plan;
