//! Values of some rows, column by column, and what they add up to.

use parquet::data_type::ByteArray;
use xxhash_rust::xxh3::xxh3_64;

use crate::table::{Field, FieldKind};

#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Missing,
    Text(ByteArray),
    Long(i64),
    Double(f64),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(ByteArray::from(text))
    }

    /// The bits are kept: a mark may be any number of 64 bits.
    pub(crate) fn bits(value: u64) -> Self {
        Self::Long(value.cast_signed())
    }

    pub(crate) fn or_missing<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Missing, cell)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    Text(Vec<ByteArray>),
    Long(Vec<i64>),
    Double(Vec<f64>),
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) values: Values,
    pub(crate) levels: Vec<i16>,
}

/// How many values a column has, and what they add up to, modulo 2^64. Texts count with their hashes, and fractions with their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSum {
    pub(crate) present: u64,
    pub(crate) sum: u64,
}

impl ColumnSum {
    fn add(&mut self, bits: u64) {
        self.present += 1;
        self.sum = self.sum.wrapping_add(bits);
    }

    pub(crate) fn add_all(&mut self, values: &Values) {
        match values {
            Values::Text(values) => values.iter().for_each(|value| self.add(xxh3_64(value.data()))),
            Values::Long(values) => values.iter().for_each(|value| self.add(value.cast_unsigned())),
            Values::Double(values) => values.iter().for_each(|value| self.add(value.to_bits())),
        }
    }
}

/// Rows of one table that are written at once, and the sums of all that ever were here.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    pub(crate) sums: Vec<ColumnSum>,
    pub(crate) count: usize,
    pub(crate) total: u64,
}

impl Rows {
    pub(crate) fn new(fields: &[Field]) -> Self {
        let column = |field: &Field| Column {
            values: match field.kind {
                FieldKind::Text => Values::Text(Vec::new()),
                FieldKind::Long | FieldKind::Time => Values::Long(Vec::new()),
                FieldKind::Double => Values::Double(Vec::new()),
            },
            levels: Vec::new(),
        };
        Self {
            columns: fields.iter().map(column).collect(),
            sums: vec![ColumnSum::default(); fields.len()],
            count: 0,
            total: 0,
        }
    }

    /// Adds a row. What does not fit its column is left out, and missing in the sums.
    pub(crate) fn push(&mut self, cells: impl Iterator<Item = Cell>) {
        for ((column, sum), cell) in self.columns.iter_mut().zip(&mut self.sums).zip(cells) {
            let is_there = match (&mut column.values, cell) {
                (Values::Text(values), Cell::Text(value)) => {
                    sum.add(xxh3_64(value.data()));
                    values.push(value);
                    true
                }
                (Values::Long(values), Cell::Long(value)) => {
                    sum.add(value.cast_unsigned());
                    values.push(value);
                    true
                }
                (Values::Double(values), Cell::Double(value)) => {
                    sum.add(value.to_bits());
                    values.push(value);
                    true
                }
                // A level without its value would shift all values after it.
                _ => false,
            };
            column.levels.push(i16::from(is_there));
        }
        self.count += 1;
        self.total += 1;
    }

    pub(crate) fn clear(&mut self) {
        for column in &mut self.columns {
            column.levels.clear();
            match &mut column.values {
                Values::Text(values) => values.clear(),
                Values::Long(values) => values.clear(),
                Values::Double(values) => values.clear(),
            }
        }
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Course;

    /// A cell of another kind got a level and no value, which shifts every value after it.
    #[test]
    fn a_column_has_as_many_levels_of_something_as_values() {
        let field =
            Field { name: "bytes".into(), kind: FieldKind::Long, is_required: false, course: Course::Any };
        let mut rows = Rows::new(&[field]);
        for cell in [Cell::Long(1), Cell::Double(2.0), Cell::Missing, Cell::Long(3)] {
            rows.push([cell].into_iter());
        }
        assert_eq!(rows.columns[0].levels, [1, 0, 0, 1]);
        let Values::Long(values) = &rows.columns[0].values else { panic!("a column of numbers") };
        assert_eq!(values, &[1, 3]);
    }
}
