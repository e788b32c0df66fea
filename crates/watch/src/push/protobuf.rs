//! The wire format of Protocol Buffers, as far as it is written here: a few messages of a handful of fields do not need a compiler of
//! schemas.

/// A message that is being written. Fields may come in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const BYTES: u32 = 2;

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A text or bytes.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Another message.
    pub(super) fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// `int64`, `uint32` and the like, and enumerations. Zero is what a reader takes for granted.
    pub(super) fn integer(&mut self, field: u32, value: i64) {
        if value != 0 {
            self.key(field, VARINT);
            self.varint(value.cast_unsigned());
        }
    }

    /// `double`, written even if it is zero.
    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// `fixed64`, written even if it is zero.
    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, FIXED_64);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f | 0x80).to_le_bytes()[0]);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own documentation.
    #[test]
    fn fields_are_written_as_the_format_says() {
        let mut inner = Message::new();
        inner.integer(1, 150);
        assert_eq!(inner.as_bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::new();
        outer.bytes(2, b"testing");
        outer.message(3, &inner);
        assert_eq!(outer.as_bytes(), b"\x12\x07testing\x1a\x03\x08\x96\x01");
        let mut numbers = Message::new();
        numbers.integer(1, -2);
        numbers.double(2, 1.0);
        let mut expected = vec![0x08, 0xfe];
        expected.extend([0xff; 8]);
        expected.extend([0x01, 0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(numbers.as_bytes(), expected);
    }
}
