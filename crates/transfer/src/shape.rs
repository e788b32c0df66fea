//! Request size and number of requests in flight of a transfer.

use iostall_model::transfer::TransferShape;

/// Bytes per request if source and destination share a device: reads and writes then alternate, and large
/// requests keep the switches few.
const SAME_DEVICE_BYTES: u32 = 4 << 20;
/// Bytes per request between two devices.
const TWO_DEVICES_BYTES: u32 = 1 << 20;
/// Buffers that may be with the checksum thread without delaying reads.
const HASH_BUFFERS: u32 = 3;
/// Request sizes and depths that tuning tries, on each side: a factor of two apart, around the best values
/// found on devices of all kinds.
pub const TUNING_STEPS: [(u32, u32); 5] =
    [(1 << 20, 2), (1 << 20, 8), (2 << 20, 4), (4 << 20, 2), (8 << 20, 2)];
/// Largest transfer size, bytes.
pub const TRANSFER_BYTES_MAX: u32 = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub transfer_bytes: u32,
    pub reads_max: u32,
    pub writes_max: u32,
    pub hash_buffers: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeReason {
    /// The user set it, or part of it.
    Asked,
    /// It was the fastest of those tried.
    Measured,
    /// It is the default for the devices.
    Usual,
}

impl Shape {
    /// For one device or two, with or without checksums. Values set by the user are kept.
    pub fn choose(same_device: bool, hashed: bool, transfer_bytes: Option<u32>, depth: Option<u32>) -> Self {
        let (bytes, usual_depth) = if same_device { (SAME_DEVICE_BYTES, 2) } else { (TWO_DEVICES_BYTES, 8) };
        let depth = depth.unwrap_or(usual_depth).clamp(1, 1024);
        Self {
            transfer_bytes: transfer_bytes
                .unwrap_or(bytes)
                .clamp(4096, TRANSFER_BYTES_MAX)
                .next_multiple_of(4096),
            reads_max: depth,
            writes_max: depth,
            hash_buffers: if hashed { HASH_BUFFERS } else { 0 },
        }
    }

    /// Number of buffers: those in flight on both sides, those at the checksum thread, and one spare.
    pub fn buffer_count(&self) -> u32 {
        self.reads_max + self.writes_max + self.hash_buffers + 1
    }

    /// In its stored form; the caller adds how the files were opened, and the engine.
    pub fn describe(&self, same_device: bool, why: ShapeReason) -> TransferShape {
        let because = match (why, same_device) {
            (ShapeReason::Asked, _) => "asked for",
            (ShapeReason::Measured, _) => "measured: the fastest of those tried",
            (ShapeReason::Usual, true) => "one device: large requests, few in flight",
            (ShapeReason::Usual, false) => "two devices: both kept busy",
        };
        TransferShape {
            transfer_bytes: self.transfer_bytes,
            buffer_count: self.buffer_count(),
            reads_max: self.reads_max,
            writes_max: self.writes_max,
            same_device,
            chosen_because: because.to_owned(),
            ..TransferShape::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device_gets_few_large_requests_and_two_get_many_small_ones() {
        let one = Shape::choose(true, false, None, None);
        let two = Shape::choose(false, false, None, None);
        assert!(one.transfer_bytes > two.transfer_bytes);
        assert!(one.reads_max < two.reads_max);
        assert_eq!(one.buffer_count(), 5);
    }

    #[test]
    fn what_is_asked_for_is_kept_within_reason() {
        let asked = Shape::choose(true, true, Some(10_000), Some(3));
        assert_eq!((asked.transfer_bytes, asked.reads_max, asked.writes_max), (12_288, 3, 3));
        assert_eq!(Shape::choose(true, true, Some(u32::MAX), Some(0)).transfer_bytes, TRANSFER_BYTES_MAX);
    }
    /// "Why did it take 4 MiB?" could not be answered from a run.
    #[test]
    fn a_run_says_why_its_shape_was_chosen() {
        let shape = Shape::choose(true, false, None, None);
        let because = |same_device, why| shape.describe(same_device, why).chosen_because;
        assert_eq!(because(true, ShapeReason::Asked), "asked for");
        assert!(because(false, ShapeReason::Measured).starts_with("measured"));
        assert!(because(true, ShapeReason::Usual).starts_with("one device"));
        assert!(because(false, ShapeReason::Usual).starts_with("two devices"));
        let described = shape.describe(true, ShapeReason::Usual);
        assert_eq!(
            (described.transfer_bytes, described.buffer_count, described.same_device),
            (4 << 20, 5, true)
        );
    }
}
