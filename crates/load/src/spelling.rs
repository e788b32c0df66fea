//! Names that were probably meant.

/// ` (did you mean "log"?)` where one of `names` is close to what was `typed`, else nothing.
pub(crate) fn did_you_mean<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    // Half the letters may differ: that lets through swapped and missing ones in a short name.
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .filter(|(distance, name)| distance * 2 <= name.len())
        .min()
        .map_or_else(String::new, |(_, name)| format!(" (did you mean {name:?}?)"))
}
