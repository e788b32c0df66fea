//! Admin commands of NVMe controllers: log pages, and what erases a drive.

mod admin;
mod erase;

pub use admin::log_page;
pub use erase::{Erase, EraseError, Erased, erase};
