//! What the simulation says.

use iostall_model::FlashOutcome;
use iostall_model::kinds::{Between, FlashTenth, FlashUpkeep, SpareFor};

use crate::format::percent;
use crate::section::Note;

pub(super) fn notes(flash: &FlashOutcome) -> Vec<Note> {
    let Some(found) = &flash.write_amplification else {
        return vec![Note::caution(
            "Stopped before the figures are steady: at least two fills more are needed.",
        )];
    };
    let mut notes = vec![Note::strong(format!(
        "The device writes {} pages for each page of the host ({}, from the means of whole fills).",
        ratio(found.mean),
        interval(found)
    ))];
    notes.extend(flash.spare_for.as_ref().map(spare));
    notes.extend(cliff(flash, found.mean));
    if let Some(share) = flash.iops_ratio {
        notes.push(Note::plain(format!(
            "Steady random writes are {} of those of a device that moves nothing: a page keeps a plane busy {} times as long.",
            percent(share),
            ratio(1.0 / share)
        )));
    }
    notes.extend(flash.upkeep.as_ref().and_then(upkeep));
    notes.extend(life(flash));
    notes
}

fn spare(spare: &SpareFor) -> Note {
    let by_form = spare.spare_by_form.map(|form| format!("; the nearest formula says {}", percent(form)));
    Note::strong(format!(
        "A write amplification of {} needs {} of spare area ({} to {}, from independent seeds){}.",
        ratio(spare.write_amplification),
        percent(spare.spare.mean),
        percent(spare.spare.low),
        percent(spare.spare.high),
        by_form.unwrap_or_default()
    ))
}

/// Where speed falls: a test that ends before it says nothing about the device.
fn cliff(flash: &FlashOutcome, mean: f64) -> Option<Note> {
    const SMALL: f64 = 1.05;
    /// The first fills, in which a device overshoots.
    const EARLY: usize = 30;
    if mean < SMALL {
        return None;
    }
    let of = FlashTenth::write_amplification;
    let half = f64::midpoint(1.0, mean);
    let at = flash.tenths.iter().position(|tenth| of(tenth).is_some_and(|found| found >= half))?;
    let highest = flash.tenths.iter().take(EARLY).filter_map(of).fold(0.0, f64::max);
    let overshoot =
        if highest > mean * 1.02 { format!(", to {} at first", ratio(highest)) } else { String::new() };
    Some(Note::plain(format!(
        "The cliff: on a full device the spare area lasts for about {:.1} fills of such writes, then amplification rises{overshoot}. A \
         test of a new or trimmed drive that ends before says nothing about this state.",
        at as f64 / 10.0
    )))
}

fn upkeep(upkeep: &FlashUpkeep) -> Option<Note> {
    let host = upkeep.host_pages as f64;
    if upkeep.host_pages == 0 {
        return None;
    }
    let mut text = format!(
        "Upkeep: {:.3} of the pages for each page of the host were written anew, to level wear or because they were old or much read.",
        upkeep.refreshed_pages as f64 / host
    );
    if upkeep.absorbed_pages > 0 {
        let absorbed = percent(upkeep.absorbed_pages as f64 / host);
        text += &format!(
            " The cache kept {absorbed} of the writes from the blocks behind it; its own wear is not counted."
        );
    }
    if upkeep.bad_blocks > 0 {
        text += &format!(" {} of {} blocks went bad.", upkeep.bad_blocks, upkeep.blocks);
    }
    Some(Note::plain(text))
}

fn life(flash: &FlashOutcome) -> Option<Note> {
    let life = flash.life.as_ref()?;
    let terabytes = life.written_bytes / 1e12;
    let amount = if terabytes < 10.0 { format!("{terabytes:.1} TB") } else { format!("{terabytes:.0} TB") };
    let lasts = life.days().map(|days| match days / DAYS_PER_YEAR {
        years if years < 2.0 => format!(": {days:.0} days at the given rate"),
        years => format!(": {years:.1} years at the given rate"),
    });
    let fills = life.written_bytes / flash.device_bytes.max(1) as f64;
    Some(Note::plain(format!(
        "Life: {amount} written by the host, {fills:.0} fills{}. It ends with the most worn block, as unevenly worn as in the simulation.",
        lasts.unwrap_or_default()
    )))
}

/// As warranties count.
pub(super) const DAYS_PER_YEAR: f64 = 365.0;

/// Two decimals below ten, as papers have them.
pub(super) fn ratio(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.1}") }
}

pub(super) fn interval(between: &Between) -> String {
    format!("{:.3} to {:.3}", between.low, between.high)
}
