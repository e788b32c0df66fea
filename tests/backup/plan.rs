//! `iostall backup plan`.

use crate::support::Workspace;

/// The story: 5 TB at 5 : 1 were to go onto four boards of 320 GB. They hold one backup; the next one needs its room beside it.
#[test]
fn a_plan_says_whether_it_fits_until_when_and_how_long_it_takes() {
    let here = Workspace::new();
    let line = "backup plan --size 5T --ratio 5 --rate 618MiB/s --keep-last 1 --space 1280GB";
    let ran = here.run(&line.split(' ').collect::<Vec<_>>()).expect_status(1);
    for words in ["5 TiB", "1 TiB", "2 h 21 min", "It does NOT fit", "2 TiB are needed in 1 year"] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let line = line.replace("1280GB", "2560GB") + " --json";
    let ran = here.run(&line.split(' ').collect::<Vec<_>>()).expect_status(0);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let last = plan["stages"].as_array().unwrap().last().unwrap();
    assert_eq!((last["kept"].as_u64(), last["needed_bytes"].as_u64()), (Some(1), Some(2 << 40)));
    assert!(plan["full_utc"].is_null(), "{plan}");
}

#[test]
fn what_a_plan_cannot_be_made_from_is_refused_with_an_example() {
    let here = Workspace::new();
    for (options, words) in [
        ("", "--size"),
        ("--size 5T --ratio 0", "such as 2.3"),
        ("--size 5T --growth 20", "20% (a year)"),
        ("--size 5T --keep-within 30", "30d"),
        ("--size 5T --keep-daily 0", "1..=100000"),
        ("--size 5T --every 1", "6h, 1d or 1w"),
        ("--size 5T --every 1min", "hint: a shorter --for, or a longer --every"),
        ("--size 0", "zero"),
    ] {
        let words_typed: Vec<&str> =
            ["backup", "plan"].into_iter().chain(options.split_whitespace()).collect();
        let ran = here.run(&words_typed).expect_status(2);
        assert!(ran.stderr.contains(words), "{options}: {}", ran.stderr);
    }
}
