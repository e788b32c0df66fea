//! `cargo run -p iostall-fuzz -- --seconds 60 --seed N`: changes known inputs at random and feeds them to the readers
//! of what strangers write, until one panics, breaks a promise, or takes too much memory.
//!
//! Stable Rust and one process: no instrumented build, no coverage feedback. The inputs are short and the grammars small, so
//! a good dictionary and many tries reach what matters, and a failure is repeated by its seed.

mod corpus;
mod mutate;
mod target;

use std::io::Write;
use std::panic::catch_unwind;
use std::process::ExitCode;

use clap::Parser;
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};

use crate::mutate::Mutator;
use crate::target::Target;

/// More memory than this for inputs of a few KiB means that something grows without bound.
const MEMORY_KIB_MAX: u64 = 256 * 1024;

/// Characters of a guilty input that are printed; its seed and try give the rest.
const SHOWN_MAX: usize = 2000;

/// How often memory and time are looked at.
const TRIES_PER_LOOK: u64 = 256;

/// Fuzzes iostall's readers.
#[derive(Parser)]
struct Arguments {
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Which random sequence; default: one from the clock, which is printed.
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| utc_now().as_second().unsigned_abs());
    let mut out = std::io::stderr();
    writeln!(out, "fuzz: {} s with --seed {seed}", arguments.seconds)?;
    let clock = MonotonicClock::new();
    let end_ns = clock.now_ns() + arguments.seconds * 1_000_000_000;
    let mut mutator = Mutator::new(seed);
    let mut tries = 0_u64;
    while clock.now_ns() < end_ns {
        for _ in 0..TRIES_PER_LOOK {
            if let Err(failure) = try_once(&mut mutator) {
                writeln!(out, "fuzz: --seed {seed}, try {tries}: {failure}")?;
                return Ok(ExitCode::from(1));
            }
            tries += 1;
        }
        if let Some(kib) = memory_kib_peak().filter(|kib| *kib > MEMORY_KIB_MAX) {
            writeln!(
                out,
                "fuzz: --seed {seed}, before try {tries}: {kib} KiB of memory, more than {MEMORY_KIB_MAX}"
            )?;
            return Ok(ExitCode::from(1));
        }
    }
    writeln!(out, "fuzz: {tries} tries, nothing found")?;
    Ok(ExitCode::SUCCESS)
}

/// One changed input for each target; the error holds the input.
fn try_once(mutator: &mut Mutator) -> Result<(), String> {
    for target in Target::ALL {
        let input = mutator.input(target);
        let judged = catch_unwind(|| target.check(&input));
        let problem = match judged {
            Ok(Ok(())) => continue,
            Ok(Err(problem)) => problem,
            Err(_) => "panicked (see above)".to_owned(),
        };
        let shown: String = String::from_utf8_lossy(&input).chars().take(SHOWN_MAX).collect();
        return Err(format!("{}: {problem}\ninput of {} bytes: {shown:?}", target.name(), input.len()));
    }
    Ok(())
}

/// The most memory this process has had, KiB; `None` where the system does not tell.
fn memory_kib_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_itself_breaks_no_promise() {
        for target in Target::ALL {
            for input in corpus::seeds(target) {
                assert_eq!(target.check(input), Ok(()), "{}", String::from_utf8_lossy(input));
            }
        }
    }

    #[test]
    fn a_thousand_changed_inputs_break_no_promise() {
        let mut mutator = Mutator::new(1);
        for _ in 0..1000 {
            assert_eq!(try_once(&mut mutator), Ok(()));
        }
    }

    #[test]
    fn a_seed_gives_the_same_inputs_again() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..50).map(|_| mutator.input(Target::CommandLine)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }

    /// Else the promises of a whole profile would never be put to the test.
    #[test]
    fn many_changed_inputs_are_still_accepted() {
        let mut mutator = Mutator::new(3);
        for target in Target::ALL {
            let accepted = (0..500).filter(|_| target.accepts(&mutator.input(target))).count();
            assert!(accepted > 25, "{}: {accepted} of 500", target.name());
        }
    }
}
