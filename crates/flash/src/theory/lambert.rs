//! Lambert's W.

/// The principal branch of the inverse of w·e^w, for `z` in -1/e to 0.
pub(super) fn lambert_w0(z: f64) -> f64 {
    // Near -1/e the function is a square root, where Halley's method needs this start.
    let root = (2.0 * (std::f64::consts::E * z + 1.0)).max(0.0).sqrt();
    let mut w = -1.0 + root - root * root / 3.0;
    for _ in 0..50 {
        let power = w.exp();
        let error = w * power - z;
        let slope = power * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0);
        let step = error / slope;
        if !step.is_finite() {
            break;
        }
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_inverse_on_its_whole_range() {
        for w in [-0.999, -0.9, -0.5, -0.1, -1e-3, -1e-9] {
            let found = lambert_w0(w * f64::exp(w));
            assert!((found - w).abs() < 1e-9, "{w}: {found}");
        }
        assert!(lambert_w0(0.0).abs() < 1e-15);
    }
}
