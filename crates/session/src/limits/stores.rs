//! The stores of a reading of every block.

use iostall_store::Store;

#[derive(Default)]
pub struct LimitsStores<'a> {
    /// Has an interrupted one, to be continued.
    pub earlier: Option<&'a dyn Store>,
    /// Gets the run while it goes on.
    pub checkpoints: Option<&'a mut dyn Store>,
}
