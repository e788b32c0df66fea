//! One verb a file (or folder). Verbs never import each other.

pub(crate) mod compare;
pub(crate) mod load;
pub(crate) mod matrix;
pub(crate) mod presets;
pub(crate) mod runs;
pub(crate) mod sweep;
