//! Which runs of two sides are compared: each once, and none with itself.

use iostall_model::Run;

pub(super) struct Distinct<'a> {
    pub(super) first: Vec<&'a Run>,
    pub(super) second: Vec<&'a Run>,
    pub(super) left_out: Vec<String>,
}

/// Leaves out repetitions of a run, which are no evidence, and runs of both sides, which compare with themselves.
pub(super) fn distinct<'a>(first: &'a [Run], second: &'a [Run]) -> Distinct<'a> {
    let (ours, theirs) = (once(first), once(second));
    let repeated = first.len() + second.len() - ours.len() - theirs.len();
    let without = |side: &[&'a Run], other: &[&'a Run]| -> Vec<&'a Run> {
        side.iter().filter(|run| other.iter().all(|known| known.id != run.id)).copied().collect()
    };
    let (first, second) = (without(&ours, &theirs), without(&theirs, &ours));
    let shared = ours.len() - first.len();
    let mut left_out = Vec::new();
    match repeated {
        0 => {}
        1 => left_out.push("One run was given twice on its side. It counts once.".to_owned()),
        count => left_out.push(format!("{count} runs were repeated on their side. Each run counts once.")),
    }
    match shared {
        0 => {}
        1 => left_out.push("One run was given on both sides. It is left out of both.".to_owned()),
        count => left_out.push(format!("{count} runs were given on both sides. They are left out of both.")),
    }
    Distinct { first, second, left_out }
}

fn once(runs: &[Run]) -> Vec<&Run> {
    let mut kept: Vec<&Run> = Vec::new();
    for run in runs {
        if kept.iter().all(|known| known.id != run.id) {
            kept.push(run);
        }
    }
    kept
}
