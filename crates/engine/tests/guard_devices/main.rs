//! The guard against real things: loop devices, partitions, mounts, swap, and files of databases.
//!
//! Most of these tests need root, loop devices and the tools that make what they test. One that cannot run
//! says on stderr which of them it missed.

mod devices;
mod files;
mod fixtures;
mod signatures;
