//! Bars of eighths, one column a value.

const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `values` as `height` lines, on one scale from zero to the largest of them. A gap has no bar.
pub(super) fn bars(values: &[Option<f64>], height: usize) -> Vec<String> {
    let most = values.iter().flatten().copied().fold(0.0_f64, f64::max);
    let steps: Vec<usize> = values.iter().map(|value| eighths(*value, most, height)).collect();
    let line = |row: usize| {
        let below = (height - 1 - row) * 8;
        steps.iter().map(move |step| match step.saturating_sub(below) {
            0 => ' ',
            part => EIGHTHS[part.min(8) - 1],
        })
    };
    (0..height).map(|row| line(row).collect()).collect()
}

/// The height of a bar; whatever is more than nothing is seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the largest value is within 0 and 1, and a float cast saturates"
)]
fn eighths(value: Option<f64>, most: f64, height: usize) -> usize {
    match value {
        Some(value) if value > 0.0 => ((value / most * (height * 8) as f64).round() as usize).max(1),
        Some(_) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_value_is_twice_the_height_and_a_gap_is_empty() {
        let values = [Some(8.0), Some(4.0), None, Some(0.0), Some(0.01)];
        assert_eq!(bars(&values, 1), ["█▄  ▁"]);
        assert_eq!(bars(&values, 2), ["█    ", "██  ▁"]);
        assert_eq!(bars(&[], 2), ["", ""]);
        assert_eq!(bars(&[None, Some(0.0)], 1), ["  "]);
    }
}
