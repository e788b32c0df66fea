//! Damage of a set in the form stored with a run.

use iostall_model::stripe::{BackupDamage, StripeUse};
use iostall_transfer::backup::read::{ChainStripe, Damage, OpenSet, StripeRead};

pub(super) fn stored(damage: &[Damage]) -> Vec<BackupDamage> {
    damage.iter().map(of).collect()
}

fn of(damage: &Damage) -> BackupDamage {
    BackupDamage {
        base: damage.base.map(|set| set.to_string()),
        // Stripes are counted from 1 wherever a person reads it.
        stripe: damage.stripe.map(|number| number.saturating_add(1)),
        path: damage.path.display().to_string(),
        frame: damage.frame,
        offset: damage.offset,
        file: damage.file.clone(),
        file_offset: damage.file_offset,
        file_bytes: damage.file_bytes,
        is_missing: damage.is_missing,
        message: damage.message.clone(),
    }
}

/// The beginning of a set's id, which tells the sets of one store apart, as the name of a run.
pub(super) fn short(set: &str) -> String {
    if set.is_empty() { "backup".to_owned() } else { set.chars().take(12).collect() }
}

/// The stripes of a set that are there, and those of what it is based on.
pub(super) fn stripes(set: &OpenSet) -> Vec<StripeUse> {
    let one = |ChainStripe { open, .. }: ChainStripe<'_>| StripeUse {
        path: open.stripe.path.display().to_string(),
        bytes: open.stripe.bytes,
        frames: open.end.map_or(0, |end| end.frames),
        busy_ns: 0,
    };
    set.all_stripes().map(one).collect()
}

/// The stripes of a set and of what it is based on, of which so much was read: `bytes` of each so far, and the rest once all of it is known.
pub(super) fn stripes_read(set: &OpenSet, bytes: &[u64], read: &[StripeRead]) -> Vec<StripeUse> {
    let one = |(at, ChainStripe { open, .. }): (usize, ChainStripe<'_>)| {
        let whole = read.get(at).copied().unwrap_or_default();
        StripeUse {
            path: open.stripe.path.display().to_string(),
            bytes: bytes.get(at).copied().unwrap_or_default(),
            frames: whole.frames,
            busy_ns: whole.busy_ns,
        }
    };
    set.all_stripes().enumerate().map(one).collect()
}
