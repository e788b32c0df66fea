//! The order of a target's offsets.

use crate::distribution::Distribution;

#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// `-r`, `-rs`, `-rd`.
    Random {
        /// Alignment of offsets; above 0. With a share below 100 also the stride.
        align_bytes: u64,
        /// Share of requests that jump, 1 to 100.
        random_pct: u32,
        /// `None` is uniform.
        distribution: Option<Distribution>,
    },
    /// `-s`.
    Sequential {
        /// Distance between starts; 0 repeats one offset.
        stride_bytes: u64,
        /// `-si`: threads share one sequence.
        interlocked: bool,
    },
}

impl Access {
    /// Alignment or stride, which DiskSpd stores as one number.
    pub fn step_bytes(&self) -> u64 {
        match self {
            Self::Random { align_bytes, .. } => *align_bytes,
            Self::Sequential { stride_bytes, .. } => *stride_bytes,
        }
    }

    pub fn is_random(&self) -> bool {
        matches!(self, Self::Random { .. })
    }

    pub fn is_interlocked(&self) -> bool {
        matches!(self, Self::Sequential { interlocked: true, .. })
    }

    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Self::Random { distribution, .. } => distribution.as_ref(),
            Self::Sequential { .. } => None,
        }
    }
}
