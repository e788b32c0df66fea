//! Variable-length numbers: seven bits per byte, lowest first.

/// Appends `value` with seven bits per byte, lowest first.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

/// Appends the difference between `before` and `after`, which is short if it is small in either direction.
pub(super) fn put_difference(out: &mut Vec<u8>, before: u64, after: u64) {
    let difference = after.wrapping_sub(before).cast_signed();
    put(out, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
}

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn take(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The next number, which was written as a difference to `before`.
    pub(super) fn take_from(&mut self, before: u64) -> Option<u64> {
        let zigzag = self.take()?;
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        Some(before.wrapping_add(difference))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_and_every_difference_reads_back(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..50)) {
            let mut out = Vec::new();
            for (a, b) in &pairs {
                put(&mut out, *a);
                put_difference(&mut out, *a, *b);
            }
            let mut reader = Reader(&out);
            for (a, b) in &pairs {
                prop_assert_eq!(reader.take(), Some(*a));
                prop_assert_eq!(reader.take_from(*a), Some(*b));
            }
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn bytes_that_are_none_of_ours_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let mut reader = Reader(&bytes);
            while reader.take().is_some() {}
        }
    }

    #[test]
    fn a_number_cut_short_is_none() {
        assert_eq!(Reader(&[0x80]).take(), None);
        assert_eq!(Reader(&[0xff; 10]).take(), None);
    }
}
