//! Tools that copy: their words are told where ours are written beside them.

use super::answer::Answer;

/// What stands behind the name of a tool.
pub(super) fn of_tool(tool: &str) -> Answer {
    Answer::No(format!("{tool} is `iostall copy` here: docs/copying.md has a table of its options and ours"))
}

/// What stands behind `iostall copy`; `None` where it is nobody's.
pub(super) fn of_copy(words: &[String], has_dash: bool) -> Option<Answer> {
    let is_letters = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic()))
    };
    let is_theirs = |word: &String| word != "-q" && is_letters(word) || is_switch(word);
    (has_dash || words.iter().any(is_theirs)).then(|| {
        let text = "docs/copying.md has a table of the options of cp, rsync, rclone and robocopy, and ours";
        Answer::No(text.to_owned())
    })
}

/// Whether `word` is a switch of robocopy's, which would be read as a path here: its files would go into a directory `/MT:8`.
pub(super) fn is_switch(word: &str) -> bool {
    let Some(switch) = word.strip_prefix('/') else { return false };
    let name = switch.split(':').next().unwrap_or_default().trim_end_matches('+').to_ascii_uppercase();
    #[rustfmt::skip]
    let is_known = matches!(
        name.as_str(),
        "A" | "B" | "BYTES" | "COMPRESS" | "COPY" | "COPYALL" | "CREATE" | "DCOPY" | "DST" | "E" | "ETA" | "FFT" | "FP" | "H" | "I"
            | "IA" | "IF" | "IM" | "IORATE" | "IPG" | "IS" | "IT" | "J" | "K" | "L" | "LEV" | "LOG" | "M" | "MAX" | "MAXAGE"
            | "MAXLAD" | "MIN" | "MINAGE" | "MINLAD" | "MIR" | "MON" | "MOT" | "MOV" | "MOVE" | "MT" | "NDL" | "NFL" | "NJH" | "NJS"
            | "NODCOPY" | "NOOFFLOAD" | "NP" | "PF" | "PURGE" | "QUIT" | "R" | "REG" | "RH" | "S" | "SEC" | "SECFIX" | "SL" | "SPARSE"
            | "TBD" | "TEE" | "THRESHOLD" | "TIMFIX" | "TS" | "UNICODE" | "UNILOG" | "V" | "W" | "X" | "XA" | "XC" | "XD" | "XF"
            | "XJ" | "XJD" | "XJF" | "XL" | "XN" | "XO" | "XX" | "Y" | "Z" | "ZB" | "256"
    );
    is_known
}
