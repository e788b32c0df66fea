//! Which values at the start of a series belong to a transition: the marginal standard error rule (MSER-5; White 1997).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    pub left_out: usize,
    /// Whether what is left is more than the half that is always kept. Otherwise the transition may not be over.
    pub is_over: bool,
}

/// Means of `batch` values each are formed, and as many of them left out, at most half, as make the standard error of the mean of
/// the rest smallest. `None` for fewer than four means.
pub fn truncation(series: &[f64], batch: usize) -> Option<Truncation> {
    const BATCHES_MIN: usize = 4;
    let batch = batch.max(1);
    let means: Vec<f64> =
        series.chunks_exact(batch).map(|part| part.iter().sum::<f64>() / batch as f64).collect();
    if means.len() < BATCHES_MIN || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    let half = means.len() / 2;
    let error = |left_out: &usize| {
        let rest = &means[*left_out..];
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * count)
    };
    let left_out = (0..=half).min_by(|left, right| error(left).total_cmp(&error(right)))?;
    Some(Truncation { left_out: left_out * batch, is_over: left_out < half })
}
