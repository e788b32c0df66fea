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

    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

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

    /// `sint32` and `sint64`.
    pub(super) fn signed(&mut self, field: u32, value: i64) {
        self.integer(field, value << 1 ^ value >> 63);
    }

    /// Several `uint64`.
    pub(super) fn integers(&mut self, field: u32, values: &[u64]) {
        let mut packed = Self::new();
        for value in values {
            packed.varint(*value);
        }
        self.message(field, &packed);
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

/// The bytes of the first field `field` of a message that somebody else wrote; `None` if there is none, or the message is damaged.
pub(super) fn first_bytes(message: &[u8], field: u64) -> Option<&[u8]> {
    match first(message, field)? {
        Field::Bytes(bytes) => Some(bytes),
        Field::Integer(_) => None,
    }
}

/// The same of an integer.
pub(super) fn first_integer(message: &[u8], field: u64) -> Option<i64> {
    match first(message, field)? {
        Field::Integer(value) => Some(value.cast_signed()),
        Field::Bytes(_) => None,
    }
}

enum Field<'a> {
    Integer(u64),
    Bytes(&'a [u8]),
}

fn first(mut rest: &[u8], wanted: u64) -> Option<Field<'_>> {
    while !rest.is_empty() {
        let key = read_varint(&mut rest)?;
        let field = match key & 7 {
            0 => Field::Integer(read_varint(&mut rest)?),
            1 => Field::Bytes(rest.split_off(..8)?),
            2 => {
                let length = usize::try_from(read_varint(&mut rest)?).ok()?;
                Field::Bytes(rest.split_off(..length)?)
            }
            5 => Field::Bytes(rest.split_off(..4)?),
            _ => return None,
        };
        if key >> 3 == wanted {
            return Some(field);
        }
    }
    None
}

fn read_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let byte = *rest.split_off_first()?;
        value |= u64::from(byte & 0x7f).checked_shl(7 * place)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_others_are_found_and_garbage_is_none() {
        let message = b"\x12\x07testing\x08\x96\x01\x11\x00\x00\x00\x00\x00\x00\xf0\x3f\x1a\x00";
        assert_eq!((first_integer(message, 1), first_bytes(message, 1)), (Some(150), None));
        assert_eq!(
            (first_bytes(message, 2), first_bytes(message, 3)),
            (Some(&b"testing"[..]), Some(&b""[..]))
        );
        for end in 0..message.len() {
            assert_eq!(first_integer(&message[..end], 4), None, "cut at {end}");
        }
        for garbage in
            [&[0xff; 30][..], b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x13", b"\x11\x00"]
        {
            assert_eq!(first_integer(garbage, 9), None);
        }
    }

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
        let mut packed = Message::new();
        packed.integers(6, &[3, 270, 86942]);
        assert_eq!(packed.as_bytes(), b"\x32\x06\x03\x8e\x02\x9e\xa7\x05");
        let mut signed = Message::new();
        signed.signed(1, -2);
        signed.signed(2, 75);
        assert_eq!(signed.as_bytes(), [0x08, 0x03, 0x10, 0x96, 0x01]);
        let mut numbers = Message::new();
        numbers.integer(1, -2);
        numbers.double(2, 1.0);
        let mut expected = vec![0x08, 0xfe];
        expected.extend([0xff; 8]);
        expected.extend([0x01, 0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(numbers.as_bytes(), expected);
    }
}
