//! Inputs that nobody wrote: known ones with bytes changed, cut out, repeated and put in. They find less than libFuzzer, which
//! sees what an input reaches, but need no program of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Reader;

/// Changes of one input, at most.
const CHANGES_MAX: u64 = 6;
/// No input is longer; as long as those of libFuzzer here.
const BYTES_MAX: usize = 65_536;
/// Where lengths and signs turn over.
const EDGES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/// Changed inputs for a reader, the same for the same seed.
struct Mutations {
    known: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    random: Xoshiro256PlusPlus,
}

impl Mutations {
    /// From the known inputs and the words of `reader`.
    fn of(reader: &Reader, seed: u64) -> Self {
        let seeds = reader.seeds().unwrap();
        let mut known: Vec<Vec<u8>> = seeds.iter().map(|path| std::fs::read(path).unwrap()).collect();
        known.push(Vec::new());
        let dictionary = reader.dictionary().map(|path| std::fs::read_to_string(path).unwrap());
        let words = dictionary.iter().flat_map(|words| words.lines()).filter_map(word).collect();
        Self { known, words, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.random.next_u64() % limit).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.random.next_u64().to_le_bytes()[0]
    }

    fn known(&mut self) -> Vec<u8> {
        let index = self.below(self.known.len());
        self.known[index].clone()
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let length = self.below((input.len() - at).min(64) + 1);
        match self.below(7) {
            0 => drop(input.drain(at..at + length)),
            1 => input.truncate(at),
            2 => {
                let repeated = input[at..at + length].to_vec();
                input.splice(at..at, repeated);
            }
            3 => {
                let other = self.known();
                let from = self.below(other.len() + 1);
                input.splice(at.., other[from..].iter().copied());
            }
            4 if !self.words.is_empty() => {
                let index = self.below(self.words.len());
                let word = self.words[index].clone();
                input.splice(at..at, word);
            }
            5 => {
                let added: Vec<u8> = (0..=self.below(8)).map(|_| self.byte()).collect();
                input.splice(at..at, added);
            }
            _ => {
                let changed = if self.below(2) == 0 { self.byte() } else { EDGES[self.below(EDGES.len())] };
                if let Some(byte) = input.get_mut(at) {
                    *byte = changed;
                }
            }
        }
        input.truncate(BYTES_MAX);
    }
}

impl Iterator for Mutations {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut input = self.known();
        for _ in 0..=self.random.next_u64() % CHANGES_MAX {
            self.change(&mut input);
        }
        Some(input)
    }
}

/// A line of a dictionary: `name="word"`, with `\xAB`, `\\` and `\"`.
fn word(line: &str) -> Option<Vec<u8>> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (_, quoted) = line.split_once('"')?;
    let mut rest = quoted.strip_suffix('"')?.bytes();
    let mut word = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            word.push(byte);
            continue;
        }
        match rest.next()? {
            b'x' => {
                let digits = [rest.next()?, rest.next()?];
                word.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            other => word.push(other),
        }
    }
    Some(word)
}

/// Changed inputs a reader is given; libFuzzer gives it more, at length.
const TRIES: usize = 2_000;

#[test]
fn changed_inputs_break_no_promise() {
    // The same inputs each time: what fails here fails again. At length others are tried.
    let is_long = std::env::var_os("IOSTALL_TEST_LONG").is_some();
    let seed = if is_long { u64::from(std::process::id()) } else { 1 };
    for reader in Reader::ALL {
        for (number, input) in Mutations::of(&reader, seed).take(TRIES).enumerate() {
            let is_kept = catch_unwind(AssertUnwindSafe(|| (reader.check)(&input))).is_ok();
            assert!(is_kept, "{}: input {number} of seed {seed}: {input:?}", reader.name);
        }
    }
}

#[test]
fn a_word_is_what_stands_between_quotes_with_its_escapes() {
    assert_eq!(word(r#"sign="\x00\xffa\"\\""#), Some(vec![0, 255, b'a', b'"', b'\\']));
    assert_eq!(word("# \"none\""), None);
    assert_eq!(word(r#""open"#), None);
}
