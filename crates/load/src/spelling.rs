//! Suggests similar names.

/// ` (did you mean "log"?)` if one of `names` is similar to `typed`, otherwise empty.
pub(crate) fn did_you_mean<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    // Half the letters may differ, which allows swapped and missing ones in a short name.
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .filter(|(distance, name)| distance * 2 <= name.len())
        .min()
        .map_or_else(String::new, |(_, name)| format!(" (did you mean {name:?}?)"))
}
