//! The program end to end: the real binary on real files, devices and signals.

mod cli;
mod compare;
mod devices;
mod full;
mod load;
mod matrix;
mod open_loop;
mod runs;
mod support;
mod sweep;
