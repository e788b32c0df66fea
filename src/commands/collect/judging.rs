//! `--alerts`: judges what is sampled, and has it told.

use std::path::Path;
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::alert::{Judge, Notice, Now};
use iostall_model::{Change, Row};
use iostall_notify::{AlertFile, Courier, Delivery, summary};

use crate::failure::hinted;
use crate::printer::Printer;

/// How often silence, repeats and quiet hours are looked at.
const TICK_NS: u64 = 1_000_000_000;

/// The judge, and who carries what it says.
pub(super) struct Alerts {
    judge: Judge,
    courier: Courier,
    clock: MonotonicClock,
    ticked_ns: u64,
}

impl Alerts {
    /// Reads the file at `path` and watches over the sources called `names`.
    pub(super) fn start(
        path: &Path,
        interval: Duration,
        names: &[&str],
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        let file = AlertFile::read(path).map_err(|error| {
            hinted(error, "docs/alerts.md explains the file; `iostall alerts check` reads it")
        })?;
        for rule in &file.book.rules {
            if !names.iter().any(|name| rule.matches.fits_source(name)) {
                printer.note(&format!("warning: the rule {:?} is about none of these sources", rule.name));
            }
        }
        let clock = MonotonicClock::new();
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let judge = Judge::new(file.book, interval_ns, names, now(&clock));
        Ok(Self { judge, courier: Courier::start(file.channels), ticked_ns: clock.now_ns(), clock })
    }

    /// A source answered, and its rows changed so since the sample before.
    pub(super) fn sample(&mut self, source: usize, rows: &[Row], changes: &[Change], printer: &Printer) {
        let notices = self.judge.sample(source, rows, changes, now(&self.clock));
        self.tell(&notices, printer);
    }

    /// A source did not answer.
    pub(super) fn gap(&mut self, source: usize, printer: &Printer) {
        let notices = self.judge.gap(source, now(&self.clock));
        self.tell(&notices, printer);
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, printer: &Printer) {
        let now = now(&self.clock);
        if now.clock_ns.saturating_sub(self.ticked_ns) >= TICK_NS {
            self.ticked_ns = now.clock_ns;
            let notices = self.judge.tick(now);
            self.tell(&notices, printer);
            say(&self.courier.deliveries(), printer);
        }
    }

    /// Has what waits delivered, and ends.
    pub(super) fn finish(self, printer: &Printer) {
        say(&self.courier.close(), printer);
    }

    fn tell(&self, notices: &[Notice], printer: &Printer) {
        for notice in notices {
            printer.note(&format!("alert: {}", summary(notice)));
            self.courier.send(notice);
        }
    }
}

fn now(clock: &MonotonicClock) -> Now {
    Now { utc: utc_now(), clock_ns: clock.now_ns() }
}

/// Says what did not arrive.
fn say(deliveries: &[Delivery], printer: &Printer) {
    for Delivery { channel, summary, result } in deliveries {
        if let Err(error) = result {
            printer.note(&format!("not told through {channel}: {error} ({summary})"));
        }
    }
}
