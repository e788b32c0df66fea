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
        ("", "the store knows of no backup"),
        ("", "--size"),
        ("/srv/nothing", "no backup of /srv/nothing"),
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

/// The story: every figure of the plan was in the runs already, and was typed from them by hand.
#[test]
fn a_plan_takes_its_figures_from_the_backups_that_were_made() {
    let here = Workspace::new();
    for name in ["shop", "other"] {
        std::fs::write(here.path(name), crate::copy::content(2_000_000)).unwrap();
    }
    for number in ["1", "2"] {
        let to = format!("shop-{number}.iob");
        here.run(&["backup", "create", "--compress", "none", "--to", &to, "shop"]).expect_status(0);
    }
    here.run(&["backup", "restore", "shop-2.iob", "--to", "restored"]).expect_status(0);
    let ran = here.run(&["backup", "plan", "--keep-daily", "7", "--json"]).expect_status(0);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(plan["input"]["size_bytes"], 2_000_000, "{plan}");
    let is_rate = |rate: &serde_json::Value| rate.as_f64().is_some_and(|rate| rate > 0.0);
    assert!(
        is_rate(&plan["input"]["backup_bytes_per_s"]) && is_rate(&plan["input"]["restore_bytes_per_s"]),
        "{plan}"
    );
    assert_eq!(plan["taken_from"]["backups"], 2);
    // What is typed counts first.
    let typed = ["backup", "plan", "shop", "--ratio", "5", "--rate", "100MB/s", "--json"];
    let ran = here.run(&typed).expect_status(0);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&plan["input"]["ratio"], &plan["input"]["backup_bytes_per_s"]), (&5.0.into(), &100e6.into()));
    // Two sources give no one answer.
    here.run(&["backup", "create", "--to", "other.iob", "other"]).expect_status(0);
    let ran = here.run(&["backup", "plan"]).expect_status(2);
    assert!(ran.stderr.contains("several sources") && ran.stderr.contains(": other"), "{}", ran.stderr);
    let ran = here.run(&["backup", "plan", "shop"]).expect_status(0);
    assert!(ran.stdout.contains("2 backups from ") && ran.stdout.contains("--growth"), "{}", ran.stdout);
}
