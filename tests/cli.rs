//! Invalid input: the message says what, where and what to do; exit status 2; nothing is lost.

use std::fs;

use crate::support::Workspace;

#[track_caller]
fn refused(here: &Workspace, arguments: &[&str], words: &[&str]) {
    let ran = here.run(arguments).expect_status(2);
    for word in words {
        assert!(ran.stderr.contains(word), "{arguments:?} should say {word:?}:\n{}", ran.stderr);
    }
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
}

#[test]
fn a_wrong_word_is_answered_with_the_right_ones() {
    let here = Workspace::new();
    refused(&here, &["load", "--preset", "oltpp", "x.dat"], &["oltpp", "oltp"]);
    refused(&here, &["load", "--block-size", "8X", "x.dat"], &["8X", "8K"]);
    refused(&here, &["load", "--duration", "10", "x.dat"], &["10", "10s"]);
    refused(&here, &["load", "--write-pct", "101", "x.dat"], &["101"]);
    refused(&here, &["load", "--caching", "odirect", "x.dat"], &["odirect", "direct"]);
    refused(&here, &["load", "--preset", "oltp", "--block-size", "64K", "x.dat"], &["data", "log", "--role"]);
    refused(&here, &["load", "--target", "tape=x", "x.dat"], &["tape"]);
    assert!(fs::read_dir(here.path(".")).unwrap().all(|entry| entry.unwrap().file_name() != "x.dat"));
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let here = Workspace::new();
    refused(
        &here,
        &["load", "--json", "no/such/dir/o.json", "x.dat"],
        &["no/such/dir", "nothing was measured"],
    );
    refused(&here, &["load", "--json", "-", "--csv", "-", "x.dat"], &["standard output"]);
    assert!(!here.path("x.dat").exists());
}

#[test]
fn a_profile_with_a_mistake_is_told_where_it_is() {
    let here = Workspace::new();
    fs::write(here.path("p.toml"), "name = 'x'\n[[role]]\nname = 'data'\nblocksize = '8K'\n").unwrap();
    refused(&here, &["load", "--profile", "p.toml", "x.dat"], &["p.toml", "blocksize"]);
    refused(&here, &["load", "--profile", "absent.toml", "x.dat"], &["absent.toml"]);
}

#[test]
fn what_is_no_file_or_device_is_refused() {
    let here = Workspace::new();
    refused(&here, &["load", "."], &["directory"]);
    refused(&here, &["load", "/dev/zero"], &["character device"]);
    refused(&here, &["load", "--preset", "oltp", "/dev/zero"], &["character device"]);
}

#[test]
fn a_file_that_would_fill_the_disk_is_refused_with_what_would_fit() {
    let here = Workspace::new();
    refused(&here, &["load", "--size", "1000TiB", "x.dat"], &["free", "would fit"]);
    assert!(!here.path("x.dat").exists());
}

#[test]
fn a_block_that_does_not_fit_its_target_is_refused() {
    let here = Workspace::new();
    fs::write(here.path("small.dat"), vec![1_u8; 4096]).unwrap();
    refused(&here, &["load", "--block-size", "64K", "small.dat"], &["small.dat", "64"]);
}

#[test]
fn help_has_examples_and_presets_print_as_profiles_that_run() {
    let here = Workspace::new();
    let help = here.run(&["load", "--help"]).expect_status(0).stdout;
    assert!(help.contains("Examples:") && help.contains("--overwrite"));
    let toml = here.run(&["profile", "show", "oltp"]).expect_status(0).stdout;
    assert_eq!(here.run(&["presets", "oltp"]).expect_status(0).stdout, toml, "the older name");
    fs::write(here.path("mine.toml"), toml).unwrap();
    here.run(&[
        "load",
        "--profile",
        "mine.toml",
        "--duration",
        "300ms",
        "--warmup",
        "0",
        "--size",
        "64MiB",
        "x.dat",
    ])
    .expect_status(0);
}

/// What fio and DiskSpd were told can be kept as a profile, changed, and run.
#[test]
fn loads_of_other_tools_are_translated_into_profiles_that_run() {
    let here = Workspace::new();
    fs::write(here.path("nightly.fio"), "[data]\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=4\nsize=16m\n")
        .unwrap();
    let line = ["profile", "translate", "--", "diskspd", "-b8K", "-d1", "-o4", "-t2", "-r", "-w30", "t.dat"];
    for (number, words) in [&["profile", "translate", "--fio", "nightly.fio"][..], &line].iter().enumerate() {
        let toml = here.run(words).expect_status(0).stdout;
        assert!(toml.contains("block-size = \"8K\"") && toml.contains("write-pct = 30"), "{toml}");
        let name = format!("{number}.toml");
        fs::write(here.path(&name), toml).unwrap();
        let data = format!("{number}.dat");
        let run =
            ["load", "--profile", &name, "--size", "16MiB", "--duration", "200ms", "--warmup", "0", &data];
        here.run(&run).expect_status(0);
    }
    assert!(!here.path("t.dat").exists(), "translating makes no file");
    here.run(&["profile", "translate"]).expect_status(2);
}
