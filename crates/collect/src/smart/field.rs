//! Fields of a document that somebody else wrote.

use iostall_measure::foreign::shown;
use serde_json::Value;

use super::error::SmartError;

/// Text that is longer is no name.
const TEXT_CHARS_MAX: usize = 256;
/// Drives count up to 254, and 255 is more.
pub(super) const PERCENT_MAX: u64 = 255;

#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) document: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> Field<'a> {
    /// The part at `key`; `None` if there is none, or null.
    pub(super) fn part(self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { document: self.document, value })
    }

    /// The parts of the list at `key`; none if there is no list.
    pub(super) fn parts(self, key: &str) -> impl Iterator<Item = Self> + use<'a> {
        let list = self.value.get(key).and_then(Value::as_array);
        list.into_iter().flatten().map(move |value| Self { document: self.document, value })
    }

    /// The text at `key`, without what a terminal would obey.
    pub(super) fn text(self, key: &str) -> Option<String> {
        let text = self.value.get(key)?.as_str()?.trim();
        let text: String = shown(text).chars().take(TEXT_CHARS_MAX).collect();
        (!text.is_empty()).then_some(text)
    }

    /// Whether `key` is true; `None` if it is neither true nor false.
    pub(super) fn truth(self, key: &str) -> Option<bool> {
        self.value.get(key)?.as_bool()
    }

    /// The whole number at `key`, or in `key_s`, where smartctl writes what JavaScript cannot hold. `None` if there is none.
    pub(super) fn whole(self, key: &str) -> Result<Option<u128>, SmartError> {
        let exact = self.value.get(format!("{key}_s")).filter(|value| value.is_string());
        match exact.or_else(|| self.value.get(key)) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => whole(value).map(Some).ok_or_else(|| self.wrong(key, value)),
        }
    }

    /// The same where 64 bits are enough for any drive.
    pub(super) fn count(self, key: &str) -> Result<Option<u64>, SmartError> {
        self.times(key, 1)
    }

    /// The percentage at `key`: a byte in every log.
    pub(super) fn percent(self, key: &str) -> Result<Option<u64>, SmartError> {
        match self.count(key)? {
            Some(number) if number > PERCENT_MAX => Err(SmartError::Value {
                name: self.document.to_owned(),
                key: key.to_owned(),
                found: format!("{number}, which is no percentage"),
            }),
            percent => Ok(percent),
        }
    }

    /// The whole number at `key` times `unit`, which must fit into 64 bits: no drive has 18 exabytes.
    pub(super) fn times(self, key: &str, unit: u64) -> Result<Option<u64>, SmartError> {
        let Some(number) = self.whole(key)? else { return Ok(None) };
        let product = number.checked_mul(u128::from(unit)).and_then(|product| u64::try_from(product).ok());
        let too_large = || SmartError::Value {
            name: self.document.to_owned(),
            key: key.to_owned(),
            found: format!("{number}, more than any drive can have"),
        };
        product.map(Some).ok_or_else(too_large)
    }

    fn wrong(self, key: &str, value: &Value) -> SmartError {
        let found = match value {
            Value::Number(number) => format!("{number}, which is no whole number"),
            Value::String(text) => format!(
                "the text {:?}, which is no whole number",
                shown(text).chars().take(40).collect::<String>()
            ),
            Value::Array(_) => "a list instead of a number".to_owned(),
            Value::Object(_) => "an object instead of a number".to_owned(),
            Value::Bool(truth) => format!("{truth} instead of a number"),
            Value::Null => "nothing".to_owned(),
        };
        SmartError::Value { name: self.document.to_owned(), key: key.to_owned(), found }
    }
}

/// A number, digits as text, or the two halves of 128 bits. Never a float: it would have lost digits.
fn whole(value: &Value) -> Option<u128> {
    match value {
        Value::Number(number) => number.as_u64().map(u128::from),
        // A hand-made document has separators.
        Value::String(text) => {
            let digits: String = text.trim().chars().filter(|c| *c != ',').collect();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten()
        }
        Value::Object(halves) => {
            let half =
                |key: &str| halves.get(key).and_then(whole).filter(|half| *half <= u128::from(u64::MAX));
            Some(half("hi")? << 64 | half("lo")?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Result<Option<u128>, String> {
        Field { document: "a.json", value }.whole("n").map_err(|error| error.to_string())
    }

    #[test]
    fn whole_numbers_are_read_in_each_of_their_forms_and_floats_never() {
        assert_eq!(read(&json!({"n": 7})), Ok(Some(7)));
        assert_eq!(read(&json!({"n": "340282366920938463463374607431768211455"})), Ok(Some(u128::MAX)));
        assert_eq!(read(&json!({"n": "6,226,522"})), Ok(Some(6_226_522)));
        assert_eq!(read(&json!({"n": {"hi": 1, "lo": 2}})), Ok(Some((1 << 64) + 2)));
        assert_eq!(read(&json!({"n": 1.8e19, "n_s": "18446744073709551616"})), Ok(Some(1 << 64)));
        assert_eq!((read(&json!({})), read(&json!({"n": null}))), (Ok(None), Ok(None)));
        for wrong in [
            json!(1.5),
            json!(1e30),
            json!(-1),
            json!("x"),
            json!(""),
            json!("-1"),
            json!([1]),
            json!({"hi": 1}),
            json!(true),
        ] {
            let said = read(&json!({"n": wrong})).unwrap_err();
            assert!(said.starts_with("a.json: n is "), "{said}");
        }
        assert!(read(&json!({"n": "340282366920938463463374607431768211456"})).is_err(), "129 bits");
    }

    #[test]
    fn a_percentage_is_a_byte() {
        let read =
            |number: u64| Field { document: "a", value: &json!({"n": number}) }.percent("n").ok().flatten();
        assert_eq!((read(255), read(256), read(u64::MAX)), (Some(255), None, None));
    }

    #[test]
    fn more_bytes_than_there_can_be_are_an_error_and_no_other_number() {
        let value = json!({"n": "99999999999999999"});
        let said = Field { document: "a", value: &value }.times("n", 512_000).unwrap_err().to_string();
        assert!(said.contains("more than any drive"), "{said}");
    }
}
