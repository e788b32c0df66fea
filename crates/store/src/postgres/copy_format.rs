//! The binary form of COPY: a header, then tuples of fields with their lengths.

use bytes::{BufMut as _, Bytes, BytesMut};

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const MISSING: i32 = -1;
const BIGINT: i32 = 20;

pub(super) struct CopyBody(BytesMut);

impl CopyBody {
    /// Without tuples; `bytes` is how long it may become.
    pub(super) fn new(bytes: usize) -> Self {
        let mut out = BytesMut::with_capacity(bytes + HEADER.len() + 2);
        out.put_slice(HEADER);
        Self(out)
    }

    pub(super) fn tuple(&mut self, fields: usize) {
        self.0.put_i16(i16::try_from(fields).unwrap_or(i16::MAX));
    }

    pub(super) fn integer(&mut self, value: i32) {
        self.0.put_i32(4);
        self.0.put_i32(value);
    }

    pub(super) fn bigint(&mut self, value: i64) {
        self.0.put_i32(8);
        self.0.put_i64(value);
    }

    /// The bits of `value`; nothing where it is missing.
    pub(super) fn bits(&mut self, value: Option<u64>) {
        match value {
            Some(value) => self.bigint(value.cast_signed()),
            None => self.0.put_i32(MISSING),
        }
    }

    pub(super) fn double(&mut self, value: Option<f64>) {
        match value {
            Some(value) => {
                self.0.put_i32(8);
                self.0.put_f64(value);
            }
            None => self.0.put_i32(MISSING),
        }
    }

    /// An array with one dimension, or none where it is empty.
    pub(super) fn bigints(&mut self, values: &[i64]) {
        let count = i32::try_from(values.len()).unwrap_or(i32::MAX);
        let dimensions = i32::from(count > 0);
        self.0.put_i32(12 + dimensions * 8 + count.saturating_mul(12));
        for word in [dimensions, 0, BIGINT] {
            self.0.put_i32(word);
        }
        if count > 0 {
            self.0.put_i32(count);
            self.0.put_i32(1);
        }
        for value in values {
            self.bigint(*value);
        }
    }

    /// What there is so far; what comes later follows it.
    pub(super) fn take(&mut self) -> Bytes {
        self.0.split().freeze()
    }

    /// The rest of it, with the mark of its end.
    pub(super) fn end(&mut self) -> Bytes {
        self.0.put_i16(-1);
        self.take()
    }
}
