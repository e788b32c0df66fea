//! The paced writer: data arrives in bursts at fixed times and is written with one method after another,
//! timing every write.

mod sweep;
mod writer;

pub use sweep::{Backlog, find_change, sweet_spots};
pub use writer::{PacedJob, write_paced};

/// Fills a packet with incompressible bytes, because data from a real-time source is already compressed.
pub fn fill_packet(packet: &mut [u8]) {
    use rand_core::{Rng as _, SeedableRng as _};
    rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(packet.len() as u64).fill_bytes(packet);
}
