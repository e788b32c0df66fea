//! What was searched, within which limits, and on which server.

use iostall_model::{BackupTuneOutcome, TunedServer};

use super::super::sqlserver_trace;
use crate::fact::Fact;
use crate::format::{bytes, count, duration, shown};

pub(super) fn facts(tune: &BackupTuneOutcome) -> Vec<Fact> {
    let sources = tune.sources.iter().map(|source| Fact::new("source", shown(source)));
    let mut facts: Vec<Fact> = sources.collect();
    facts.extend(tune.restore.as_ref().map(|restore| Fact::new("set", shown(&restore.set))));
    facts.push(Fact::new("size", bytes(tune.source_bytes)));
    let budget = duration(tune.budget_ns as f64);
    facts.push(Fact::new("time", format!("{} of {budget}", duration(tune.elapsed_ns as f64))));
    let over = match tune.over_memory {
        0 => String::new(),
        over => format!(" · {} settings with more were not tried", count(over)),
    };
    facts.push(Fact::new("memory", format!("up to {} of buffers{over}", bytes(tune.memory_bytes_max))));
    if let Some(server) = &tune.server {
        facts.extend(server_facts(server));
        return facts;
    }
    if tune.trial_bytes_max > 0 {
        let most = bytes(tune.trial_bytes_max);
        let is_to_store = tune.targets.iter().any(|target| target.contains("://"));
        let place = match &tune.restore {
            None if is_to_store => "in uploads that were never completed".to_owned(),
            Some(_) => {
                format!("below {}", tune.targets.first().map(|place| shown(place)).unwrap_or_default())
            }
            None => "beside the stripes".to_owned(),
        };
        let (verb, end) = if is_to_store { ("sent", "") } else { ("written", ", and removed") };
        facts.push(Fact::new(verb, format!("up to {most} at a time {place}{end}")));
    }
    let workers = tune.worker_count;
    facts.push(Fact::new("workers", workers.to_string()));
    facts
}

fn server_facts(server: &TunedServer) -> Vec<Fact> {
    let one_line = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("--"));
        shown(&lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "))
    };
    let name = format!("{}, SQL Server {}, {}", server.server, server.version, server.edition);
    let mut facts = vec![Fact::new("server", shown(&name))];
    let past = server
        .past_s
        .map(|seconds| format!("; the newest one before them took {}", duration(seconds as f64 * 1e9)));
    let backups = format!("{} whole ones with COPY_ONLY{}", count(server.backups), past.unwrap_or_default());
    facts.push(Fact::new("backups", backups));
    facts.extend(server.trace.as_ref().and_then(sqlserver_trace::buffers));
    facts.push(Fact::new("T-SQL", one_line(&server.statement)));
    facts.extend(server.script.as_ref().map(|script| Fact::new("maintenance script", one_line(script))));
    let left = server.files_left.iter();
    facts.extend(left.map(|file| Fact::new("delete", format!("{}: the last trial is in it", shown(file)))));
    facts
}
