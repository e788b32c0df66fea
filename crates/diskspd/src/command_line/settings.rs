//! The second pass: the remaining options from left to right.

use super::affinity::parse_list;
use super::caching::Caching;
use super::linux_port;
use super::scan::{CommandLineError, Switch};
use super::values::{count_u32, positive_u32, size, throughput};
use crate::distribution::Distribution;
use crate::profile::{
    Access, DEFAULT_BLOCK_BYTES, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, IoPriority,
    WriteBuffer,
};
use crate::unsupported::Unsupported;

/// Completions per dot if `-P` has no number.
const PROGRESS_DEFAULT: u32 = 65_536;

#[derive(Clone, Copy)]
enum Alignment {
    /// None: the block size.
    Block,
    Bytes(u64),
}

/// Settings so far. All targets of a command line share them.
pub(super) struct Settings {
    pub(super) profile: DiskspdProfile,
    span: DiskspdTimeSpan,
    target: DiskspdTarget,
    caching: Caching,
    random: Option<Alignment>,
    random_pct: Option<u32>,
    distribution: Option<Distribution>,
    sequential: Option<(Option<u64>, bool)>,
    base_given: bool,
    end_given_by: Option<char>,
    refused: Vec<Unsupported>,
}

/// Anything that is not a number above 0 means the default, as in DiskSpd.
fn progress(switch: &Switch, warnings: &mut Vec<String>) -> u32 {
    match count_u32(switch, warnings) {
        Ok(completions @ 1..) => completions,
        _ => PROGRESS_DEFAULT,
    }
}

impl Settings {
    pub(super) fn new(block_bytes: Option<u32>) -> Self {
        let mut target = DiskspdTarget::new("");
        target.block_bytes = block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
        Self {
            profile: DiskspdProfile::default(),
            span: DiskspdTimeSpan::default(),
            target,
            caching: Caching::default(),
            random: None,
            random_pct: None,
            distribution: None,
            sequential: None,
            base_given: false,
            end_given_by: None,
            refused: Vec::new(),
        }
    }

    pub(super) fn take(
        &mut self,
        switch: &Switch,
        warnings: &mut Vec<String>,
    ) -> Result<(), CommandLineError> {
        if switch.word.starts_with("--") {
            return Err(switch.bad("DiskSpd has no long options; -? lists its options"));
        }
        match switch.letter {
            'a' => self.span.affinity.extend(parse_list(&switch.value).map_err(|reason| switch.bad(reason))?),
            'B' => self.take_range(switch)?,
            'c' => self.target.create_bytes = Some(self.size(switch)?),
            'D' => self.take_interval(switch, warnings)?,
            'e' => self.refused.push(Unsupported::EventTracing { option: switch.word.clone() }),
            'f' => self.take_f(switch)?,
            'F' => self.span.thread_count = positive_u32(switch, warnings)?,
            'g' => self.target.throughput = Some(throughput(switch)?),
            'i' => self.target.burst_size = Some(positive_u32(switch, warnings)?),
            'I' => self.take_priority(switch)?,
            'j' => self.target.think_time_ms = Some(positive_u32(switch, warnings)?),
            'N' => self.take_flush(switch)?,
            'o' => self.target.request_count = positive_u32(switch, warnings)?,
            'O' => self.span.request_count = positive_u32(switch, warnings)?,
            'P' => self.profile.progress = progress(switch, warnings),
            'r' => self.take_random(switch)?,
            's' => self.take_sequential(switch)?,
            'S' => self.caching.take(switch)?,
            't' => self.target.threads_per_file = positive_u32(switch, warnings)?,
            'T' => self.target.thread_stride_bytes = self.positive_size(switch)?,
            'w' => self.take_write_share(switch, warnings)?,
            'y' => self.refused.push(Unsupported::Events { option: switch.word.clone() }),
            'Z' => self.take_write_buffer(switch)?,
            'h' | 'l' | 'L' | 'n' | 'p' | 'x' => self.take_plain(switch, warnings)?,
            _ => return Err(switch.unknown()),
        }
        Ok(())
    }

