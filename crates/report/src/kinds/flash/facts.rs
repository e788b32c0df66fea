//! What was simulated, in words.

use iostall_measure::number::number;
use iostall_model::FlashOutcome;
use iostall_model::flash::{Collect, FlashCare, Separation, WriteClass, WritePattern};

use crate::format::{bytes, count, duration, percent, shown};
use crate::section::Fact;

pub(super) fn headline(flash: &FlashOutcome) -> String {
    let host: u64 = flash.tenths.iter().map(|tenth| tenth.host_pages).sum();
    format!("{} page writes simulated in {}", count(host), duration(flash.elapsed_ns as f64))
}

pub(super) fn facts(flash: &FlashOutcome) -> Vec<Fact> {
    let settings = &flash.settings;
    let block_bytes = u64::from(settings.page_bytes) * u64::from(settings.pages_per_block);
    let mut facts = vec![
        Fact::new(
            "device",
            format!(
                "{} in pages of {} and blocks of {} ({} pages)",
                bytes(flash.device_bytes),
                bytes(settings.page_bytes.into()),
                bytes(block_bytes),
                settings.pages_per_block
            ),
        ),
        Fact::new(
            "spare area",
            format!("{} of the user area: alpha {:.4}", percent(settings.spare()), settings.alpha),
        ),
        Fact::new("collection", collection(flash)),
        Fact::new("writes", pattern(flash)),
        Fact::new("simulated", simulated(flash)),
    ];
    if !settings.care.is_none() {
        facts.push(Fact::new("upkeep", upkeep(&settings.care)));
    }
    if let Some(spread) = flash.wear.spread() {
        let value = format!(
            "{} erases a block on average, {} to {}: the most worn has {spread:.2} times the mean",
            number(flash.wear.erases_mean),
            flash.wear.erases_min,
            flash.wear.erases_max
        );
        facts.push(Fact::new("wear", value));
    }
    let nand = &flash.nand;
    let cycles = nand.cycles.map(|cycles| format!(", {} erases a block", count(cycles))).unwrap_or_default();
    facts.push(Fact::new(
        "chips",
        format!(
            "read {} µs, program {} µs, erase {} µs{cycles}",
            nand.read_us, nand.program_us, nand.erase_us
        ),
    ));
    facts
}

fn upkeep(care: &FlashCare) -> String {
    let mut parts = Vec::new();
    if care.bad_share > 0.0 {
        parts.push(format!("{} of the blocks are bad", percent(care.bad_share)));
    }
    if care.bad_per_erase > 0.0 {
        parts.push(format!("a block goes bad in {} erases", count(per_bad_block(care.bad_per_erase))));
    }
    if let Some(gap) = care.wear_gap {
        parts.push(format!("data that rests moves once its block is {gap} erases behind the most worn"));
    }
    if let Some(fills) = care.refresh_fills {
        parts.push(format!("blocks are written anew after {} fills", number(fills)));
    }
    if let Some(reads) = care.reads_max {
        let per_write = number(care.reads_per_write);
        parts.push(format!(
            "blocks are written anew after {} reads, of which there are {per_write} for each write",
            count(reads.into())
        ));
    }
    if care.slc_share > 0.0 {
        parts.push(format!("a cache of {} of the user area takes all writes", percent(care.slc_share)));
    }
    parts.join("; ")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn per_bad_block(bad_per_erase: f64) -> u64 {
    (1.0 / bad_per_erase).round() as u64
}

fn collection(flash: &FlashOutcome) -> String {
    let which = match flash.settings.collect {
        Collect::Greedy => "greedy: the block with the fewest valid pages".to_owned(),
        Collect::Fifo => "FIFO: the block that was filled first".to_owned(),
        Collect::Choices(count) => format!("the best of {count} random blocks"),
    };
    let where_to = match flash.settings.separation {
        Separation::None => "",
        Separation::Moved => "; what it moves goes to blocks of its own",
        Separation::Classes => "; each class of data has blocks of its own",
    };
    format!("{which}{where_to}")
}

fn pattern(flash: &FlashOutcome) -> String {
    let settings = &flash.settings;
    let pattern = match &settings.pattern {
        WritePattern::Uniform => "uniform random".to_owned(),
        WritePattern::Sequential => "sequential".to_owned(),
        WritePattern::Classes(classes) => {
            let class = |class: &WriteClass| {
                format!(
                    "{} of the writes to {} of the data",
                    percent(class.write_share),
                    percent(class.data_share)
                )
            };
            classes.iter().map(class).collect::<Vec<_>>().join(", ")
        }
        WritePattern::Zipf { theta } => format!("Zipf with theta {theta}"),
        WritePattern::Sequence { name, writes } => {
            format!("{} page writes of {}, repeated", count(*writes), shown(name))
        }
    };
    if settings.trim_share > 0.0 {
        format!("{pattern}; {} of the requests trim a page", percent(settings.trim_share))
    } else {
        pattern
    }
}

fn simulated(flash: &FlashOutcome) -> String {
    let settings = &flash.settings;
    let part = if settings.user_bytes() < flash.device_bytes {
        format!("{} of it, which behaves as the whole", bytes(settings.user_bytes()))
    } else {
        "all of it".to_owned()
    };
    format!(
        "{part}; {:.1} fills after a sequential one, the first {:.1} left out; {} of memory, seed {}",
        flash.tenths.len() as f64 / 10.0,
        f64::from(flash.tenths_left_out) / 10.0,
        bytes(flash.memory_bytes),
        settings.seed
    )
}
