//! `iostall backup` end to end.

mod plan;
