//! Where timelines came from.

use iostall_connect::postgres::Lsn;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ancestor {
    pub(super) timeline: u32,
    pub(super) until: Lsn,
}

/// The ancestors that a history names, oldest first. `None` if it is none.
pub(super) fn parse(text: &str) -> Option<Vec<Ancestor>> {
    let mut ancestors: Vec<Ancestor> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let timeline: u32 = words.next()?.parse().ok()?;
        let until: Lsn = words.next()?.parse().ok()?;
        // The server refuses another order, too.
        if ancestors.last().is_some_and(|last| last.timeline >= timeline) {
            return None;
        }
        ancestors.push(Ancestor { timeline, until });
    }
    Some(ancestors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_read_in_their_order() {
        let text = "1\t0/3000110\tbefore 2026-11-23 07:00:00.5+00\n\n# by hand\n2\t16/B374D848\tno recovery target specified\n";
        let two = Ancestor { timeline: 2, until: Lsn(0x16_B374_D848) };
        assert_eq!(parse(text), Some(vec![Ancestor { timeline: 1, until: Lsn(0x0300_0110) }, two]));
        assert_eq!(parse(""), Some(Vec::new()));
        for wrong in ["x\t0/1\t", "1", "2\t0/1\t\n1\t0/2\t"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
