//! When a drive is used up, by four routes that know nothing of each other.

use iostall_measure::named;
use serde::Serialize;

use super::history::WearInterval;
use super::rating::DriveRating;
use super::reading::Wear;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RouteName {
        PercentUsed = "percentage used",
        RatedBytes = "rated bytes",
        EraseCycles = "erase cycles",
        NandBytes = "flash bytes",
    }
}

/// Days until it is used up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DaysBand {
    pub likely: f64,
    pub earliest: f64,
    /// `None`: no end follows from the numbers.
    pub latest: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    pub name: RouteName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<DaysBand>,
    /// What the answer rests on, or what is missing.
    pub basis: String,
    /// Its days have as many hours powered on as a day has: a drive that is off at night lasts longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_powered_time: bool,
}

impl Route {
    fn missing(name: RouteName, why: &str) -> Self {
        Self { name, days: None, basis: why.to_owned(), is_powered_time: false }
    }
}

pub(super) struct Ground<'a> {
    pub(super) wear: &'a Wear,
    pub(super) rating: Option<&'a DriveRating>,
    pub(super) window: Option<&'a WearInterval>,
    /// Bytes a day that hosts are expected to write.
    pub(super) per_day: Option<f64>,
    /// Whether that is a mean over hours powered on.
    pub(super) is_powered_rate: bool,
    /// Other rates that are as well founded, bytes a day.
    pub(super) other_rates: Vec<f64>,
    pub(super) life_per_day: Option<f64>,
    /// The hours of its life, where nothing says that they are wrong.
    pub(super) life_hours: Option<u64>,
    /// A counter was set back: what was written in all is unknown.
    pub(super) was_reset: bool,
    /// Flash bytes for each byte of hosts.
    pub(super) write_amplification: Option<f64>,
}

/// The four routes, in the order of [`RouteName::ALL`].
pub(super) fn routes(ground: &Ground<'_>) -> Vec<Route> {
    vec![ground.percent_used(), ground.rated_bytes(), ground.erase_cycles(), ground.nand_bytes()]
}

