//! The levels of the view.

use iostall_model::Level;

/// By their keys 1 to 4.
pub(super) const LEVELS: [(Level, &str); 4] = [
    (Level::Files, "files"),
    (Level::Databases, "databases"),
    (Level::Volumes, "volumes"),
    (Level::Server, "server"),
];
