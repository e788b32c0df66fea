//! The cuts of several checks: a file with a line of JSON for each, and what they say together.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use iostall_engine::Input;
use iostall_measure::ByteCount;
use iostall_model::powerfail::{Cut, Primitive, PrimitiveVerdict};

use super::error::PowerfailError;

const CUTS: Input = Input { what: "list of cuts", limit: ByteCount(256 << 20) };

/// The cuts in the file at `path`; none if it is not there.
pub(super) fn read_cuts(path: &Path) -> Result<Vec<Cut>, PowerfailError> {
    let failed = |why: String| PowerfailError::Cuts { path: path.to_owned(), why };
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = CUTS.text(path).map_err(|error| failed(error.to_string()))?;
    let parse = |(line, number): (&str, usize)| {
        serde_json::from_str(line).map_err(|_| failed(format!("line {number} is no cut")))
    };
    text.lines().zip(1..).map(parse).collect()
}

/// Adds `cut` to the file at `path`, if the run is not there yet.
pub(super) fn add_cut(path: &Path, known: &mut Vec<Cut>, cut: &Cut) -> Result<(), PowerfailError> {
    if known.iter().any(|other| other.run.run == cut.run.run) {
        return Ok(());
    }
    let failed =
        |source: std::io::Error| PowerfailError::Cuts { path: path.to_owned(), why: source.to_string() };
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    let line = format!("{}\n", serde_json::json!(cut));
    file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    known.push(cut.clone());
    Ok(())
}

/// What `cuts` say of each primitive that they have, if at most the share `below` of cuts is to lose something.
pub(super) fn verdicts(cuts: &[Cut], below: f64) -> Vec<PrimitiveVerdict> {
    let of = |primitive: Primitive| {
        let all: Vec<&Cut> =
            cuts.iter().filter(|cut| cut.run.primitive == primitive && cut.counts()).collect();
        let is_asked = cuts.iter().any(|cut| cut.run.primitive == primitive);
        is_asked.then(|| {
            let cuts_with_loss = all.iter().filter(|cut| cut.is_loss()).count() as u64;
            let count = all.len() as u64;
            PrimitiveVerdict {
                primitive,
                cuts: count,
                cuts_with_loss,
                loss_share_max: (count > 0 && cuts_with_loss == 0).then(|| share_max(count)),
                cuts_wanted: cuts_for(below),
                torn_bytes: all.iter().filter_map(|cut| cut.torn_bytes).min(),
                is_not_passed: primitive.is_per_write()
                    && all.iter().any(|cut| cut.run.takes_fua == Some(false)),
            }
        })
    };
    Primitive::ALL.into_iter().filter_map(of).collect()
}

/// With a confidence of 95 %, the largest share of cuts that lose something, if `count` lost nothing: about 3 / `count`.
fn share_max(count: u64) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / count as f64)
}

/// Cuts without a loss that show with a confidence of 95 % that fewer than `share` lose something.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn cuts_for(share: f64) -> u64 {
    (0.05_f64.ln() / (1.0 - share.clamp(1e-9, 1.0 - 1e-9)).ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_three_is_the_limit() {
        for (share, cuts) in [(0.01, 299), (0.05, 59), (0.1, 29), (0.5, 5)] {
            assert_eq!(cuts_for(share), cuts);
        }
        for count in [100, 1000] {
            let three = 3.0 / count as f64;
            assert!((share_max(count) / three - 1.0).abs() < 0.02, "{count}");
        }
        assert!(share_max(299) < 0.01 && share_max(298) > 0.01);
    }
}
