//! Why a device cannot be simulated.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Error)]
pub enum FlashError {
    /// No pages, or blocks of an impossible size.
    #[error(
        "a device of {user_pages} pages in blocks of {pages_per_block} cannot be simulated: a block has 1 to 32,768 pages"
    )]
    Geometry { user_pages: u32, pages_per_block: u32 },
    /// A block that ends within a page.
    #[error("a block of {block_bytes} bytes is no whole number of pages of {page_bytes} bytes")]
    Block { block_bytes: u64, page_bytes: u64 },
    /// Without spare area nothing can be collected.
    #[error(
        "the physical area must be 1 to 100 times the user's, and is {alpha} times: give some spare area"
    )]
    Alpha {
        /// Physical over user pages.
        alpha: f64,
    },
    /// More pages than can be numbered.
    #[error(
        "{user_pages} pages with {alpha} times the area are more than 2^32: simulate larger pages or a smaller device"
    )]
    TooLarge {
        user_pages: u64,
        /// Physical over user pages.
        alpha: f64,
    },
    /// Trims as frequent as writes leave nothing on the device.
    #[error(
        "the share of trims must be 0 to below 0.5, and is {share}: with more nothing stays on the device"
    )]
    TrimShare { share: f64 },
    /// A pattern that writes nothing.
    #[error("the pattern is invalid: {why}")]
    Pattern { why: &'static str },
    /// What the device does beside collection cannot be.
    #[error("the upkeep of the device is invalid: {why}")]
    Care { why: &'static str },
    /// So many blocks went bad that the rest cannot hold the data.
    #[error("{bad_blocks} of {blocks} blocks have gone bad, and the rest cannot hold the data")]
    WornOut {
        bad_blocks: u32,
        /// Good blocks at the beginning.
        blocks: u32,
    },
    /// An amplification that no device has.
    #[error("a write amplification of {wanted} cannot be had: it is above 1 and at most 100")]
    Wanted { wanted: f64 },
    /// The search left the spare areas that are simulated.
    #[error("no spare area from 0.5 % to 2,000 % gives a write amplification of {wanted} with this pattern")]
    OutOfReach { wanted: f64 },
    /// Every page of every block is valid.
    #[error("the device is full: every page that could be collected is valid")]
    Full,
}
