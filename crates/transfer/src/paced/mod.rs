//! The paced writer: data that arrives in bursts at fixed times, written by one method after the other, every
//! write timed.

mod backlog;
mod change;
mod sweep;
mod writer;

pub use backlog::Backlog;
pub use change::find_change;
pub use sweep::sweet_spots;
pub use writer::{PacedJob, write_paced};

/// Fills a packet with bytes that no device can compress: what a real-time source sends is compressed already.
pub fn fill_packet(packet: &mut [u8]) {
    use rand_core::{Rng as _, SeedableRng as _};
    rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(packet.len() as u64).fill_bytes(packet);
}
