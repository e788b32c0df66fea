//! The report of a check of a backup.

use std::collections::BTreeSet;

use iostall_model::figures::per_second;
use iostall_model::stripe::BackupDamage;
use iostall_model::{BackupVerifyOutcome, Newest, Run};

use super::moved::{self, NoSpans};
use super::striped::{self, limit_fact};
use crate::format::{bytes, count, duration, maybe_throughput, shown};
use crate::report::Report;
use crate::section::{Fact, Layout, Note, Section};

pub(super) fn report<'a>(run: &'a Run, verify: &'a BackupVerifyOutcome) -> Report<'a> {
    Report {
        run,
        description: String::new(),
        shape: String::new(),
        headline: line(verify),
        line: Box::new(|| line(verify)),
        answer: Box::new(|| answer(run, verify)),
        judgement: Box::new(|| None),
        asked: None,
        opens_one_way: false,
        sections: Box::new(|| vec![section(verify)]),
        when_empty: "",
        charts: Box::new(|| vec![moved::charts(&verify.used.series)]),
        series: Box::new(|| striped::series(&verify.used.series)),
        summary: Box::new(|| Box::new(NoSpans::new())),
    }
}

/// What can be proved of an encrypted set without its key, and what cannot.
const WITHOUT_KEY: &str = "Checked without the key. Proved: all stripes are there and were completed, and every byte of \
    their frames has its checksum. Not proved: that the key opens them, that the content is what was backed up, that no whole \
    frame was taken out, and that the manifest is the one that was written. Whoever can write to the stripes can make other \
    checksums; only the key tells.";

fn rate(verify: &BackupVerifyOutcome) -> String {
    maybe_throughput(per_second(verify.stored_bytes as f64, verify.elapsed_ns))
}

fn line(verify: &BackupVerifyOutcome) -> String {
    format!(
        "{} of {} frames as they were written; {} read in {}, {}",
        count(verify.good_frames),
        count(verify.frames),
        bytes(verify.stored_bytes),
        duration(verify.elapsed_ns as f64),
        rate(verify),
    )
}

fn answer(run: &Run, verify: &BackupVerifyOutcome) -> String {
    let damaged = verify.damage.len() as u64;
    let state = match damaged {
        0 if run.interrupted => "NOT CHECKED to the end".to_owned(),
        0 if verify.without_key && verify.headers_only => {
            "complete by its headers; without the key nothing in it was checked".to_owned()
        }
        0 if verify.without_key => {
            "every stored byte is as it was written; WHAT IS IN IT WAS NOT CHECKED, because no key was named"
                .to_owned()
        }
        0 if verify.headers_only => {
            "complete by its headers: every frame is there, but what is in them was not read".to_owned()
        }
        0 => "the backup is whole: every byte of it was read and is as it was written".to_owned(),
        _ if verify.damage.iter().all(|one| one.is_missing) => missing(verify),
        1 => "THE BACKUP IS DAMAGED in 1 place".to_owned(),
        _ => format!("THE BACKUP IS DAMAGED in {} places", count(damaged)),
    };
    let bases = match (verify.bases.len(), verify.headers_only) {
        (0, _) => String::new(),
        (_, true) => format!(", and so is every frame that it needs of {}", bases(verify)),
        (_, false) => format!(", with what it needs of {}", bases(verify)),
    };
    let state = if damaged == 0 && !run.interrupted { format!("{state}{bases}") } else { state };
    let newest = match &verify.newest {
        Newest::Unknown => "whether it is the newest cannot be told from it",
        Newest::Expected => "it is the one that was expected",
        Newest::Known => "the store knows no newer one of its source",
        Newest::Other { .. } => "it is NOT the one that was expected",
        Newest::Older { .. } => "it is NOT the newest one of its source",
    };
    [line(verify), state, newest.to_owned()].join("; ")
}

/// Stripes and bases that are not here may be somewhere else.
fn missing(verify: &BackupVerifyOutcome) -> String {
    let stripes = verify.damage.iter().filter(|one| one.stripe.is_some()).count();
    let is_base = |one: &&BackupDamage| one.base.is_some() && one.stripe.is_none() && one.file.is_none();
    let bases: BTreeSet<_> = verify.damage.iter().filter(is_base).map(|one| &one.base).collect();
    let what = match (stripes, bases.len()) {
        (0, 0 | 1) => "the set that it is based on is not here".to_owned(),
        (0, sets) => format!("{sets} sets that it is based on are not here"),
        (1, _) => "1 stripe is missing".to_owned(),
        (stripes, _) => format!("{stripes} stripes are missing"),
    };
    let others = if verify.headers_only { "" } else { "; what is there is not damaged" };
    format!("THE BACKUP IS NOT WHOLE HERE: {what}{others}")
}

fn bases(verify: &BackupVerifyOutcome) -> String {
    match verify.bases.len() as u64 {
        1 => "the set that it is based on".to_owned(),
        sets => format!("the {} sets that it is based on", count(sets)),
    }
}

fn section(verify: &BackupVerifyOutcome) -> Section {
    Section {
        title: "Result".to_owned(),
        subtitle: line(verify),
        layout: Layout::Facts,
        notes: notes(verify),
        facts: facts(verify),
        tables: striped::stripes(&verify.stripes, verify.elapsed_ns).into_iter().collect(),
        ..Section::default()
    }
}

