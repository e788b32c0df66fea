//! What a writer says to its witness, and what the witness writes down: lines of text, drawn in docs/formats.md.

use std::fmt::Write as _;

use iostall_model::powerfail::{Acknowledged, PowerfailRun};

/// First line of a log.
pub(super) const LOG_HEAD: &str = "iostall witness log 1";
/// A line is no longer, bytes.
pub(super) const LINE_BYTES_MAX: usize = 8192;
pub(super) const GROUP_MAX: u32 = 64;
pub(super) const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 512..=1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Run(PowerfailRun),
    /// A flush, by its number from 1, and the writes that it made durable.
    Flush(u64, Vec<Acknowledged>),
    End,
}

impl Said {
    /// The line, without its end.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Run(run) => format!("run {}", serde_json::json!(run)),
            Self::Flush(number, writes) => {
                let mut line = format!("flush {number}");
                for Acknowledged { sequence, offset, checksum } in writes {
                    // Writing to a string cannot fail.
                    let _ = write!(line, " {sequence}:{offset}:{checksum:08x}");
                }
                line
            }
            Self::End => "end".to_owned(),
        }
    }

    pub(super) fn of(line: &str) -> Option<Self> {
        if line.len() > LINE_BYTES_MAX {
            return None;
        }
        if line == "end" {
            return Some(Self::End);
        }
        if let Some(json) = line.strip_prefix("run ") {
            let run: PowerfailRun = serde_json::from_str(json).ok()?;
            return is_sane(&run).then_some(Self::Run(run));
        }
        let mut words = line.strip_prefix("flush ")?.split(' ');
        let number = decimal(words.next()?)?;
        let writes = words.map(acknowledged).collect::<Option<Vec<_>>>()?;
        (!writes.is_empty() && writes.len() <= GROUP_MAX as usize).then_some(Self::Flush(number, writes))
    }
}

fn acknowledged(word: &str) -> Option<Acknowledged> {
    let mut parts = word.split(':');
    let (sequence, offset, sum) = (parts.next()?, parts.next()?, parts.next()?);
    let is_sum = sum.len() == 8 && sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_sum || parts.next().is_some() {
        return None;
    }
    let checksum = u32::from_str_radix(sum, 16).ok()?;
    Some(Acknowledged { sequence: decimal(sequence)?, offset: decimal(offset)?, checksum })
}

/// A number in the one way to write it.
fn decimal(word: &str) -> Option<u64> {
    let number: u64 = word.parse().ok()?;
    (number.to_string() == word).then_some(number)
}

fn is_sane(run: &PowerfailRun) -> bool {
    let end = run.blocks.checked_mul(run.block_bytes.into()).and_then(|all| all.checked_add(run.first_byte));
    run_number(&run.run).is_some()
        && BLOCK_BYTES.contains(&run.block_bytes)
        && run.block_bytes.is_multiple_of(512)
        && run.first_byte.is_multiple_of(512)
        && run.blocks > 0
        && end.is_some_and(|end| i64::try_from(end).is_ok())
        && run.target.len() <= LINE_BYTES_MAX / 2
}

pub(super) fn run_number(name: &str) -> Option<u64> {
    let is_it = name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_it { u64::from_str_radix(name, 16).ok() } else { None }
}

/// What a run has said so far, so that nonsense is noticed.
#[derive(Clone, Debug)]
pub(super) struct Course {
    run: PowerfailRun,
    flushes: u64,
    sequence: u64,
}

impl Course {
    pub(super) fn new(run: PowerfailRun) -> Self {
        Self { run, flushes: 0, sequence: 0 }
    }

    /// Takes the next flush; `false` if it cannot be the next.
    pub(super) fn take(&mut self, number: u64, writes: &[Acknowledged]) -> bool {
        let block_bytes = u64::from(self.run.block_bytes);
        let is_block = |offset: u64| {
            let within = offset.checked_sub(self.run.first_byte);
            within.is_some_and(|within| {
                within.is_multiple_of(block_bytes) && within / block_bytes < self.run.blocks
            })
        };
        let is_next = number == self.flushes + 1
            && writes.iter().zip(self.sequence + 1..).all(|(write, sequence)| write.sequence == sequence)
            && writes.iter().all(|write| is_block(write.offset));
        if is_next {
            self.flushes = number;
            self.sequence += writes.len() as u64;
        }
        is_next
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use iostall_model::powerfail::Primitive;

    pub(crate) fn run() -> PowerfailRun {
        PowerfailRun {
            run: "00000000000000ff".to_owned(),
            primitive: Primitive::Fdatasync,
            block_bytes: 4096,
            first_byte: 4096,
            blocks: 8,
            target: "/dev/loop7".to_owned(),
            takes_fua: Some(false),
            is_direct: true,
        }
    }

    #[test]
    fn every_line_is_read_as_it_was_written() {
        let write = |sequence, offset| Acknowledged { sequence, offset, checksum: 0xab };
        for said in [Said::Run(run()), Said::Flush(3, vec![write(1, 4096), write(2, 8192)]), Said::End] {
            assert_eq!(Said::of(&said.line()), Some(said));
        }
    }

    #[test]
    fn garbage_is_no_line() {
        let long = format!("flush 1{}", " 1:4096:000000ab".repeat(65));
        for line in [
            "",
            "end ",
            "flush",
            "flush 1",
            "flush +1 1:4096:000000ab",
            "flush 1 1:4096:ab",
            "flush 1 1:4096:000000AB",
            "flush 1 1:4096:000000ab:1",
            "flush 1 01:4096:000000ab",
            "GET / HTTP/1.1",
            "run {}",
            &long,
        ] {
            assert_eq!(Said::of(line), None, "{line}");
        }
        let odd = PowerfailRun { blocks: u64::MAX, ..run() };
        assert_eq!(Said::of(&Said::Run(odd).line()), None);
        let odd = PowerfailRun { run: "../../etc/passwd".to_owned(), ..run() };
        assert_eq!(Said::of(&Said::Run(odd).line()), None);
    }

    #[test]
    fn a_course_has_no_gaps_and_stays_in_its_blocks() {
        let mut course = Course::new(run());
        let write = |sequence, offset| Acknowledged { sequence, offset, checksum: 0 };
        assert!(!course.take(2, &[write(1, 4096)]), "the first flush is 1");
        assert!(!course.take(1, &[write(2, 4096)]), "the first write is 1");
        for offset in [0, 4097, 9 * 4096] {
            assert!(!course.take(1, &[write(1, offset)]), "{offset}");
        }
        assert!(course.take(1, &[write(1, 4096), write(2, 8 * 4096)]));
        assert!(!course.take(1, &[write(1, 4096)]), "again");
        assert!(course.take(2, &[write(3, 4096)]));
    }
}