    /// Options without a value. DiskSpd ignores characters appended to them.
    fn take_plain(&mut self, switch: &Switch, warnings: &mut Vec<String>) -> Result<(), CommandLineError> {
        if let Some(warning) = linux_port::engine(switch) {
            warnings.push(warning);
            return Ok(());
        }
        if !switch.value.is_empty() {
            let (word, letter, value) = (&switch.word, switch.letter, &switch.value);
            warnings.push(format!(
                "'{word}' is read as -{letter}: it takes no value, and '{value}' has no effect"
            ));
        }
        match switch.letter {
            'h' => self.caching.take_h(switch)?,
            'l' => self.target.large_pages = true,
            'L' => self.span.measure_latency = true,
            'n' => self.span.disable_affinity = true,
            'p' => self.target.parallel_async = true,
            _ => self.span.completion_routines = true,
        }
        Ok(())
    }

    fn size(&self, switch: &Switch) -> Result<u64, CommandLineError> {
        size(switch, &switch.value, self.target.block_bytes)
    }

    fn positive_size(&self, switch: &Switch) -> Result<u64, CommandLineError> {
        match self.size(switch)? {
            0 => Err(switch.bad("the size must be above 0")),
            bytes => Ok(bytes),
        }
    }

    fn set_end(&mut self, switch: &Switch, end_bytes: u64) -> Result<(), CommandLineError> {
        if let Some(before) = self.end_given_by.filter(|before| *before != switch.letter) {
            return Err(switch.conflict(format!("the end of the range was already set by -{before}")));
        }
        self.end_given_by = Some(switch.letter);
        self.target.max_bytes = end_bytes;
        Ok(())
    }

    fn take_range(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        if self.base_given {
            return Err(switch.conflict("the base offset was already given"));
        }
        self.base_given = true;
        let (base, length) = switch
            .value
            .split_once(':')
            .map_or((switch.value.as_str(), None), |(base, length)| (base, Some(length)));
        self.target.base_bytes = size(switch, base, self.target.block_bytes)?;
        if let Some(length) = length {
            let length = size(switch, length, self.target.block_bytes)?;
            if length == 0 {
                return Err(switch.bad("the length after the colon must be above 0"));
            }
            let end = self.target.base_bytes.checked_add(length);
            self.set_end(switch, end.ok_or_else(|| switch.bad("the end is beyond 2^64 bytes"))?)?;
        }
        Ok(())
    }

    /// `-f<size>` and `-f<rst>` share their letter; a digit makes the difference.
    fn take_f(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        if switch.value.starts_with(|c: char| c.is_ascii_digit()) {
            // 0 means the whole target.
            let end = self.size(switch)?;
            return self.set_end(switch, end);
        }
        if switch.value.is_empty() {
            return Err(switch.bad("write a maximum offset (-f10G) or hints (-fr, -fs, -ft)"));
        }
        for hint in switch.value.chars() {
            match hint {
                'r' => self.target.random_access = true,
                's' => self.target.sequential_scan = true,
                't' => self.target.temporary_file = true,
                _ => return Err(switch.bad(format!("'{hint}' is none of the hints r, s and t"))),
            }
        }
        Ok(())
    }

    /// An invalid number keeps the default, as in DiskSpd, but with a warning.
    fn take_interval(&mut self, switch: &Switch, warnings: &mut Vec<String>) -> Result<(), CommandLineError> {
        self.span.iops_stdev = true;
        if switch.value.is_empty() {
            return Ok(());
        }
        if switch.value.starts_with(|c: char| c.is_ascii_digit()) {
            let interval_ms = count_u32(switch, warnings)?;
            if interval_ms > 0 {
                self.span.bucket_ms = interval_ms;
                return Ok(());
            }
        }
        warnings.push(format!("'{}' contains no interval: using {} ms", switch.word, self.span.bucket_ms));
        Ok(())
    }

    fn take_priority(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        let priority = switch.value.parse().ok().and_then(IoPriority::from_number);
        self.target.io_priority =
            priority.ok_or_else(|| switch.bad("write 1 (very low), 2 (low) or 3 (normal)"))?;
        Ok(())
    }

    fn take_flush(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        self.target.flush = Some(match switch.value.as_str() {
            "v" => FlushKind::ViewOfFile,
            "n" => FlushKind::NonVolatileMemory,
            "i" => FlushKind::NonVolatileMemoryNoDrain,
            _ => return Err(switch.bad("write -Nv, -Nn or -Ni")),
        });
        Ok(())
    }

