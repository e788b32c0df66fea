//! Where the content of tablespaces stands in a backup.
//!
//! In a data directory a tablespace is a link to a directory elsewhere. In the backup its content stands in the data directory
//! itself, and the link leads there: a copy that is restored on the same host never writes into the tablespaces of the
//! server that it was made of. (PostgreSQL accepts no directory in the place of the link.)

use iostall_model::backup::StoredName;

pub(in crate::backup) const LINKS: &str = "pg_tblspc";
/// The directory with their content, in a backup.
pub(in crate::backup) const CONTENT: &str = "iostall_tablespaces";

pub(in crate::backup) fn content_of(oid: &str) -> String {
    format!("{CONTENT}/{oid}")
}

/// Where the link of a tablespace leads in the backup, from the directory of links.
pub(in crate::backup) fn target_of(oid: &str) -> StoredName {
    format!("../{CONTENT}/{oid}").as_str().into()
}

/// The name in the data directory of what is called `name` in the backup.
pub(in crate::backup) fn name_in_data_directory(name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(CONTENT.as_bytes()) {
        Some(rest) if rest.starts_with(b"/") => [LINKS.as_bytes(), rest].concat(),
        _ => name.to_vec(),
    }
}

pub(in crate::backup) fn is_oid(name: &str) -> bool {
    !name.is_empty() && name.len() <= 10 && name.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_where_it_was_read() {
        assert_eq!(content_of("16385"), "iostall_tablespaces/16385");
        let back = |name: &str| String::from_utf8(name_in_data_directory(name.as_bytes())).unwrap();
        assert_eq!(back("iostall_tablespaces/16385/PG_15_1/5/20"), "pg_tblspc/16385/PG_15_1/5/20");
        assert_eq!(back("base/5/20"), "base/5/20");
        assert_eq!(back("iostall_tablespaces2"), "iostall_tablespaces2");
        assert!(is_oid("16385") && !is_oid("") && !is_oid("16385x"));
    }
}
