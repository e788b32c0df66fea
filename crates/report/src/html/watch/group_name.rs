//! The name of a group in charts.

use iostall_watch::windows::GroupKey;

/// Its name, with its source before it where there are several.
pub(super) fn group_name(key: &GroupKey, several: bool) -> String {
    if several { format!("{}: {}", key.source, key.name) } else { key.name.clone() }
}
