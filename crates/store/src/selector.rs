//! How a user refers to a run: by number, by id or part of it, or by age.

use std::fmt;
use std::str::FromStr;

use iostall_model::RunId;
use thiserror::Error;

/// Fewest digits of an id that identify a run.
pub const FRAGMENT_DIGITS_MIN: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// `12` or `#12`. Decimal digits alone are always a number, never part of an id: what `delete 1234`
    /// removes must not depend on whether there is a #1234.
    Number(u32),
    Id(RunId),
    /// The first or last hexadecimal digits of an id, lower case, without hyphens, at least [`FRAGMENT_DIGITS_MIN`].
    Fragment(String),
    /// `last` (0), `last~1` (the one before it), and so on, in the order of listings.
    Last(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{text:?} does not name a run: write its number (12), its id or at least {FRAGMENT_DIGITS_MIN} digits from the \
     start or the end of it (9f3c), last, or last~2"
)]
pub struct SelectorError {
    text: String,
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let refused = || SelectorError { text: text.to_owned() };
        let word = text.trim();
        if let Some(age) = word.strip_prefix("last") {
            let age = match age {
                "" => 0,
                age => decimal(age.strip_prefix('~').ok_or_else(refused)?).ok_or_else(refused)?,
            };
            return Ok(Self::Last(age));
        }
        if let Some(number) = word.strip_prefix('#') {
            return decimal(number).map(Self::Number).ok_or_else(refused);
        }
        let digits: String = word.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
        if digits.len() == 32
            && let Ok(id) = digits.parse()
        {
            return Ok(Self::Id(id));
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return decimal(word).map(Self::Number).ok_or_else(refused);
        }
        let is_fragment = (FRAGMENT_DIGITS_MIN..32).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_fragment { Ok(Self::Fragment(digits)) } else { Err(refused()) }
    }
}

fn decimal(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "#{number}"),
            Self::Id(id) => id.fmt(f),
            Self::Fragment(digits) => f.write_str(digits),
            Self::Last(0) => f.write_str("last"),
            Self::Last(age) => write!(f, "last~{age}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Selector {
        text.parse().unwrap()
    }

    #[test]
    fn a_run_is_named_by_number_id_piece_of_an_id_or_age() {
        assert_eq!(read("12"), Selector::Number(12));
        assert_eq!(read("#12"), Selector::Number(12));
        assert_eq!(read("last"), Selector::Last(0));
        assert_eq!(read("last~2"), Selector::Last(2));
        assert_eq!(read("9F3c"), Selector::Fragment("9f3c".into()));
        assert_eq!(read("0190a-1b2c"), Selector::Fragment("0190a1b2c".into()));
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        assert_eq!(read(id), Selector::Id(id.parse().unwrap()));
        assert_eq!(read(&id.replace('-', "").to_uppercase()), Selector::Id(id.parse().unwrap()));
    }

    #[test]
    fn decimal_digits_alone_are_a_number_and_never_a_piece_of_an_id() {
        assert_eq!(read("123456"), Selector::Number(123_456));
    }

    #[test]
    fn what_names_no_run_is_refused_with_what_to_write() {
        for text in
            ["", "#", "#a", "+1", "-1", "last2", "last~", "last~-1", "last~x", "9f3", "zeta", "99999999999"]
        {
            let error = text.parse::<Selector>().expect_err(text).to_string();
            assert!(error.contains("last~2"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_name_reads_back_as_it_is_shown(selector in selectors()) {
            prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            if let Ok(selector) = text.parse::<Selector>() {
                prop_assert_eq!(selector.to_string().parse::<Selector>(), Ok(selector));
            }
        }
    }

    fn selectors() -> impl Strategy<Value = Selector> {
        prop_oneof![
            any::<u32>().prop_map(Selector::Number),
            any::<u32>().prop_map(Selector::Last),
            any::<u128>().prop_map(|id| Selector::Id(RunId(uuid::Uuid::from_u128(id)))),
            any::<u64>().prop_map(|digits| Selector::Fragment(format!("{digits:x}a0000"))),
        ]
    }
}
