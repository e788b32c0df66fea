//! Appends the batches of made-up agents to a repository, for `benchsuite/ingest.py`: `ingest URL AGENTS SAMPLES BATCHES`.
//!
//! Each agent has 40 files of SQL Server with eight counters, sampled once a minute. The first sample of each is appended before
//! the clock starts: it names the files, which happens once in the life of an agent. Prints a line of JSON.

use std::process::ExitCode;

use iostall_connect::{Address, Secret};
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, SampleTime, Scope, Subject};
use iostall_store::{Appended, Batch, History as _, PostgresHistory, Source, SourceId};
use jiff::{SignedDuration, Timestamp};

type Failure = Box<dyn std::error::Error>;

const FILES: u64 = 40;
const START: &str = "2026-03-01T00:30:00Z";

/// What to append.
struct Request {
    address: Address,
    agents: u64,
    /// In a batch.
    samples: u64,
    /// Of each agent.
    batches: u64,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]
fn main() -> ExitCode {
    match requested().and_then(|request| run(&request)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("ingest: {failure}");
            ExitCode::from(2)
        }
    }
}

fn requested() -> Result<Request, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, agents, samples, batches] = words.as_slice() else {
        return Err("write: ingest URL AGENTS SAMPLES BATCHES".into());
    };
    let (agents, samples) = (agents.parse()?, samples.parse()?);
    Ok(Request { address: url.parse()?, agents, samples, batches: batches.parse()? })
}

fn run(request: &Request) -> Result<String, Failure> {
    PostgresHistory::initialise(&request.address, &Secret::default())?;
    let mut history = PostgresHistory::open(&request.address, &Secret::default())?;
    let start: Timestamp = START.parse()?;
    let mut batches = Vec::new();
    let mut first = Vec::new();
    for agent in 0..request.agents {
        let source = source(agent, start)?;
        first.push(Batch::of(source.clone(), 1, &[sample(agent, 0, start)]));
        for batch in 0..request.batches {
            let from = 1 + batch * request.samples;
            let samples: Vec<Sample> =
                (from..from + request.samples).map(|minute| sample(agent, minute, start)).collect();
            batches.push((batch, Batch::of(source.clone(), batch + 2, &samples)));
        }
    }
    // As they would come: the next batch of one agent after those of all others.
    batches.sort_by_key(|(batch, _)| *batch);
    for batch in &first {
        history.append(batch)?;
    }
    let clock = MonotonicClock::new();
    for (_, batch) in &batches {
        if history.append(batch)? != Appended::Added {
            return Err("a batch was there already".into());
        }
    }
    let seconds = clock.now_ns() as f64 / 1e9;
    let rows = batches.len() as u64 * request.samples * FILES;
    Ok(format!("{{\"seconds\": {seconds}, \"batches\": {}, \"rows\": {rows}}}", batches.len()))
}

fn source(agent: u64, start: Timestamp) -> Result<Source, Failure> {
    let id = SourceId::new(start);
    Ok(Source {
        id,
        store: SourceId::new(start).to_string().parse()?,
        name: format!("sqlserver://db{agent}"),
    })
}

fn sample(agent: u64, minute: u64, start: Timestamp) -> Sample {
    Sample {
        taken: SampleTime {
            utc: start + SignedDuration::from_mins(minute.cast_signed()),
            clock: "ticks".into(),
            clock_ns: 1_000_000_000 + minute * 60_000_000_000,
        },
        epoch: Epoch { instance: format!("db{agent}"), version: 16, ..Epoch::default() },
        rows: (0..FILES).map(|file| row(agent * FILES + file, minute)).collect(),
        warnings: Vec::new(),
    }
}

/// Counters that grow by another amount in each minute, as those of a server in use do.
fn row(file: u64, minute: u64) -> Row {
    let reads = minute * (600 + file * 7) + (minute * 7919 + file * 31) % 97;
    let writes = minute * (250 + file * 3) + (minute * 104_729 + file * 17) % 89;
    let counters = Counters::new()
        .with(Counter::Reads, 5_000_000 + reads)
        .with(Counter::ReadBytes, (5_000_000 + reads) * 16_384)
        .with(Counter::ReadStall, reads * (900_000 + (minute % 13) * 70_000))
        .with(Counter::Writes, 2_000_000 + writes)
        .with(Counter::WriteBytes, (2_000_000 + writes) * 8_192)
        .with(Counter::WriteStall, writes * (400_000 + (minute % 7) * 50_000))
        .with(Counter::SizeBytes, (100 + file) << 30)
        .with(Counter::Handle, 0x7ff0_0000 + file);
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database(format!("sales{}", file / 4)),
        name: format!("E:\\data\\sales{file}.mdf"),
        identity: format!("{}/{file}/8e5e3d8a-0000-4000-8000-{file:012}", file / 4),
        volume: Some("E:\\".into()),
    };
    Row { subject, counters, age_ms: None }
}
