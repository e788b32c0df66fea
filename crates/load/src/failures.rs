//! Failed requests of a worker: counted by kind, with the first of each kind described.

use iostall_engine::IoFailure;
use iostall_measure::Op;
use iostall_model::outcome::ErrorOutcome;

/// A worker gives up after this many consecutive failures.
const FAILURES_IN_A_ROW_MAX: u32 = 1000;

pub(crate) struct Failure {
    pub(crate) op: Op,
    pub(crate) target: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// The error, or the number of bytes moved.
    pub(crate) cause: Result<u32, IoFailure>,
}

#[derive(Default)]
pub(crate) struct Failures {
    kinds: Vec<ErrorOutcome>,
    in_a_row: u32,
}

impl Failures {
    #[inline]
    pub(crate) fn success(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether the worker should give up after too many consecutive failures.
    pub(crate) fn hopeless(&self) -> bool {
        self.in_a_row >= FAILURES_IN_A_ROW_MAX
    }

    #[cold]
    pub(crate) fn add(&mut self, failure: &Failure) {
        self.in_a_row += 1;
        let (kind, message, moved) = match failure.cause {
            Ok(moved) => ("short".to_owned(), "fewer bytes moved than requested".to_owned(), moved),
            Err(cause) => (cause.symbol(), cause.to_string(), 0),
        };
        if let Some(known) = self.kinds.iter_mut().find(|known| known.op == failure.op && known.kind == kind)
        {
            known.count += 1;
            return;
        }
        self.kinds.push(ErrorOutcome {
            op: failure.op,
            kind,
            message,
            count: 1,
            first_target: failure.target,
            first_offset: failure.offset,
            first_length: failure.length,
            first_moved: moved,
        });
    }

    /// The kinds, in order of first occurrence.
    pub(crate) fn into_kinds(self) -> Vec<ErrorOutcome> {
        self.kinds
    }
}

pub(crate) fn merge(into: &mut Vec<ErrorOutcome>, from: Vec<ErrorOutcome>) {
    for kind in from {
        match into.iter_mut().find(|known| known.op == kind.op && known.kind == kind.kind) {
            Some(known) => known.count += kind.count,
            None => into.push(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_failures_are_counted_and_the_first_keeps_its_place() {
        let mut failures = Failures::default();
        for offset in [4096, 8192] {
            failures.add(&Failure {
                op: Op::Write,
                target: 1,
                offset,
                length: 4096,
                cause: Err(IoFailure(28)),
            });
        }
        failures.add(&Failure { op: Op::Read, target: 1, offset: 0, length: 4096, cause: Ok(512) });
        let mut kinds = failures.into_kinds();
        assert_eq!(kinds.len(), 2);
        assert_eq!((kinds[0].kind.as_str(), kinds[0].count, kinds[0].first_offset), ("ENOSPC", 2, 4096));
        assert_eq!((kinds[1].kind.as_str(), kinds[1].first_moved), ("short", 512));
        let again = kinds.clone();
        merge(&mut kinds, again);
        assert_eq!(kinds[0].count, 4);
    }

    #[test]
    fn a_success_ends_a_row_of_failures() {
        let mut failures = Failures::default();
        for _ in 0..FAILURES_IN_A_ROW_MAX {
            failures.add(&Failure {
                op: Op::Read,
                target: 0,
                offset: 0,
                length: 512,
                cause: Err(IoFailure(5)),
            });
        }
        assert!(failures.hopeless());
        failures.success();
        assert!(!failures.hopeless());
    }
}
