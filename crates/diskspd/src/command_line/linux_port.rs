//! Options of diskspd-for-linux that mean something else, or nothing, in DiskSpd.

use super::scan::Switch;

/// The message for `-xk` and `-xp`, which select libaio or POSIX AIO in diskspd-for-linux; `None` for
/// DiskSpd's own `-x`.
pub(super) fn engine(switch: &Switch) -> Option<String> {
    let engine = match (switch.letter, switch.value.as_str()) {
        ('x', "k") => "libaio",
        ('x', "p") => "POSIX AIO",
        _ => return None,
    };
    Some(format!(
        "'{}' asks diskspd-for-linux for {engine}; here --engine uring or --engine psync (threads) chooses, and without it \
         io_uring is used where the kernel allows it",
        switch.word
    ))
}

/// The equivalent of diskspd-for-linux's `-S` letters; `None` if DiskSpd has none.
pub(super) fn caching(value: &str) -> Option<&'static str> {
    let has = |letter: char| value.contains(letter);
    if value.is_empty() || value.chars().any(|letter| !"ds".contains(letter)) {
        return None;
    }
    Some(match (has('d'), has('s')) {
        (true, true) => "d and s are diskspd-for-linux's O_DIRECT and O_SYNC: write -Suw, or -Sh",
        (true, false) => "d is diskspd-for-linux's O_DIRECT: write -Su",
        (false, _) => "s is diskspd-for-linux's O_SYNC: write -Sw",
    })
}

/// The equivalent of diskspd-for-linux's `-Z` letters.
pub(super) fn write_buffer(value: &str) -> Option<&'static str> {
    match value {
        "z" => Some("z is diskspd-for-linux's letter for zeros: write -Z"),
        "s" => Some(
            "s is diskspd-for-linux's; buffers for reads and writes are always separate here: leave it out",
        ),
        "sz" | "zs" => Some("these are diskspd-for-linux's letters: write -Z"),
        "sr" | "rs" => Some("s is diskspd-for-linux's: write -Zr"),
        _ => None,
    }
}
