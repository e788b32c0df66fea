//! The locale that the user's programs are to use.

/// Whether text may have characters beyond ASCII: if the locale is UTF-8, or not set.
pub fn locale_is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|value| is_utf8(&value))
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8") || locale == "c" || locale == "posix"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_of_one_byte_a_character_are_not_utf_8() {
        assert!(["de_DE.UTF-8", "C.utf8", "C", "POSIX"].into_iter().all(is_utf8));
        assert!(!["de_DE.ISO-8859-1", "ja_JP.eucJP", "en_US"].into_iter().any(is_utf8));
    }
}