fn facts(verify: &BackupVerifyOutcome) -> Vec<Fact> {
    let depth = match (verify.headers_only, verify.without_key) {
        (true, _) => "headers, index and ends",
        (false, true) => "every byte: checksums of what is stored",
        (false, false) => "every byte: checksums of what is stored, and of what comes out of it",
    };
    let holds = if verify.without_key {
        "only the key tells".to_owned()
    } else {
        format!("{} in {} files", bytes(verify.bytes), count(verify.files))
    };
    let mut facts = vec![
        Fact::new("backup", shown(&verify.from)),
        Fact::new("set", shown(&verify.set)),
        Fact::new("checked", depth.to_owned()),
        Fact::new("holds", holds),
    ];
    facts.extend(verify.bases.iter().map(|base| {
        Fact::new("based on", format!("{}: {} frames of it", shown(&base.set), count(base.frames)))
    }));
    facts.extend(limit_fact(&verify.used.buffer_time, "destination"));
    facts.push(striped::cpu(verify.used.cpu_user_ns, verify.used.cpu_system_ns, verify.stored_bytes));
    facts
}

fn notes(verify: &BackupVerifyOutcome) -> Vec<Note> {
    let mut notes = striped::damage(&verify.damage);
    match &verify.newest {
        Newest::Other { set, because } => notes.push(Note::bad(format!(
            "NOT THE EXPECTED SET: {}. Expected was {}.",
            shown(because),
            shown(set)
        ))),
        Newest::Unknown => notes.push(Note::caution(
            "A backup cannot tell whether there is a newer one. With --expect SETID it is compared with the one that \
             you mean.",
        )),
        Newest::Older { set, because } => notes.push(Note::caution(format!(
            "NOT THE NEWEST: {}, set {}. --expect SETID makes it an error to find another one than you mean.",
            shown(because),
            shown(set)
        ))),
        Newest::Expected | Newest::Known => {}
    }
    if verify.without_key {
        notes.push(Note::caution(WITHOUT_KEY));
    }
    if verify.headers_only {
        notes.push(Note::caution(
            "Only headers were read. They prove that all stripes belong together, that no frame is missing and that \
             each stripe was completed. They prove nothing about the data in the frames: leave --headers out for that.",
        ));
    }
    if verify.unchecked() > 0 {
        let (left, all) = (count(verify.unchecked()), count(verify.frames));
        notes.push(Note::caution(format!("{left} of {all} frames were NOT CHECKED: it was stopped before.")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The story: `--headers` took a second, said that all was well, and a restore failed on a rotten frame.
    #[test]
    fn headers_alone_are_no_proof_of_the_data_and_the_answer_says_so() {
        let verify = BackupVerifyOutcome {
            headers_only: true,
            frames: 10,
            good_frames: 10,
            ..BackupVerifyOutcome::default()
        };
        let run = fixture::judged();
        assert!(answer(&run, &verify).contains("what is in them was not read"));
        assert!(notes(&verify).iter().any(|note| note.text.contains("nothing about the data")));
        let all = BackupVerifyOutcome { headers_only: false, ..verify };
        assert!(answer(&run, &all).contains("every byte of it was read"), "{}", answer(&run, &all));
    }

    #[test]
    fn a_stripe_that_is_not_there_is_not_called_damage() {
        let run = fixture::judged();
        let missing = BackupDamage { stripe: Some(2), is_missing: true, ..BackupDamage::default() };
        let lost = BackupDamage { is_missing: true, ..BackupDamage::default() };
        let mut verify =
            BackupVerifyOutcome { damage: vec![missing, lost], ..BackupVerifyOutcome::default() };
        let said = answer(&run, &verify);
        assert!(said.contains("NOT WHOLE HERE: 1 stripe is missing; what is there is not damaged"), "{said}");
        let base = BackupDamage { base: Some("0a".into()), is_missing: true, ..BackupDamage::default() };
        let elsewhere = BackupVerifyOutcome { damage: vec![base], ..BackupVerifyOutcome::default() };
        let said = answer(&run, &elsewhere);
        assert!(said.contains("NOT WHOLE HERE: the set that it is based on is not here;"), "{said}");
        verify.damage.push(BackupDamage::default());
        assert!(answer(&run, &verify).contains("DAMAGED in 3 places"));
    }

    /// The story: last month's set was put in the place of yesterday's, and it was whole.
    #[test]
    fn whether_a_whole_backup_is_the_newest_is_said_or_said_to_be_unknown() {
        let run = fixture::judged();
        let mut verify = BackupVerifyOutcome { frames: 1, good_frames: 1, ..BackupVerifyOutcome::default() };
        assert!(answer(&run, &verify).ends_with("cannot be told from it"));
        verify.newest = Newest::Other { set: "0a".into(), because: "run 7 made a newer one".into() };
        assert!(answer(&run, &verify).ends_with("NOT the one that was expected"));
        assert!(notes(&verify)[0].text.contains("run 7 made a newer one"));
        verify.newest = Newest::Older { set: "0b".into(), because: "run #9 made a newer one".into() };
        assert!(answer(&run, &verify).ends_with("NOT the newest one of its source"));
        assert!(notes(&verify)[0].text.contains("run #9 made a newer one, set 0b"));
        for newest in [Newest::Expected, Newest::Known] {
            verify.newest = newest;
            assert!(notes(&verify).is_empty());
        }
    }

    /// The story: a server that only stores backups has no key, and its nightly check said that all was well.
    #[test]
    fn without_the_key_the_answer_says_what_was_not_proved() {
        let verify = BackupVerifyOutcome { without_key: true, ..BackupVerifyOutcome::default() };
        let run = fixture::judged();
        assert!(answer(&run, &verify).contains("WHAT IS IN IT WAS NOT CHECKED"));
        assert!(notes(&verify).iter().any(|note| note.text.contains("Not proved: that the key opens them")));
    }
}
