//! Damage in the backup of a PostgreSQL is named as its own tools name it: by relation and block.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde_json::Value;

use super::attacks::words_of;
use super::create::shelves;
use crate::postgres::Postgres;
use crate::support::{Workspace, skip};

const PAGE: u64 = 8192;

/// The JSON of a manifest that is not encrypted, as docs/formats.md says.
fn manifest(path: &Path) -> Value {
    let file = fs::read(path).unwrap();
    let json = zstd::decode_all(&file[128..file.len() - 32]).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn number(frame: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(frame[at..at + 8].try_into().unwrap())
}

/// Where the first data frame of file `file` that is not its beginning stands in a stripe, and the first and last block
/// in it.
fn frame_of(stripe: &[u8], file: u64) -> Option<(usize, u64, u64)> {
    let begins = (0..stripe.len()).step_by(4096);
    begins.filter(|at| stripe[*at..].starts_with(b"IOSF") && stripe[*at + 4] == 1).find_map(|at| {
        let frame = &stripe[at..];
        let (offset, plain) =
            (number(frame, 40), u64::from(u32::from_le_bytes(frame[48..52].try_into().unwrap())));
        (number(frame, 32) == file && offset > 0).then(|| (at, offset / PAGE, (offset + plain - 1) / PAGE))
    })
}

/// As a report shows it, with separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(|group| std::str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(",")
}

/// The story: a verify said that byte 1,183,744 of a stripe was wrong, and nobody could tell which table that was.
#[test]
fn a_damaged_page_and_a_damaged_frame_are_named_with_relation_and_block() {
    let here = Workspace::new();
    let Some(server) = Postgres::made_with(&["-k"]) else {
        return skip("the blocks of a damaged backup", "PostgreSQL 15 is not installed");
    };
    shelves(&here);
    server.sql(include_str!("../sql/backup_relation.sql"));
    let relation = server.value(include_str!("../sql/backup_relation_file.sql"));
    let relation = relation.lines().last().unwrap().to_owned();
    // The disk has lost a page. The server has it in memory and does not know.
    let table = fs::File::options().write(true).open(server.data().join(&relation)).unwrap();
    table.write_all_at(b"rot", 17 * PAGE + 5000).unwrap();
    let url = server.url("postgres", &here.secret("password", "right\n"));
    let create = ["backup", "create", "--frame", "64K", "--to", "b1/pg.iob", "--to", "b2/pg.iob", &url];
    // What was read is whole in the backup, so this is no failure of it.
    let ran = here.run(&[&create[..], &["--json", "b.json"]].concat()).expect_status(0);
    let page = format!("{relation} block 17 has a wrong checksum");
    assert!(words_of(&ran).contains(&page), "{}{}", ran.stdout, ran.stderr);
    let run = here.json("b.json");
    let (checked, bad) = (run["backup"]["pages_checked"].as_u64().unwrap(), &run["backup"]["bad_pages"]);
    assert!((18..100_000).contains(&checked), "{checked}");
    assert!(bad[0].as_str().unwrap().starts_with(&page) && bad.as_array().unwrap().len() == 1, "{bad}");
    let warned: Vec<&Value> =
        run["warnings"].as_array().unwrap().iter().filter(|one| one["code"] == "wrong-pages").collect();
    assert!(warned.len() == 1 && warned[0]["message"].as_str().unwrap().starts_with(&page), "{run}");
    let in_words = format!("{} checked, 1 wrong", grouped(checked));
    assert!(words_of(&ran).contains(&in_words), "{in_words}: {}", ran.stdout);
    // Whoever relies on the backup hears it too.
    let stripes = ["b1/pg.iob", "b2/pg.iob"];
    let verify = [&["backup", "verify"][..], &stripes].concat();
    let said = words_of(&here.run(&verify).expect_status(0));
    assert!(said.contains(&page), "{said}");
    let restore = [&["backup", "restore"][..], &stripes, &["--to", "restored"]].concat();
    let said = words_of(&here.run(&restore).expect_status(0));
    assert!(said.contains(&page), "{said}");

    // A frame of the backup is damaged: all of its blocks are lost.
    let manifest = manifest(&here.path("b1/pg.iob.manifest"));
    let files = manifest["files"].as_array().unwrap();
    let entry = files.iter().find(|file| file["name"] == relation.as_str()).unwrap();
    let file = entry["number"].as_u64().unwrap();
    let mut found = 0;
    for name in stripes {
        let path = here.path(name);
        let whole = fs::read(&path).unwrap();
        let Some((at, first, last)) = frame_of(&whole, file) else { continue };
        found += 1;
        let mut flipped = whole.clone();
        flipped[at + 300] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let said = words_of(&here.run(&verify).expect_status(1));
        let blocks = format!("lost with it: {relation} blocks {first} to {last}");
        assert!(said.contains(&blocks) && said.contains("DAMAGED in 1 place"), "{blocks}: {said}");
        fs::write(&path, &whole).unwrap();
    }
    assert!(found > 0, "{relation} has no frames of its own");
    // With a stripe, all blocks are lost whose frames were on it, and those that shared frames with others.
    fs::remove_file(here.path("b2/pg.iob")).unwrap();
    let said = words_of(&here.run(&["backup", "verify", "b1/pg.iob"]).expect_status(1));
    assert!(said.contains("lost: global/") || said.contains("lost: base/"), "{said}");
}
