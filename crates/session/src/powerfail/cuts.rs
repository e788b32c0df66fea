//! The cuts of several checks: a file with a line of JSON for each, and what they say together.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use iostall_engine::Input;
use iostall_measure::ByteCount;
use iostall_model::powerfail::{Cut, Primitive, PrimitiveVerdict};

use super::error::PowerfailError;
use crate::error::SessionError;

const CUTS: Input = Input { what: "list of cuts", limit: ByteCount(256 << 20) };

const LINE_HEAD: &str = "{\"run\":{\"run\":\"";

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownCuts {
    pub(super) cuts: Vec<Cut>,
    /// Bytes of the file up to the end of its last whole line.
    whole_bytes: u64,
}

pub(crate) fn cuts_of(path: &Path) -> Result<Vec<Cut>, SessionError> {
    if path.exists() {
        return Ok(read_cuts(path)?.cuts);
    }
    let why = "it is not there".to_owned();
    Err(PowerfailError::Cuts { path: path.to_owned(), why }.into())
}

/// The cuts in the file at `path`; none if it is not there. A check that was killed, or whose disk was full, may have left half a
/// line, which is no cut.
pub(super) fn read_cuts(path: &Path) -> Result<KnownCuts, PowerfailError> {
    let failed = |why: String| PowerfailError::Cuts { path: path.to_owned(), why };
    if !path.exists() {
        return Ok(KnownCuts::default());
    }
    let text = CUTS.text(path).map_err(|error| failed(error.to_string()))?;
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let parse = |(line, number): (&str, usize)| {
        serde_json::from_str(line).map_err(|_| failed(format!("line {number} is no cut")))
    };
    let mut cuts: Vec<Cut> = text[..whole].lines().zip(1..).map(parse).collect::<Result<_, _>>()?;
    let rest = &text[whole..];
    let mut whole_bytes = whole as u64;
    if let Ok(cut) = serde_json::from_str(rest) {
        // Only the end of the line is missing.
        cuts.push(cut);
        whole_bytes = text.len() as u64;
    } else if !rest.is_empty() && !is_half_a_line(rest, !cuts.is_empty()) {
        return Err(failed(format!("line {} is no cut", cuts.len() + 1)));
    }
    Ok(KnownCuts { cuts, whole_bytes })
}

/// Whether `rest` may be the beginning of a line of ours. In a file without any cut it must be a long one.
fn is_half_a_line(rest: &str, has_cuts: bool) -> bool {
    rest.starts_with(LINE_HEAD) || (has_cuts && LINE_HEAD.starts_with(rest))
}

/// Adds `cut` to the file at `path`, if the run is not there yet. Half a line at its end makes room; where the line does not fit, nothing
/// of it stays.
pub(super) fn add_cut(path: &Path, known: &mut KnownCuts, cut: &Cut) -> Result<(), PowerfailError> {
    if known.cuts.iter().any(|other| other.run.run == cut.run.run) {
        return Ok(());
    }
    let failed =
        |source: std::io::Error| PowerfailError::Cuts { path: path.to_owned(), why: source.to_string() };
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
    let mut line = format!("{}\n", serde_json::to_string(cut).map_err(|error| failed(error.into()))?);
    if ends_without_a_line(&mut file, known.whole_bytes).map_err(failed)? {
        line.insert(0, '\n');
    }
    let written = file
        .set_len(known.whole_bytes)
        .and_then(|()| file.write_all(line.as_bytes()))
        .and_then(|()| file.sync_all());
    if let Err(source) = written {
        // If this fails too, half a line stays, and the next check takes it for that.
        let _ = file.set_len(known.whole_bytes);
        return Err(failed(source));
    }
    known.whole_bytes += line.len() as u64;
    known.cuts.push(cut.clone());
    Ok(())
}

/// Whether the last whole cut has no end of line.
fn ends_without_a_line(file: &mut File, whole_bytes: u64) -> std::io::Result<bool> {
    let Some(last) = whole_bytes.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut byte)?;
    Ok(byte != *b"\n")
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
pub(crate) fn share_max(count: u64) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / count as f64)
}

/// Cuts without a loss that show with a confidence of 95 % that fewer than `share` lose something.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn cuts_for(share: f64) -> u64 {
    (0.05_f64.ln() / (1.0 - share.clamp(1e-9, 1.0 - 1e-9)).ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use iostall_model::powerfail::PowerfailRun;

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

    fn cut(run: &str) -> Cut {
        let run = PowerfailRun { run: run.to_owned(), ..super::super::protocol::tests::run() };
        let logged = super::super::log::Logged { run, flushes: Vec::new(), is_ended: false };
        super::super::inspect::inspect(&logged, &mut |_, _| Ok(()))
    }

    /// A check that was killed while it added its cut made the list useless: no later check could be added.
    #[test]
    fn half_a_last_line_is_no_cut_and_makes_room_for_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all.cuts");
        let mut known = KnownCuts::default();
        add_cut(&path, &mut known, &cut("0000000000000001")).unwrap();
        let first = std::fs::read(&path).unwrap();
        add_cut(&path, &mut known, &cut("0000000000000002")).unwrap();
        assert_eq!(read_cuts(&path).unwrap(), known);
        let whole = std::fs::read(&path).unwrap();
        for kept in first.len()..whole.len() {
            std::fs::write(&path, &whole[..kept]).unwrap();
            let mut again = read_cuts(&path).unwrap();
            let has_second = kept + 1 == whole.len();
            assert_eq!(again.cuts.len(), if has_second { 2 } else { 1 }, "{kept}");
            add_cut(&path, &mut again, &cut("0000000000000002")).unwrap();
            add_cut(&path, &mut again, &cut("0000000000000003")).unwrap();
            assert_eq!(read_cuts(&path).unwrap(), again, "{kept}");
            assert_eq!(again.cuts.len(), 3, "{kept}");
        }
    }

    #[test]
    fn a_file_of_somebody_else_is_no_list_of_cuts_and_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes");
        for text in ["my notes", "my notes\n", "{", "{}", "{\"a\": 1}\n", "\n", "{\"run\":"] {
            std::fs::write(&path, text).unwrap();
            assert!(read_cuts(&path).is_err(), "{text:?}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert!(cuts_of(&directory.path().join("absent")).is_err());
        assert_eq!(read_cuts(&directory.path().join("absent")).unwrap(), KnownCuts::default());
    }
}
