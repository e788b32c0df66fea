//! Changes to known inputs.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::corpus::{dictionary, seeds};
use crate::target::Target;

/// Inputs stay below this, but for the few that are blown up on purpose.
const INPUT_BYTES_MAX: usize = 16 * 1024;

/// Makes inputs; the same seed makes the same ones.
pub(crate) struct Mutator {
    dice: Xoshiro256PlusPlus,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// A number below `end`, or 0 where `end` is 0. The slight favour for small ones does no harm here.
    fn below(&mut self, end: usize) -> usize {
        let bits = self.dice.next_u64() >> 33;
        usize::try_from(bits).map_or(0, |bits| bits.checked_rem(end).unwrap_or(0))
    }

    /// A known input with up to eight changes; one in 4096 is blown up beyond every limit.
    pub(crate) fn input(&mut self, target: Target) -> Vec<u8> {
        let known = seeds(target);
        let mut input = known[self.below(known.len())].to_vec();
        for _ in 0..self.below(8) {
            self.change(&mut input, target);
        }
        if self.below(4096) == 0 {
            let piece = dictionary(target)[self.below(dictionary(target).len())];
            input = piece.repeat(1 << 20).into_bytes();
        } else {
            input.truncate(INPUT_BYTES_MAX);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, target: Target) {
        let at = self.below(input.len() + 1);
        let length = self.below(24).min(input.len() - at);
        match self.below(7) {
            0 => drop(input.drain(at..at + length)),
            1 => {
                let piece = input[at..at + length].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, piece);
            }
            2 => {
                let byte = self.dice.next_u64().to_le_bytes()[0];
                input.splice(at..at + length.min(1), [byte]);
            }
            3 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << (self.dice.next_u64() % 8);
                }
            }
            4 => {
                let known = seeds(target);
                let other = known[self.below(known.len())];
                let from = self.below(other.len());
                input.splice(at.., other[from..].iter().copied());
            }
            // Words of the grammar most often: they get deepest.
            choice => {
                let words = dictionary(target);
                let word = words[self.below(words.len())];
                let replaced = if choice == 5 { at + length } else { at };
                input.splice(at..replaced, word.bytes());
            }
        }
    }
}
