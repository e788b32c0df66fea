//! What networked sources share: rows from named columns, and texts by version.

use iostall_connect::Value;
use iostall_model::{Counter, Counters, Kind, Row, Scope, Subject};

/// What a column holds, according to its name: `database`, `name`, `identity`, `volume`, `age_ms`, and every
/// [`Counter`]. The queries assign these names, so that only they define what a version's columns mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Database,
    Name,
    Identity,
    Volume,
    AgeMs,
    Counter(Counter),
    Nothing,
}

impl Field {
    fn named(name: &str) -> Self {
        match name {
            "database" => Self::Database,
            "name" => Self::Name,
            "identity" => Self::Identity,
            "volume" => Self::Volume,
            "age_ms" => Self::AgeMs,
            _ => Counter::ALL
                .into_iter()
                .find(|known| known.name() == name)
                .map_or(Self::Nothing, Self::Counter),
        }
    }

    /// A missing value stays absent: it is not zero.
    fn put(self, row: &mut Row, value: Value) {
        match (self, value) {
            (Self::Database, Value::Text(text)) => row.subject.scope = Scope::database_or_source(text),
            (Self::Name, Value::Text(text)) => row.subject.name = text,
            (Self::Identity, Value::Text(text)) => row.subject.identity = text,
            (Self::Volume, Value::Text(text)) if !text.is_empty() => row.subject.volume = Some(text),
            (Self::AgeMs, Value::Number(number)) => row.age_ms = Some(number),
            (Self::Counter(counter), Value::Number(number)) => row.counters.set(counter, number),
            _ => {}
        }
    }
}

fn empty(kind: Kind) -> Row {
    let subject =
        Subject { kind, scope: Scope::Source, name: String::new(), identity: String::new(), volume: None };
    Row { subject, counters: Counters::new(), age_ms: None }
}

pub(crate) fn row(kind: Kind, columns: impl Iterator<Item = (String, Value)>) -> Row {
    let mut row = empty(kind);
    for (name, value) in columns {
        Field::named(&name).put(&mut row, value);
    }
    row
}

pub(crate) trait Columns {
    /// The text at `index`; `None` if it is NULL or not text.
    fn text(&self, index: usize) -> Option<String>;
    /// The number at `index`; `None` if it is NULL, not a number, or negative, which no counter is.
    fn number(&self, index: usize) -> Option<u64>;
}

/// The meaning of a result's columns, determined once for all of its rows.
pub(crate) struct Plan(Vec<Field>);

impl Plan {
    pub(crate) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(Field::named).collect())
    }

    pub(crate) fn row(&self, kind: Kind, columns: &impl Columns) -> Row {
        let mut row = empty(kind);
        for (index, field) in self.0.iter().enumerate() {
            let value = match field {
                Field::Nothing => Value::Missing,
                Field::Counter(_) | Field::AgeMs => {
                    columns.number(index).map_or(Value::Missing, Value::Number)
                }
                _ => columns.text(index).map_or(Value::Missing, Value::Text),
            };
            field.put(&mut row, value);
        }
        row
    }
}

/// The newest text that applies to `version`; texts are keyed by the first version they apply to.
pub(crate) fn for_version(texts: &[(u32, &'static str)], version: u32) -> Option<&'static str> {
    texts.iter().filter(|(since, _)| *since <= version).max_by_key(|(since, _)| *since).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_text_that_is_not_too_new_is_taken() {
        let texts = [(18, "c"), (12, "a"), (16, "b")];
        assert_eq!(for_version(&texts, 17), Some("b"));
        assert_eq!(for_version(&texts, 99), Some("c"));
        assert_eq!(for_version(&texts, 11), None);
    }

    #[test]
    fn a_missing_value_is_not_a_zero() {
        let columns = [
            ("name".to_owned(), Value::Text("a".into())),
            ("reads".to_owned(), Value::Number(3)),
            ("writes".to_owned(), Value::Missing),
        ];
        let row = row(Kind::PostgresIo, columns.into_iter());
        assert_eq!(row.counters.get(Counter::Reads), Some(3));
        assert_eq!(row.counters.get(Counter::Writes), None);
    }
}