    fn take_random(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        if let Some(share) = switch.value.strip_prefix('s') {
            if self.random_pct.is_some() {
                return Err(switch.conflict("-rs was already given"));
            }
            let share = share.parse().ok().filter(|share| (1..=100).contains(share));
            self.random_pct =
                Some(share.ok_or_else(|| switch.bad("write the random share, 1 to 100: -rs50"))?);
            return Ok(());
        }
        if let Some(distribution) = switch.value.strip_prefix('d') {
            if self.distribution.is_some() {
                return Err(switch.conflict("-rd was already given"));
            }
            let distribution = Distribution::parse(distribution, self.target.block_bytes);
            self.distribution = Some(distribution.map_err(|error| switch.bad(error.to_string()))?);
            return Ok(());
        }
        if self.random.is_some() {
            return Err(switch.conflict("-r was already given"));
        }
        self.random = Some(match switch.value.as_str() {
            "" => Alignment::Block,
            _ => Alignment::Bytes(self.positive_size(switch)?),
        });
        Ok(())
    }

    fn take_sequential(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        if self.sequential.is_some() {
            return Err(switch.conflict("-s was already given"));
        }
        let stride = switch.value.strip_prefix('i').unwrap_or(&switch.value);
        let interlocked = stride.len() < switch.value.len();
        let stride =
            if stride.is_empty() { None } else { Some(size(switch, stride, self.target.block_bytes)?) };
        self.sequential = Some((stride, interlocked));
        Ok(())
    }

    /// DiskSpd's usage says that a bare `-w` means no writes, but its code rejects it; here it means no
    /// writes, with a warning.
    fn take_write_share(
        &mut self,
        switch: &Switch,
        warnings: &mut Vec<String>,
    ) -> Result<(), CommandLineError> {
        if switch.value.is_empty() {
            warnings.push("-w without a number is read as -w0: no writes".to_owned());
            self.target.write_pct = 0;
            return Ok(());
        }
        let share = count_u32(switch, warnings)?;
        if share > 100 {
            return Err(switch.bad("the share of writes is from 0 to 100 percent"));
        }
        self.target.write_pct = share;
        Ok(())
    }

    fn take_write_buffer(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        match switch.value.as_str() {
            "" => self.target.write_buffer = WriteBuffer::Zero,
            "r" => self.span.random_write_data = true,
            value => {
                if let Some(reason) = linux_port::write_buffer(value) {
                    return Err(switch.bad(reason));
                }
                let (bytes, file) =
                    value.split_once(',').map_or((value, None), |(bytes, file)| (bytes, Some(file)));
                if file.is_some_and(str::is_empty) {
                    return Err(switch.bad("a file name must follow the comma"));
                }
                let bytes = size(switch, bytes, self.target.block_bytes)?;
                self.target.write_buffer = WriteBuffer::Random { bytes, file: file.map(str::to_owned) };
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<(DiskspdTimeSpan, DiskspdTarget), CommandLineError> {
        if !self.refused.is_empty() {
            return Err(CommandLineError::Refused(std::mem::take(&mut self.refused)));
        }
        let block_bytes = u64::from(self.target.block_bytes);
        let conflict = |option: &str, reason: &str| {
            Err(CommandLineError::Conflict { option: option.to_owned(), reason: reason.to_owned() })
        };
        let is_random = self.random.is_some() || self.random_pct.is_some();
        if is_random && self.sequential.is_some() {
            return conflict("-s", "random access (-r, -rs) was requested too");
        }
        if self.distribution.is_some() && !is_random {
            return conflict("-rd", "a distribution needs random access: add -r or -rs");
        }
        self.target.access = if is_random {
            Access::Random {
                align_bytes: match self.random {
                    Some(Alignment::Bytes(bytes)) => bytes,
                    Some(Alignment::Block) | None => block_bytes,
                },
                random_pct: self.random_pct.unwrap_or(100),
                distribution: self.distribution.take(),
            }
        } else {
            let (stride, interlocked) = self.sequential.unwrap_or((None, false));
            Access::Sequential { stride_bytes: stride.unwrap_or(block_bytes), interlocked }
        };
        self.caching.apply(&mut self.target);
        Ok((std::mem::take(&mut self.span), self.target.clone()))
    }
}