impl Ground<'_> {
    fn percent_used(&self) -> Route {
        let name = RouteName::PercentUsed;
        let Some(used) = self.wear.used_percent() else {
            return Route::missing(name, "the drive does not say how much of it is used");
        };
        if let Some((gained, window)) = self.window.and_then(|window| Some((window.used_percent?, window)))
            && gained >= 1
        {
            let rate = window.host_bytes.map(|bytes| bytes as f64 / window.days());
            let band = used_band(used, gained, window.days(), self.faster(rate));
            let basis = format!("{gained} % in {:.1} days", window.days());
            let basis = basis + &self.rescaled(rate);
            return Route { name, days: Some(band), basis, is_powered_time: false };
        }
        match self.life_hours {
            Some(hours) if used >= 1 => {
                let rate = self.life_per_day;
                let band = used_band(used, used, hours as f64 / 24.0, self.faster(rate));
                let basis = format!("{used} % in {hours} hours of its life");
                Route { name, days: Some(band), basis: basis + &self.rescaled(rate), is_powered_time: true }
            }
            Some(_) => Route::missing(name, "no percent is used yet"),
            None if self.wear.power_on_hours.is_some() => Route::missing(
                name,
                "no percent was added between the readings, and its hours are not those of its life",
            ),
            None => Route::missing(name, "neither a percent was added, nor does it count its hours"),
        }
    }

    /// How much faster than at `rate` it will be written.
    fn faster(&self, rate: Option<f64>) -> f64 {
        let both = self.per_day.zip(rate).filter(|(now, then)| *now > 0.0 && *then > 0.0);
        both.map_or(1.0, |(now, then)| now / then)
    }

    fn rescaled(&self, rate: Option<f64>) -> String {
        let faster = self.faster(rate);
        if (faster - 1.0).abs() < 0.005 {
            return String::new();
        }
        format!(", at {faster:.2} times the writes of that time")
    }

    fn rated_bytes(&self) -> Route {
        let name = RouteName::RatedBytes;
        let Some(rated) = self.rating.and_then(|rating| rating.written_bytes) else {
            return Route::missing(name, "no rating: --tbw, --dwpd or a [[drive]] of --drives has it");
        };
        let Some(written) = self.wear.host_bytes() else {
            return Route::missing(name, "the drive does not count what hosts write");
        };
        if self.was_reset {
            return Route::missing(name, "its counters went back: nobody knows how much was written in all");
        }
        self.at_rates(
            name,
            rated - written as f64,
            1.0,
            format!("{:.1} % of the rated bytes are written", 100.0 * written as f64 / rated),
        )
    }

    fn erase_cycles(&self) -> Route {
        let name = RouteName::EraseCycles;
        let rating = self.rating.and_then(|rating| Some((rating.erase_cycles?, rating.physical_bytes?)));
        let Some((cycles, physical)) = rating else {
            return Route::missing(
                name,
                "no rating: erase-cycles and physical of a [[drive]] of --drives have it",
            );
        };
        let nand = self.wear.nand_bytes().filter(|_| !self.was_reset);
        let of_nand = || Some(nand? as f64 / physical as f64);
        let Some(average) = self.wear.erase_cycles.map(|cycles| cycles as f64).or_else(of_nand) else {
            return Route::missing(name, "the drive counts neither erase cycles nor flash bytes");
        };
        let Some(amplification) = self.write_amplification else {
            return Route::missing(name, "the write amplification is unknown");
        };
        let left = (cycles as f64 - average) * physical as f64;
        let basis = format!("{average:.0} of {cycles} cycles, write amplification {amplification:.2}");
        self.at_rates(name, left, amplification, basis)
    }

    fn nand_bytes(&self) -> Route {
        let name = RouteName::NandBytes;
        let Some(rated) = self.rating.and_then(|rating| rating.nand_bytes) else {
            return Route::missing(name, "no rating: nand of a [[drive]] of --drives has it");
        };
        let Some(programmed) = self.wear.nand_bytes() else {
            return Route::missing(name, "the drive does not count what it writes to its flash");
        };
        if self.was_reset {
            return Route::missing(name, "its counters went back: nobody knows how much was written in all");
        }
        let Some(amplification) = self.write_amplification else {
            return Route::missing(name, "the write amplification is unknown");
        };
        let share = 100.0 * programmed as f64 / rated;
        let basis = format!("{share:.1} % of the rated flash bytes, write amplification {amplification:.2}");
        self.at_rates(name, rated - programmed as f64, amplification, basis)
    }

    /// `left` bytes at `amplification` bytes for each that hosts write.
    fn at_rates(&self, name: RouteName, left: f64, amplification: f64, basis: String) -> Route {
        let Some(per_day) = self.per_day.filter(|rate| *rate > 0.0) else {
            return Route::missing(name, "nobody knows how much is written a day: --from-rate says it");
        };
        let days = |rate: f64| (left / (rate * amplification)).max(0.0);
        let (slow, fast) = self
            .other_rates
            .iter()
            .filter(|rate| **rate > 0.0)
            .fold((per_day, per_day), |(slow, fast), rate| (slow.min(*rate), fast.max(*rate)));
        let band = DaysBand { likely: days(per_day), earliest: days(fast), latest: Some(days(slow)) };
        Route { name, days: Some(band), basis, is_powered_time: self.is_powered_rate }
    }
}

/// The percentage is a whole number: `used` may be nearly one more, and `gained` nearly one more or less.
fn used_band(used: u64, gained: u64, days: f64, faster: f64) -> DaysBand {
    let left = |used: u64| 100_u64.saturating_sub(used) as f64;
    let at = |left: f64, gained: u64| left * days / (gained as f64 * faster);
    DaysBand {
        likely: at(left(used), gained),
        earliest: at(left(used.saturating_add(1)), gained.saturating_add(1)),
        latest: (gained > 1).then(|| at(left(used), gained - 1)),
    }
}
