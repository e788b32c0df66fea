//! What was simulated, in words.

use iostall_measure::number::number;
use iostall_model::FlashOutcome;
use iostall_model::flash::{Collect, Separation, WriteClass, WritePattern};

use crate::fact::Fact;
use crate::format::{bytes, count, duration, percent, shown};

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
