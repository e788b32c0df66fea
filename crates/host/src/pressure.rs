//! Pressure stall information: how long tasks waited for I/O.

use super::system::{System, Unreadable};

/// An `io.pressure` file: cumulative since boot, or since the group was created. The averages in it cannot be
/// summed and are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Time in which at least one task waited, microseconds.
    pub some_us: Option<u64>,
    /// Time in which all tasks waited at once, microseconds.
    pub full_us: Option<u64>,
}

impl Pressure {
    /// Parses the file; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let total = match words.next()? {
                "some" => &mut found.some_us,
                "full" => &mut found.full_us,
                _ => continue,
            };
            *total = Some(words.find_map(|word| word.strip_prefix("total="))?.parse().ok()?);
        }
        (found != Self::default()).then_some(found)
    }
}

impl System {
    /// I/O pressure of the whole machine; `None` if the file has no numbers.
    pub fn io_pressure(&self) -> Result<Option<Pressure>, Unreadable> {
        self.read("/proc/pressure/io").map(|text| Pressure::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_totals_are_kept_because_averages_cannot_be_summed() {
        let text = "some avg10=0.13 avg60=0.08 avg300=0.12 total=9127822\n\
                    full avg10=0.00 avg60=0.00 avg300=0.08 total=8150379\n";
        let found = Pressure::parse(text).unwrap();
        assert_eq!((found.some_us, found.full_us), (Some(9_127_822), Some(8_150_379)));
        let some = Pressure::parse("some avg10=0.00 total=5\n").unwrap();
        assert_eq!((some.some_us, some.full_us), (Some(5), None));
    }

    #[test]
    fn what_is_no_pressure_is_none() {
        for odd in ["", "nonsense", "some total=x\n", "some avg10=0.00\n"] {
            assert_eq!(Pressure::parse(odd), None, "{odd:?}");
        }
    }
}
