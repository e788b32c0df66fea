//! How long the parts of an upload are.

/// The first parts have this length, and each following group of [`PARTS_OF_A_SIZE`] has so much more: a store takes 10,000
/// parts of at least 5 MiB, and nobody knows beforehand how long a stripe becomes.
const PART_BYTES: usize = 8 << 20;
const PARTS_OF_A_SIZE: usize = 500;
const PARTS_MAX: usize = 10_000;

/// The longest object that can be uploaded: 820 GiB.
pub(crate) const UPLOAD_BYTES_MAX: u64 = part_begin(PARTS_MAX);

/// Bytes of a part, counted from 0. Only the last one of an upload is shorter.
pub(crate) const fn part_bytes(index: usize) -> usize {
    PART_BYTES * (1 + index / PARTS_OF_A_SIZE)
}

const fn part_begin(index: usize) -> u64 {
    let (groups, rest) = ((index / PARTS_OF_A_SIZE) as u64, (index % PARTS_OF_A_SIZE) as u64);
    let of_groups = (PARTS_OF_A_SIZE as u64) * (groups * (groups + 1) / 2);
    (PART_BYTES as u64) * (of_groups + rest * (groups + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store takes 10,000 parts of 5 MiB and more.
    #[test]
    fn parts_grow_and_follow_one_another_up_to_the_longest_upload() {
        let mut at = 0;
        for index in 0..PARTS_MAX {
            assert_eq!(part_begin(index), at, "{index}");
            at += part_bytes(index) as u64;
        }
        assert_eq!(at, UPLOAD_BYTES_MAX);
        assert_eq!(at >> 30, 820);
        assert!(part_bytes(0) >= 5 << 20);
    }
}
