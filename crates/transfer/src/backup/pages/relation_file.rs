//! The names of files of relations and of tablespaces.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    Main,
    FreeSpaceMap,
    VisibilityMap,
    /// What an unlogged relation is after a crash.
    Init,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationFile {
    pub file_node: u32,
    pub fork: Fork,
    /// Which of the fork's files it is, from 0.
    pub segment: u32,
    /// Of a temporary relation, which no other session sees.
    pub is_temporary: bool,
}

impl RelationFile {
    /// The file called `name` in the directory of a database, such as `16384_vm.1` or `t3_16390`; `None` if it is no
    /// relation's.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let (whole, segment) = match name.split_once('.') {
            Some((whole, segment)) => (whole, number(segment).filter(|segment| *segment > 0)?),
            None => (name, 0),
        };
        let (is_temporary, rest) = match whole.strip_prefix('t') {
            Some(temporary) => {
                let (backend, rest) = temporary.split_once('_')?;
                number(backend)?;
                (true, rest)
            }
            None => (false, whole),
        };
        let (node, fork) = match rest.split_once('_') {
            None => (rest, Fork::Main),
            Some((node, "fsm")) => (node, Fork::FreeSpaceMap),
            Some((node, "vm")) => (node, Fork::VisibilityMap),
            Some((node, "init")) => (node, Fork::Init),
            Some(_) => return None,
        };
        let file_node = number(node).filter(|node| *node > 0)?;
        Some(Self { file_node, fork, segment, is_temporary })
    }
}

/// Where relations are, in the data directory or a tablespace: other files have names that are numbers, too.
const PLACES: [&[u8]; 4] = [b"base", b"global", b"pg_tblspc", b"iostall_tablespaces"];

/// The pages `first` to `last` of the file `name` as PostgreSQL counts them, such as `base/16384/2619 block 17`: the files of a
/// large relation are one, and each has `segment_blocks`. `None` if the file is no relation's.
pub fn blocks_in_words(name: &[u8], first: u64, last: u64, segment_blocks: u32) -> Option<String> {
    let at = name.iter().rposition(|byte| *byte == b'/')? + 1;
    let (directory, file) = name.split_at(at);
    let is_place = |part: &[u8]| PLACES.contains(&part);
    let RelationFile { segment, .. } =
        RelationFile::parse(file).filter(|_| directory.split(|byte| *byte == b'/').any(is_place))?;
    let before = u64::from(segment) * u64::from(segment_blocks);
    let fork = file.split(|byte| *byte == b'.').next().unwrap_or(file);
    let relation = String::from_utf8_lossy(&name[..at + fork.len()]).into_owned();
    Some(match (before.checked_add(first)?, before.checked_add(last)?) {
        (first, last) if first == last => format!("{relation} block {first}"),
        (first, last) => format!("{relation} blocks {first} to {last}"),
    })
}

fn number(digits: &str) -> Option<u32> {
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
    (digits == "0" || is_plain).then(|| digits.parse().ok()).flatten()
}

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
    fn relations_forks_segments_and_temporary_ones_are_known_by_name() {
        let file = |file_node, fork, segment, is_temporary| {
            Some(RelationFile { file_node, fork, segment, is_temporary })
        };
        for (name, expected) in [
            ("1259", file(1259, Fork::Main, 0, false)),
            ("16384.1", file(16384, Fork::Main, 1, false)),
            ("16384_fsm", file(16384, Fork::FreeSpaceMap, 0, false)),
            ("16384_vm.12", file(16384, Fork::VisibilityMap, 12, false)),
            ("16384_init", file(16384, Fork::Init, 0, false)),
            ("t3_16390", file(16390, Fork::Main, 0, true)),
            ("t0_16390_vm.2", file(16390, Fork::VisibilityMap, 2, true)),
            ("4294967295", file(u32::MAX, Fork::Main, 0, false)),
        ] {
            assert_eq!(RelationFile::parse(name.as_bytes()), expected, "{name}");
        }
        for other in [
            "",
            "PG_VERSION",
            "pg_filenode.map",
            "pg_internal.init",
            "16384_",
            "16384_x",
            "16384.",
            "16384.0",
            "016384",
            "0",
            "t_16384",
            "t3",
            "4294967296",
            "16384.1.2",
            "16384_vm_1",
            "+1",
            "pg_control",
        ] {
            assert_eq!(RelationFile::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(RelationFile::parse(b"16384\xff"), None);
    }

    #[test]
    fn blocks_are_counted_through_all_files_of_a_relation() {
        let words = |name: &str, first, last| blocks_in_words(name.as_bytes(), first, last, 131_072);
        assert_eq!(words("base/16384/2619", 17, 17).unwrap(), "base/16384/2619 block 17");
        assert_eq!(words("main/base/5/2619.1", 0, 127).unwrap(), "main/base/5/2619 blocks 131072 to 131199");
        assert_eq!(words("global/1262_fsm", 0, 2).unwrap(), "global/1262_fsm blocks 0 to 2");
        for other in ["2619", "pg_xact/1234", "base/5/PG_VERSION", "base/5/pg_filenode.map", "x/2619"] {
            assert_eq!(words(other, 0, 0), None, "{other}");
        }
    }

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
