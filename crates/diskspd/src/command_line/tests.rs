use proptest::prelude::*;

use super::*;
use crate::profile::{Access, CacheMode, CpuAssignment, DiskspdTimeSpan, Throughput, WriteBuffer};
use crate::validate::Violation;
use crate::xml::write_profile;
use crate::{Distribution, EXIT_REJECTED, arbitrary, to_command_line};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn read(args: &[String]) -> Result<Parsed, CommandLineError> {
    parse(args, &Surroundings { exists: &|path| path == "/d10" || path == "#7", clock_seed: 4711 })
}

fn run(line: &str) -> Request {
    match read(&words(line)) {
        Ok(Parsed::Run(request)) => *request,
        other => panic!("{line}: {other:?}"),
    }
}

fn span(line: &str) -> DiskspdTimeSpan {
    run(line).profile.time_spans.remove(0)
}

fn target(line: &str) -> DiskspdTarget {
    span(line).targets.remove(0)
}

fn error(line: &str) -> CommandLineError {
    read(&words(line)).expect_err(line)
}

fn violations(line: &str) -> Vec<Violation> {
    match error(line) {
        CommandLineError::Invalid(violations) => violations,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_command_lines_of_the_articles_mean_what_their_authors_meant() {
    for (line, threads, depth, block, write_pct) in [
        ("-d15 -o32 -t2 -b64K -h -r -L -w0 F", 2, 32, 64, 0),
        ("-d15 -o32 -t4 -b64K -h -r -L -w0 F", 4, 32, 64, 0),
        ("-d15 -o32 -t2 -b64K -h -s -L -w0 F", 2, 32, 64, 0),
        ("-d15 -o1 -t1 -b60K -h -s -L -w100 F", 1, 1, 60, 100),
        ("-d15 -o32 -t4 -b512K -h -si -L -w0 F", 4, 32, 512, 0),
    ] {
        let span = span(line);
        assert_eq!((span.duration_s, span.warmup_s, span.cooldown_s), (15, 5, 0), "{line}");
        assert!(span.measure_latency && !span.iops_stdev, "{line}");
        let target = &span.targets[0];
        assert_eq!((target.threads_per_file, target.request_count), (threads, depth), "{line}");
        assert_eq!((target.block_bytes, target.write_pct), (block << 10, write_pct), "{line}");
        assert_eq!((target.cache_mode, target.write_through), (CacheMode::NoOsCache, true), "{line}");
        let step = u64::from(block) << 10;
        let expected = match line {
            _ if line.contains("-r ") => {
                Access::Random { align_bytes: step, random_pct: 100, distribution: None }
            }
            _ => Access::Sequential { stride_bytes: step, interlocked: line.contains("-si") },
        };
        assert_eq!(target.access, expected, "{line}");
    }
}

#[test]
fn nothing_but_a_target_gives_diskspds_defaults() {
    let request = run("data.dat");
    let mut expected = DiskspdTimeSpan::default();
    expected.targets.push(DiskspdTarget::new("data.dat"));
    assert_eq!(request.profile.time_spans, [expected]);
    assert_eq!((request.profile.result_formats, request.profile_only), (ResultFormats::TEXT, false));
    assert_eq!((request.warnings, request.unsupported), (vec![], vec![]));
}

/// The Linux port kept an alignment of 64K whatever `-b` said, so that "4K random" touched one block in 16.
#[test]
fn the_random_alignment_follows_the_block_size_wherever_it_stands() {
    assert_eq!(target("-b4K -r F").access.step_bytes(), 4096);
    assert_eq!(target("-r -b4K F").access.step_bytes(), 4096);
    assert_eq!(target("-r512 -b4K F").access.step_bytes(), 512);
    assert_eq!(target("-s2b -b4K F").access.step_bytes(), 8192);
    assert_eq!(target("-T4b -t2 -b8K F").thread_stride_bytes, 32768);
}

#[test]
fn a_slash_begins_an_option_only_where_it_cannot_be_a_path() {
    assert_eq!(span("/d20 /b8K /Sh /r /L F").duration_s, 20);
    assert_eq!(span("/d20 /data").targets[0].path, "/data");
    for path in ["/tmp", "/srv/b4K", "/dev/sdb", "/home", "/run", "/b4Kx", "/etc", "/d10", "/r/s", "/"] {
        assert_eq!(target(&format!("-d1 {path}")).path, path);
    }
    assert_eq!(read(&words("/?")), Ok(Parsed::Usage));
}

#[test]
fn an_option_behind_a_target_is_refused_with_its_likely_cause() {
    let error = error("-b 4K -r F");
    assert_eq!(
        error.to_string(),
        "parameters (-r) must come before targets on the command line; a value follows its option without a blank: write -b4K"
    );
    assert_eq!(EXIT_REJECTED, 3);
    assert_eq!(read(&[]), Err(CommandLineError::NoArguments));
    assert!(
        matches!(read(&words("-d1")), Err(CommandLineError::Invalid(found)) if found == [Violation::NoTargets])
    );
}

#[test]
fn the_caching_letters_combine_as_the_table_says() {
    use CacheMode::{Cached, NoOsCache};
    for (options, mode, write_through) in [
        ("", Cached, false),
        ("-Sb", Cached, false),
        ("-S", NoOsCache, false),
        ("-Su", NoOsCache, false),
        ("-Sw", Cached, true),
        ("-Sbw", Cached, true),
        ("-Suw", NoOsCache, true),
        ("-Swu", NoOsCache, true),
        ("-Su -Sw", NoOsCache, true),
        ("-Sh", NoOsCache, true),
        ("-h", NoOsCache, true),
    ] {
        let target = target(&format!("{options} F"));
        assert_eq!((target.cache_mode, target.write_through), (mode, write_through), "{options}");
    }
    for options in ["-Sbu", "-Shw", "-Su -Sb", "-h -Su", "-S -S", "-Sh -h", "-Sww", "-Sruw"] {
        assert!(matches!(error(&format!("{options} F")), CommandLineError::Conflict { .. }), "{options}");
    }
    assert!(matches!(error("-Sq F"), CommandLineError::BadValue { .. }));
}

#[test]
fn a_rate_is_not_cut_off_and_does_not_wrap() {
    assert_eq!(target("-g100000i -b64K F").throughput, Some(Throughput::Iops(100_000.0)));
    assert_eq!(target("-g1i -b512 F").throughput, Some(Throughput::Iops(1.0)));
    assert_eq!(target("-g0.5i F").throughput, Some(Throughput::Iops(0.5)));
    assert_eq!(target("-g8589934592 F").throughput, Some(Throughput::BytesPerMs(8_589_934_592.0)));
    for line in ["-g F", "-g0 F", "-gi F", "-g-1 F", "-ginf F", "-g1e5 F", "-g10k F"] {
        assert!(matches!(error(line), CommandLineError::BadValue { .. }), "{line}");
    }
}

#[test]
fn both_reports_can_be_had_from_one_run() {
    assert_eq!(run("-Rtext,xml F").profile.result_formats, ResultFormats::BOTH);
    assert_eq!(run("-Rxml F").profile.result_formats, ResultFormats::XML);
    let profile_only = run("-Rpxml F");
    assert!(profile_only.profile_only && profile_only.profile.result_formats == ResultFormats::XML);
    assert!(run("-Rp F").profile_only);
    assert!(matches!(error("-Rjson F"), CommandLineError::BadValue { .. }));
}

#[test]
fn a_bare_w_means_no_writes_and_is_told() {
    let request = run("-w F");
    assert_eq!(request.profile.time_spans[0].targets[0].write_pct, 0);
    assert!(request.warnings[0].contains("-w0"));
    assert!(matches!(error("-w101 F"), CommandLineError::BadValue { .. }));
}

#[test]
fn letters_behind_a_count_are_dropped_as_diskspd_does_but_not_silently() {
    let request = run("-d10x F");
    assert_eq!(request.profile.time_spans[0].duration_s, 10);
    assert!(request.warnings[0].contains("'x' is not part of the number"));
    assert!(matches!(error("-dx F"), CommandLineError::BadValue { .. }));
    let request = run("-Dxyz F");
    assert_eq!(request.profile.time_spans[0].bucket_ms, 1000);
    assert!(request.profile.time_spans[0].iops_stdev && request.warnings[0].contains("1000 ms"));
    assert_eq!(span("-D250 F").bucket_ms, 250);
}

#[test]
fn a_range_has_one_beginning_and_one_end() {
    let with_range = target("-B1G:2G F");
    assert_eq!((with_range.base_bytes, with_range.max_bytes), (1 << 30, 3 << 30));
    let with_end = target("-B1G -f4G F");
    assert_eq!((with_end.base_bytes, with_end.max_bytes), (1 << 30, 4 << 30));
    assert!(matches!(error("-B1G:2G -f4G F"), CommandLineError::Conflict { .. }));
    assert!(matches!(error("-B1G -B2G F"), CommandLineError::Conflict { .. }));
    assert_eq!(
        violations("-B2G -f1G F"),
        [Violation::EmptyRange { base_bytes: 2 << 30, max_bytes: 1 << 30 }]
    );
    let hints = target("-frs F");
    assert!(hints.random_access && hints.sequential_scan && !hints.temporary_file && hints.max_bytes == 0);
}

#[test]
fn access_options_exclude_each_other_as_in_diskspd() {
    for line in ["-r -r F", "-s -s F", "-s -r F", "-si -rs50 F", "-rs50 -rs50 F", "-rdpct50/50 F"] {
        assert!(matches!(error(line), CommandLineError::Conflict { .. }), "{line}");
    }
    for line in ["-r0 F", "-rs0 F", "-rs101 F", "-r -rdpct50 F"] {
        assert!(matches!(error(line), CommandLineError::BadValue { .. }), "{line}");
    }
    let mixed = target("-rs30 -r4K -rdpct90/10:10/90 F").access;
    let distribution = Distribution::parse("pct90/10:10/90", 65536).ok();
    assert_eq!(mixed, Access::Random { align_bytes: 4096, random_pct: 30, distribution });
    assert_eq!(target("-s0 F").access, Access::Sequential { stride_bytes: 0, interlocked: false });
}

#[test]
fn illegal_combinations_are_named() {
    use Violation as V;
    for (line, expected) in [
        ("-n -a0,1 F", V::PinnedAndNot),
        ("-F2 -t2 F", V::PoolAndThreads),
        ("-g100 -x F", V::RateWithRoutines),
        ("-i10 F", V::HalfBurst),
        ("-j10 F", V::HalfBurst),
        ("-O4 F", V::DepthWithoutPool),
        ("-F2 -O4 -g100 F", V::WithPoolDepth { option: "-g" }),
        ("-F2 -O4 -i1 -j1 F", V::WithPoolDepth { option: "-i/-j" }),
        ("-F2 -O4 -p F", V::WithPoolDepth { option: "-p" }),
        ("-r -T1M -t2 F", V::RandomWith { option: "-T" }),
        ("-rs50 -p F", V::RandomWith { option: "-p" }),
        ("-si -T1M -t2 F", V::InterlockedWith { option: "-T" }),
        ("-si -p F", V::InterlockedWith { option: "-p" }),
        ("-T1M F", V::StrideOfOneThread),
        ("-Z4K F", V::ShortWriteBuffer { buffer_bytes: 4096, block_bytes: 65536 }),
        ("-Sm -Su F", V::MappedWith { option: "-Su, -Sh or -Sr" }),
        ("-Sm -x F", V::MappedWith { option: "-x" }),
        ("-Nv F", V::FlushWithoutMap),
    ] {
        assert_eq!(violations(line), [expected], "{line}");
    }
}

#[test]
fn doubtful_combinations_run_with_a_warning() {
    for (line, part) in [
        ("-t2 F", "consider -si"),
        ("-si F", "no effect with a single thread"),
        ("-p -o1 F", "-o1"),
        ("-i5 -j5 -g100 F", "ignored because -g"),
        ("-Zr -Z -w50 F", "-Zr is ignored"),
        ("-Z F", "without writes"),
    ] {
        let request = run(line);
        assert!(
            request.warnings.iter().any(|warning| warning.contains(part)),
            "{line}: {:?}",
            request.warnings
        );
    }
}

#[test]
fn what_linux_lacks_is_refused_or_told_by_name() {
    for (line, part) in [
        ("-eDISK_IO F", "ETW"),
        ("-yrgo F", "Windows events"),
        ("-Sr F", "-Su (O_DIRECT)"),
        ("-Sm F", "memory-mapped"),
        ("-Smw -Nv F", "memory-mapped"),
        ("-ag1,0 F", "processor group"),
        ("#0", "physical drive"),
        ("D:", "volume"),
        (r"C:\io\t.dat", "below the mount point"),
        (r"\\srv\share\t.dat", "mount the share"),
        (r"\\.\PhysicalDrive1", "lsblk"),
    ] {
        let error = error(line);
        assert!(
            matches!(error, CommandLineError::Refused(_)) && error.to_string().contains(part),
            "{line}: {error}"
        );
    }
    assert_eq!(target("#7").path, "#7");
    for (line, part) in [
        ("-x F", "completion routines"),
        ("-I1 F", "ionice"),
        ("-l F", "large pages"),
        ("-frt F", "-frt: open hints"),
        ("-:1 F", "experiments"),
        ("-vs F", "wait statistics"),
    ] {
        let named: Vec<String> = run(line).unsupported.iter().map(ToString::to_string).collect();
        assert!(named.len() == 1 && named[0].contains(part), "{line}: {named:?}");
    }
}

#[test]
fn letters_without_a_meaning_are_refused() {
    for letter in "AEGHJkKmMqQuUVY".chars() {
        let line = format!("-{letter} F");
        assert_eq!(error(&line), CommandLineError::UnknownOption { option: format!("-{letter}") });
    }
    for line in ["- F", "--what F", "-é F"] {
        assert!(error(line).to_string().starts_with("invalid option"), "{line}");
    }
}

#[test]
fn processors_are_listed_in_the_order_given_and_added_up() {
    let cpu = |group, processor| CpuAssignment { group, processor };
    assert_eq!(span("-a0,2 -a1 F").affinity, [cpu(0, 0), cpu(0, 2), cpu(0, 1)]);
    assert_eq!(span("-a F").affinity, []);
    assert_eq!(span("-ag F").affinity, []);
    assert_eq!(span("-ag0,0,3 F").affinity, [cpu(0, 0), cpu(0, 3)]);
    for line in ["-ag0 F", "-a256 F", "-a0,, F", "-ag0,g1,2 F", "-ax F"] {
        assert!(matches!(error(line), CommandLineError::BadValue { .. }), "{line}");
    }
}

#[test]
fn write_buffers_and_seeds_are_read() {
    assert_eq!(target("-Z -w100 F").write_buffer, WriteBuffer::Zero);
    let from_file = WriteBuffer::Random { bytes: 1 << 20, file: Some("a,b.bin".into()) };
    assert_eq!(target("-Z1M,a,b.bin -w100 F").write_buffer, from_file);
    assert!(span("-Zr -w100 F").random_write_data);
    assert_eq!(span("-z F").seed, 4711);
    assert_eq!(span("-z7 F").seed, 7);
    assert_eq!((span("-z-1 F").seed, span("-z+5 F").seed), (u32::MAX, 5));
    for line in ["-z7x F", "-z- F", "-z--1 F", "-z4294967296 F"] {
        assert!(matches!(error(line), CommandLineError::BadValue { .. }), "{line}");
    }
}

/// DiskSpd accepts all of these, but we used to refuse them.
#[test]
fn what_diskspd_overlooks_is_overlooked_and_told() {
    let request = run("-L,foo F");
    assert!(request.profile.time_spans[0].measure_latency);
    assert!(request.warnings[0].contains("',foo' has no effect"), "{:?}", request.warnings);
    assert!(target("-hx F").write_through);
    assert_eq!(run("-P0 F").profile.progress, run("-P F").profile.progress);
    assert_eq!(run("-Pall F").profile.progress, 65_536);
    assert_eq!(target("-f0 F").max_bytes, 0);
    assert!(matches!(error("-B0:1G -f0 F"), CommandLineError::Conflict { .. }));
    // DiskSpd refuses a stride of zero; we used to treat it as absent.
    assert!(matches!(error("-T0 -t2 F"), CommandLineError::BadValue { .. }));
}

#[test]
fn the_letters_of_the_linux_port_are_answered_with_diskspds() {
    for (line, part) in [
        ("-Sd F", "write -Su"),
        ("-Ss F", "write -Sw"),
        ("-Sds F", "write -Suw"),
        ("-Zz F", "write -Z"),
        ("-Zs F", "leave it out"),
        ("-a0-3 F", "-a0,1,2,3"),
    ] {
        assert!(error(line).to_string().contains(part), "{line}: {}", error(line));
    }
    let request = run("-xk F");
    assert!(!request.profile.time_spans[0].completion_routines);
    assert!(request.warnings[0].contains("--engine uring"), "{:?}", request.warnings);
    assert!(span("-x F").completion_routines);
}

/// Pasted from an article, with typographic dashes and the program's name.
#[test]
fn what_is_pasted_from_a_web_page_is_read_as_it_was_meant() {
    let request = run("diskspd.exe –d15 —b8K \u{2212}r –t2 F");
    let span = &request.profile.time_spans[0];
    assert_eq!(
        (span.duration_s, span.targets[0].block_bytes, span.targets[0].threads_per_file),
        (15, 8192, 2)
    );
    assert_eq!(request.warnings.len(), 5, "{:?}", request.warnings);
    assert!(request.warnings[1].contains("is read as -d15"), "{:?}", request.warnings);
    assert_eq!(target(r".\diskspd.exe -d1 F").path, "F");
    assert_eq!(target("-d1 diskspd").path, "diskspd");
    assert_eq!(target("diskspd").path, "diskspd", "alone it can only be a target");
    for word in ["-?", "-help", "--help", "–?"] {
        assert_eq!(read(&words(word)), Ok(Parsed::Usage), "{word}");
    }
}

#[test]
fn letters_that_are_easily_taken_for_another_get_a_hint() {
    assert!(error("-T4 F").hint().unwrap().contains("-t4"));
    assert!(error("-f4 F").hint().unwrap().contains("-f4G"));
    assert_eq!(error("-n -a0 F").hint(), None);
}

/// XML cannot represent such a path, so the report of its run could not be printed again.
#[test]
fn a_path_that_xml_cannot_name_is_refused() {
    let words = ["-d1".to_owned(), "a\u{1}b".to_owned()];
    let error = read(&words).unwrap_err().to_string();
    assert!(error.contains(r"a\u{1}b"), "{error}");
    assert!(matches!(read(&["a\tb\nc".to_owned()]), Ok(Parsed::Run(_))));
}

#[test]
fn an_xml_profile_takes_only_what_it_may_and_fills_its_templates() {
    let mut profile = run("-r -w30 -t2 F").profile;
    profile.time_spans[0].targets[0].path = "*1".into();
    let xml = write_profile(&profile);
    let Ok(Parsed::ProfileFile(file)) = read(&words("-Xp.xml -d3 -W0 -z9 -Rxml data.dat")) else { panic!() };
    assert_eq!(file.path, "p.xml");
    let request = file.apply(xml.as_bytes()).unwrap();
    let span = &request.profile.time_spans[0];
    assert_eq!((span.duration_s, span.warmup_s, span.seed), (3, 0, 9));
    assert_eq!((span.targets[0].path.as_str(), span.targets[0].write_pct), ("data.dat", 30));
    assert_eq!(request.profile.result_formats, ResultFormats::XML);

    let open = |line: &str| match read(&words(line)) {
        Ok(Parsed::ProfileFile(file)) => file.apply(xml.as_bytes()),
        other => panic!("{other:?}"),
    };
    let unfilled = CommandLineError::Invalid(vec![Violation::OpenTemplate { path: "*1".into() }]);
    assert_eq!(open("-Xp.xml"), Err(unfilled));
    assert!(open("-Xp.xml -Rp").is_ok());
    assert_eq!(open("-Xp.xml a b"), Err(CommandLineError::TargetWithoutTemplate { path: "b".into() }));
    for line in ["-Xp.xml -b4K", "-Xp.xml -t2 F", "-Xp.xml -Xq.xml"] {
        assert!(matches!(error(line), CommandLineError::Conflict { .. }), "{line}");
    }
}

/// Found by fuzzing: the path was taken for an option when the words were read back.
#[test]
fn a_target_that_looks_like_an_option_is_spelled_because_it_exists() {
    let profile = run("-d1 /d10").profile;
    assert_eq!(profile.time_spans[0].targets[0].path, "/d10");
    assert!(to_command_line(&profile).is_some());
}

/// Found by fuzzing: such a profile is larger than the reader of profiles takes.
#[test]
fn words_and_targets_without_end_are_refused() {
    assert_eq!(read(&["x".repeat(WORD_BYTES_MAX + 1)]), Err(CommandLineError::TooLarge));
    assert_eq!(read(&vec!["x".to_owned(); TARGETS_MAX + 1]), Err(CommandLineError::TooLarge));
    let Ok(Parsed::Run(largest)) = read(&vec!["&".repeat(WORD_BYTES_MAX / 4); TARGETS_MAX]) else { panic!() };
    assert!(read_profile(write_profile(&largest.profile).as_bytes()).is_ok());
}

proptest! {
    #[test]
    fn a_command_line_survives_the_way_through_xml_and_back_into_words(words in arbitrary::words()) {
        if let Ok(Parsed::Run(request)) = read(&words) {
            let xml = write_profile(&request.profile);
            prop_assert_eq!(&read_profile(xml.as_bytes()).unwrap(), &request.profile);
            let words = to_command_line(&request.profile).expect("what came from a command line can be said in one");
            let Ok(Parsed::Run(again)) = read(&words) else { panic!("{words:?}") };
            prop_assert_eq!(again.profile, request.profile);
        }
    }

    #[test]
    fn what_can_be_spelled_reads_back_the_same(profile in arbitrary::profile()) {
        if let Some(words) = to_command_line(&profile) {
            let Ok(Parsed::Run(again)) = read(&words) else { panic!("{words:?}") };
            prop_assert_eq!(again.profile, profile);
        }
    }

    #[test]
    fn no_words_make_the_parser_panic(words in prop::collection::vec("[-/]?.{0,12}", 0..6)) {
        let _ = read(&words);
    }

    #[test]
    fn no_option_value_makes_the_parser_panic(
        words in prop::collection::vec("-[?:a-zA-Z][0-9KMGTbigsru:,/.xpctdab]{0,10}", 0..6),
    ) {
        let _ = read(&words);
    }
}
