//! Rules for profiles that need no device.

use std::collections::BTreeSet;

use iostall_measure::{ByteCount, Caching, Nanos, Percent, Rate};
use iostall_model::profile::{Access, Arrivals, Bound, Distribution};
use iostall_model::{Profile, RoleProfile, SpanProfile};

use super::ProfileError;

/// Largest queue depth per worker and target.
const QUEUE_DEPTH_MAX: u32 = 4096;
const WORKERS_MAX: u32 = 512;
/// Smallest unit of direct I/O on any device, bytes.
const SECTOR: u64 = 512;

/// A broken rule without its place: field, problem, advice.
type Broken = (&'static str, String, String);

fn broken(field: &'static str, problem: impl Into<String>, advice: impl Into<String>) -> Result<(), Broken> {
    Err((field, problem.into(), advice.into()))
}

/// Checks whether `profile` can be run. The error names the first role and field that break a rule, and what
/// to write instead.
pub fn check(profile: &Profile) -> Result<(), ProfileError> {
    let of_profile = format!("profile {:?}", profile.name);
    let at = |place: &str, outcome: Result<(), Broken>| {
        outcome.map_err(|(field, problem, advice)| ProfileError::Rule {
            place: place.to_owned(),
            field,
            problem,
            advice,
        })
    };
    if profile.spans.is_empty() {
        at(
            &of_profile,
            broken("role", "is missing", "write at least one [[role]] with a name and a block-size"),
        )?;
    }
    for (index, span) in profile.spans.iter().enumerate() {
        let (of_span, prefix) = match profile.spans.len() {
            1 => (of_profile.clone(), String::new()),
            _ => (format!("span {}", index + 1), format!("span {}, ", index + 1)),
        };
        at(&of_span, check_span(span))?;
        for role in &span.roles {
            at(&format!("{prefix}role {:?}", role.name), check_role(role))?;
        }
    }
    Ok(())
}

/// Shorter intervals would cost the workers too much.
const INTERVAL_MIN: Nanos = Nanos(1_000_000);

fn check_span(span: &SpanProfile) -> Result<(), Broken> {
    if span.roles.is_empty() {
        return broken("role", "is missing", "write at least one role with a name and a block-size");
    }
    if span.duration == Nanos(0) {
        return broken(
            "duration",
            "is 0, so nothing would be measured",
            "write a length of time such as 30s",
        );
    }
    if span.interval < INTERVAL_MIN {
        return broken("interval", format!("is {}", span.interval), "write at least 1ms, better 1s");
    }
    let mut names = BTreeSet::new();
    match span.roles.iter().find(|role| !names.insert(&role.name)) {
        Some(twice) => broken(
            "role",
            format!("{:?} is there twice", twice.name),
            "give each role of a span a name of its own, because they are reported by name",
        ),
        None => Ok(()),
    }
}

fn check_role(role: &RoleProfile) -> Result<(), Broken> {
    check_names(role)?;
    check_counts(role)?;
    check_access(role)?;
    check_pace(role)?;
    check_region(role)?;
    if role.sync.is_some() && !role.writes() {
        return broken(
            "sync",
            "is set for a role that never writes",
            "write write-pct above 0, or leave sync out",
        );
    }
    match role.caching {
        Caching::Direct => check_sectors(role),
        Caching::Buffered => Ok(()),
    }
}

/// A name must be usable in `--target log=PATH` and `log.block-size=8K`.
fn check_names(role: &RoleProfile) -> Result<(), Broken> {
    let fits = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let advice = "write letters, digits, - and _ only, such as data or log";
    if !fits(&role.name) {
        return broken("name", "cannot be used on a command line", advice);
    }
    match role.targets.iter().find(|name| !fits(name)) {
        Some(name) => broken("targets", format!("{name:?} cannot be used on a command line"), advice),
        None => Ok(()),
    }
}

fn check_counts(role: &RoleProfile) -> Result<(), Broken> {
    let within = |field, count: u32, max: u32| {
        if (1..=max).contains(&count) {
            Ok(())
        } else {
            broken(field, format!("is {count}"), format!("write 1 to {max}"))
        }
    };
    within("queue-depth", role.queue_depth, QUEUE_DEPTH_MAX)?;
    within("workers", role.workers, WORKERS_MAX)?;
    check_batch(role)?;
    if let Some(sync) = role.sync {
        within("sync.every", sync.every, u32::MAX)?;
    }
    if let Some(burst) = role.burst {
        within("burst.requests", burst.requests, u32::MAX)?;
    }
    Ok(())
}

/// A worker with fewer requests in flight than its batch would always wait for the time to pass.
fn check_batch(role: &RoleProfile) -> Result<(), Broken> {
    match role.batch {
        Some(0) => broken("batch", "is 0".to_owned(), "write 1 or more"),
        Some(batch) if batch > role.queue_depth => {
            let message = format!("is {batch}, more than the queue depth of {}", role.queue_depth);
            broken("batch", message, "write at most half the queue depth, or the device runs empty")
        }
        None if role.batch_wait.is_some() => {
            broken("batch-wait", "is given without batch".to_owned(), "add batch, such as batch = 16")
        }
        _ => Ok(()),
    }
}

fn check_access(role: &RoleProfile) -> Result<(), Broken> {
    let (others, advice): (Vec<(&'static str, bool)>, _) = match role.access {
        Access::Random => (
            vec![
                ("stride", role.stride.is_some()),
                ("worker-offset", role.worker_offset.is_some()),
                ("shared-sequence", role.shared_sequence),
                ("apart", role.apart),
            ],
            "write access = \"sequential\", or leave it out",
        ),
        Access::Sequential => (
            vec![
                ("random-pct", role.random_pct.is_some()),
                ("align", role.align.is_some()),
                ("every-block", role.every_block),
                ("distribution", role.distribution != Distribution::Uniform),
            ],
            "write access = \"random\", or leave it out",
        ),
    };
    if let Some((field, _)) = others.into_iter().find(|(_, set)| *set) {
        let problem = match role.access {
            Access::Random => "is for sequential access, but this role's access is random",
            Access::Sequential => "is for random access, but this role's access is sequential",
        };
        return broken(field, problem, advice);
    }
    if role.shared_sequence && role.worker_offset.is_some() {
        return broken(
            "worker-offset",
            "is for workers with a sequence each, and these share one",
            "leave it out, or write shared-sequence = false",
        );
    }
    let jumps_only = role.random_pct.is_none_or(|share| share == Percent::HUNDRED);
    let is_uniform = role.distribution == Distribution::Uniform && role.align.is_none() && jumps_only;
    if role.every_block && !(is_uniform && role.block_size.parts().len() == 1) {
        return broken(
            "every-block",
            "is for blocks of one size, all alike",
            "leave it out, or align, distribution, random-pct and other sizes",
        );
    }
    if role.apart && role.shared_sequence {
        return broken("apart", "is for workers with a sequence each", "leave it out, or shared-sequence");
    }
    if role.passes == Some(0) {
        return broken("passes", "is 0", "write 1 or more, or leave it out to go on for the duration");
    }
    if role.align == Some(ByteCount(0)) {
        return broken("align", "is 0", "write a size such as 4K, or leave it out for the block size");
    }
    // Values parsed from text have been checked; values built in code have not.
    match role.distribution.to_string().parse::<Distribution>() {
        Ok(_) => Ok(()),
        Err(error) => broken("distribution", "cannot be drawn from", error.to_string()),
    }
}

fn check_pace(role: &RoleProfile) -> Result<(), Broken> {
    if let Some(Rate::Iops(rate) | Rate::BytesPerSecond(rate)) = role.rate
        && !(rate.is_finite() && rate > 0.0)
    {
        return broken("rate", format!("is {rate}"), "write more than 0 a second, such as 1000 or 200MiB/s");
    }
    if role.rate.is_none() && role.arrivals == Arrivals::Poisson {
        return broken(
            "arrivals",
            "spaces the requests of a rate, and this role has none",
            "write rate = 1000 or the like, or leave arrivals out",
        );
    }
    if role.rate.is_some() && role.burst.is_some() {
        return broken("burst", "and rate both pace the role", "leave one of them out");
    }
    Ok(())
}

fn check_region(role: &RoleProfile) -> Result<(), Broken> {
    let empty = match (role.region.start, role.region.end) {
        (Bound::Percent(start), Some(Bound::Percent(end))) => start >= end,
        (Bound::Bytes(start), Some(Bound::Bytes(end))) => start >= end,
        _ => false,
    };
    if empty {
        return broken(
            "region",
            format!("{} has nothing in it", role.region),
            "write the smaller number first, as in 0%..90%",
        );
    }
    Ok(())
}

fn check_sectors(role: &RoleProfile) -> Result<(), Broken> {
    let blocks = role.block_size.parts().iter().map(|(size, _)| ("block-size", u64::from(size.bytes())));
    let distances = [("align", role.align), ("stride", role.stride), ("worker-offset", role.worker_offset)]
        .into_iter()
        .filter_map(|(field, bytes)| Some((field, bytes?.bytes())));
    match blocks.chain(distances).find(|(_, bytes)| !bytes.is_multiple_of(SECTOR)) {
        None => Ok(()),
        Some((field, bytes)) => broken(
            field,
            format!("{bytes} is not a multiple of {SECTOR} bytes, the smallest unit of direct I/O"),
            format!(
                "write {} or another multiple, or caching = \"buffered\"",
                bytes.checked_next_multiple_of(SECTOR).unwrap_or(SECTOR)
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_profile;
    use super::*;

    fn verdict(fields: &str) -> Result<(), ProfileError> {
        let text = format!("name = 'p'\n[[role]]\nname = 'data'\nblock-size = '8K'\n{fields}\n");
        check(&parse_profile(&text, "t").unwrap())
    }

    #[test]
    fn what_can_be_meant_passes() {
        for fields in [
            "",
            "access = 'sequential'\nshared-sequence = true\nworkers = 4\nrate = 1000",
            "access = 'sequential'\nstride = 0",
            "access = 'sequential'\nworker-offset = '1G'\nworkers = 512",
            "random-pct = 30\nalign = '4K'\ndistribution = 'hot:90/10'",
            "write-pct = 0.5\nsync = { every = 1 }",
            "rate = '10MB/s'\narrivals = 'poisson'\nqueue-depth = 4096",
            "burst = { requests = 64, pause = '1s' }",
            "caching = 'buffered'\nalign = 1000",
            "region = '10%..1G'",
        ] {
            verdict(fields).unwrap_or_else(|error| panic!("{fields}: {error}"));
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_role_and_field_with_what_to_write() {
        for (fields, wanted) in [
            ("queue-depth = 0", "role \"data\": queue-depth is 0; write 1 to 4096"),
            ("queue-depth = 4097", "role \"data\": queue-depth is 4097; write 1 to 4096"),
            ("workers = 513", "role \"data\": workers is 513; write 1 to 512"),
            ("write-pct = 5\nsync = { every = 0 }", "sync.every is 0; write 1 to"),
            ("burst = { requests = 0, pause = '1s' }", "burst.requests is 0; write 1 to"),
            ("sync = { every = 1 }", "sync is set for a role that never writes"),
            ("stride = '8K'", "stride is for sequential access, but this role's access is random"),
            ("worker-offset = '8K'", "worker-offset is for sequential access"),
            ("shared-sequence = true", "shared-sequence is for sequential access"),
            ("access = 'sequential'\nrandom-pct = 5", "random-pct is for random access"),
            ("access = 'sequential'\ndistribution = 'zipf:1'", "distribution is for random access"),
            ("access = 'sequential'\nalign = '8K'", "align is for random access"),
            ("access = 'sequential'\nshared-sequence = true\nworker-offset = '8K'", "these share one"),
            ("align = 0", "align is 0; write a size such as 4K"),
            ("align = 1000", "align 1000 is not a multiple of 512 bytes"),
            ("arrivals = 'poisson'", "arrivals spaces the requests of a rate"),
            ("rate = 5\nburst = { requests = 1, pause = '1s' }", "burst and rate both pace the role"),
            ("region = '90%..10%'", "region 90%..10% has nothing in it"),
            ("region = '1G..1G'", "has nothing in it"),
            ("targets = ['a=b']", "targets \"a=b\" cannot be used on a command line"),
        ] {
            let message = verdict(fields).expect_err(fields).to_string();
            assert!(message.contains(wanted), "{fields}: {message}");
        }
    }

    /// A profile that is built in code has not been through the reader of rates, which refuses these.
    #[test]
    fn a_rate_of_nothing_is_refused_wherever_it_comes_from() {
        let with = |rate: Rate| {
            let text = "name = 'p'\n[[role]]\nname = 'data'\nblock-size = '8K'\nrate = 5\n";
            let mut profile = parse_profile(text, "t").unwrap();
            profile.spans[0].roles[0].rate = Some(rate);
            check(&profile)
        };
        assert!(with(Rate::Iops(0.5)).is_ok() && with(Rate::BytesPerSecond(1e6)).is_ok());
        for rate in
            [Rate::Iops(0.0), Rate::BytesPerSecond(-1.0), Rate::Iops(f64::INFINITY), Rate::Iops(f64::NAN)]
        {
            assert!(with(rate).unwrap_err().to_string().contains("more than 0 a second"), "{rate:?}");
        }
    }

    #[test]
    fn direct_io_wants_whole_sectors_and_says_the_next_one() {
        let text = "name = 'p'\n[[role]]\nname = 'log'\nblock-size = '8K:1,1000:1'\n";
        let message = check(&parse_profile(text, "t").unwrap()).unwrap_err().to_string();
        assert_eq!(
            message,
            "role \"log\": block-size 1000 is not a multiple of 512 bytes, the smallest unit of direct I/O; \
             write 1024 or another multiple, or caching = \"buffered\""
        );
    }

    #[test]
    fn spans_and_roles_must_be_there_once_and_last() {
        let check_text = |text: &str| check(&parse_profile(text, "t").unwrap()).unwrap_err().to_string();
        assert!(check_text("name = 'p'").contains("at least one [[role]]"));
        assert!(check_text("name = 'p'\nduration = '1s'").contains("at least one role"));
        let role = "[[role]]\nname = 'data'\nblock-size = '8K'\n";
        assert!(check_text(&format!("name = 'p'\n{role}{role}")).contains("\"data\" is there twice"));
        assert!(check_text(&format!("name = 'p'\nduration = '0'\n{role}")).contains("duration is 0"));
        let second = "name = 'p'\n[[spans]]\n[[spans.roles]]\nname = 'a'\nblock-size = '8K'\n[[spans]]\n\
                      [[spans.roles]]\nname = 'a'\nblock-size = '8K'\nworkers = 0\n";
        assert!(check_text(second).starts_with("span 2, role \"a\": workers is 0"));
    }
}
