//! The names of InnoDB's files.

/// Whether the file `name`, with or without directories before it, holds pages of InnoDB: a table, the system tablespace, or an
/// undo log.
pub fn is_tablespace_file(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let is_numbered = |prefix: &[u8]| {
        last.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
    };
    last.ends_with(b".ibd") || is_numbered(b"ibdata") || is_numbered(b"undo")
}

/// The pages `first` to `last` of the file `name`, such as `shop/orders.ibd pages 5 to 9`; `None` if it has none.
pub fn pages_in_words(name: &[u8], first: u64, last: u64) -> Option<String> {
    if !is_tablespace_file(name) {
        return None;
    }
    let name = String::from_utf8_lossy(name);
    Some(if first == last {
        format!("{name} page {first}")
    } else {
        format!("{name} pages {first} to {last}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_undo_logs_and_the_system_tablespace_have_pages() {
        let words = |name: &str| pages_in_words(name.as_bytes(), 5, 9);
        assert_eq!(words("shop/orders.ibd").unwrap(), "shop/orders.ibd pages 5 to 9");
        assert_eq!(pages_in_words(b"mariadb/ibdata1", 3, 3).unwrap(), "mariadb/ibdata1 page 3");
        assert!(words("undo002").is_some());
        for other in
            ["shop/orders.frm", "ib_logfile0", "ibdata", "undo_notes", "ibdata1/x", "aria_log.00000001"]
        {
            assert_eq!(words(other), None, "{other}");
        }
    }
}
