//! The program end to end: the real binary on real files, devices and signals.

mod alerts;
mod cli;
mod collect;
mod compare;
mod copy;
mod copy_crash;
mod copy_media;
mod copy_traps;
mod devices;
mod diskspd;
mod full_store;
mod load;
mod manual;
mod matrix;
mod open_loop;
mod reference;
mod refusals;
mod runs;
mod sqlserver;
mod support;
mod sweep;
mod top;
mod verify;
mod watch_metrics;
mod watch_report;
mod write;
