//! Mean and median.

/// Mean of `values`; `None` if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Median of `values`; `None` if empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_and_the_median_of_a_few_numbers() {
        assert_eq!((mean(&[1.0, 2.0, 6.0]), median(&[6.0, 1.0, 2.0])), (Some(3.0), Some(2.0)));
        assert_eq!(median(&[8.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!((mean(&[]), median(&[])), (None, None));
    }
}
