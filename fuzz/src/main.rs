//! `cargo run -p iostall-fuzz -- --seconds 60`: feeds mutated inputs to the readers of untrusted input, until
//! one panics, breaks a promise, or uses too much time or memory.
//!
//! libFuzzer tracks which parts of a reader an input reaches. Its instrumentation comes from LLVM and works
//! on the stable toolchain; the instrumented program is built separately in `target/fuzz`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use iostall_fuzz::{READER_VARIABLE, Reader, root};
use jiff::Timestamp;

/// Makes LLVM count branches and record comparisons.
const INSTRUMENTATION: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Fuzzes iostall's readers.
#[derive(Parser)]
struct Arguments {
    /// Total time for all readers.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Random seed; default: one from the clock, which is printed.
    #[arg(long)]
    seed: Option<u32>,
    /// Which readers; default: all.
    #[arg(value_parser = Reader::ALL.map(|reader| reader.name))]
    readers: Vec<String>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let clock = u32::try_from(Timestamp::now().as_second().rem_euclid(1 << 31)).unwrap_or(1);
    let seed = arguments.seed.unwrap_or(clock);
    let chosen: Vec<Reader> = Reader::ALL
        .into_iter()
        .filter(|reader| {
            arguments.readers.is_empty() || arguments.readers.iter().any(|name| name == reader.name)
        })
        .collect();
    let program = build().context("cannot build the instrumented program")?;
    let seconds = (arguments.seconds / chosen.len() as u64).max(1);
    for reader in chosen {
        if !fuzz(&program, reader, seconds, seed).with_context(|| format!("reader {}", reader.name))? {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Directory for builds and findings.
fn place() -> PathBuf {
    root().join("target/fuzz")
}

/// Builds the instrumented program. Specifies the target, so that build scripts are not instrumented.
fn build() -> Result<PathBuf> {
    let told = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let told = String::from_utf8_lossy(&told.stdout);
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc tells no host")?;
    let flags = INSTRUMENTATION.map(|flag| format!("{flag:?}")).join(",");
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--locked", "--package", "iostall-fuzz", "--bin", "fuzz-reader"])
        .args(["--target", host, "--config", &format!("target.{host}.rustflags=[{flags}]")])
        .arg("--target-dir")
        .arg(place())
        .current_dir(root())
        .env_remove("RUSTFLAGS")
        .status()?;
    ensure!(built.success(), "cargo failed");
    Ok(place().join(host).join("debug/fuzz-reader"))
}

/// Returns whether nothing was found. The corpus stays in `target/fuzz` for the next time.
fn fuzz(program: &Path, reader: Reader, seconds: u64, seed: u32) -> Result<bool> {
    let corpus = place().join("corpus").join(reader.name);
    fs::create_dir_all(&corpus)?;
    for (number, seed) in reader.seeds()?.into_iter().enumerate() {
        fs::copy(&seed, corpus.join(format!("seed-{number}"))).with_context(|| seed.display().to_string())?;
    }
    let found = place().join(format!("found-{}-", reader.name));
    let mut command = Command::new(program);
    command
        .env(READER_VARIABLE, reader.name)
        .args([format!("-max_total_time={seconds}"), format!("-seed={seed}")])
        .args([
            "-max_len=65536",
            "-timeout=10",
            "-rss_limit_mb=1024",
            "-malloc_limit_mb=4096",
            "-verbosity=0",
        ])
        .args(["-print_final_stats=1".to_owned(), format!("-artifact_prefix={}", found.display())])
        .args(reader.dictionary().map(|path| format!("-dict={}", path.display())))
        .arg(&corpus);
    let ran = command.output()?;
    let said = String::from_utf8_lossy(&ran.stderr);
    let tries = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let tries = tries.map_or("?", str::trim);
    let mut out = std::io::stdout().lock();
    writeln!(out, "fuzz: {}: {tries} tries in {seconds} s with --seed {seed}", reader.name)?;
    if !ran.status.success() {
        writeln!(out, "{said}\nAgain: {READER_VARIABLE}={} {} FILE", reader.name, program.display())?;
    }
    Ok(ran.status.success())
}
