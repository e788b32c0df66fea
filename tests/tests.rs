//! The program end to end: the real binary on real files, devices and signals.

mod cli;
mod compare;
mod devices;
mod diskspd;
mod full;
mod load;
mod manual;
mod matrix;
mod open_loop;
mod reference;
mod runs;
mod support;
mod sweep;
