use super::*;

#[test]
fn k_m_g_are_binary_and_kb_mb_gb_decimal() {
    let bytes = |text: &str| text.parse::<ByteCount>().unwrap().0;
    assert_eq!(bytes("8K"), 8192);
    assert_eq!(bytes("8k"), 8192);
    assert_eq!(bytes("1.5GiB"), 3 << 29);
    assert_eq!(bytes("200MB"), 200_000_000);
    assert_eq!(bytes("512"), 512);
    assert_eq!(bytes("4 MiB"), 4 << 20);
}

/// A wrong factor would make files of the wrong size, or wrong rates.
#[test]
fn every_unit_of_a_size_has_its_factor() {
    let bytes = |text: &str| text.parse::<ByteCount>().unwrap().bytes();
    for (units, factor) in [
        (&["", "b", "B"][..], 1),
        (&["k", "K", "kib", "KiB"], 1 << 10),
        (&["m", "M", "MiB"], 1 << 20),
        (&["g", "G", "GiB"], 1 << 30),
        (&["t", "T", "TiB"], 1 << 40),
        (&["p", "P", "PiB"], 1 << 50),
        (&["kb", "KB"], 1_000),
        (&["MB"], 1_000_000),
        (&["GB"], 1_000_000_000),
        (&["TB"], 1_000_000_000_000),
        (&["PB"], 1_000_000_000_000_000),
    ] {
        for unit in units {
            assert_eq!(bytes(&format!("3{unit}")), 3 * factor, "{unit}");
            assert_eq!(bytes(&format!("2.5{unit}")), if factor == 1 { 3 } else { factor * 5 / 2 }, "{unit}");
        }
    }
    assert!((ByteCount(3 << 19).mebibytes() - 1.5).abs() < 1e-12);
}

#[test]
fn what_is_no_size_is_refused_with_what_to_write() {
    for text in ["", "K", "8X", "-1", "1e30T", "99999999999999999999", "1..5K", "NaN"] {
        let error = text.parse::<ByteCount>().unwrap_err().to_string();
        assert!(error.contains("such as 8K"), "{text}: {error}");
    }
    assert!("0".parse::<BlockSize>().is_err());
    assert!("4G".parse::<BlockSize>().is_err());
    assert_eq!("4294967295".parse::<BlockSize>().unwrap().bytes(), u32::MAX);
    assert_eq!("1".parse::<BlockSize>().unwrap().to_string(), "1 B");
    // The message about a block size must not mention other sizes.
    assert!("8X".parse::<BlockSize>().unwrap_err().to_string().contains("below 4 GiB"));
    assert!(BlockSize::new(0).unwrap_err().to_string().contains("below 4 GiB"));
}

#[test]
fn sizes_are_shown_with_the_largest_unit_that_fits() {
    assert_eq!(ByteCount(8192).to_string(), "8 KiB");
    assert_eq!(ByteCount(1_500_000).to_string(), "1.43 MiB");
    assert_eq!(ByteCount(100).to_string(), "100 B");
    assert_eq!(ByteCount(1023).to_string(), "1023 B");
    assert_eq!(ByteCount(1 << 10).to_string(), "1 KiB");
    assert_eq!(ByteCount(1 << 20).to_string(), "1 MiB");
    assert_eq!(ByteCount(3 << 29).to_string(), "1.50 GiB");
    assert_eq!(ByteCount(2 << 40).to_string(), "2 TiB");
    assert_eq!(format!("{:>8}", ByteCount(5)), "     5 B");
}

/// The story: `--rate 100MB/s` came back as 95.37 MiB/s, and the user looked for the other five.
#[test]
fn what_was_typed_in_decimal_units_is_shown_so_with_the_binary_amount() {
    for (typed, shown) in [
        ("64K", "64 KiB"),
        ("1.5GiB", "1.5 GiB"),
        ("100MB", "100 MB (95.37 MiB)"),
        ("2.5TB", "2.5 TB (2.27 TiB)"),
        ("800KB", "800 KB (781.25 KiB)"),
        ("1023", "1023 B"),
        ("0", "0 B"),
        ("1234567", "1.18 MiB"),
    ] {
        assert_eq!(as_typed(typed.parse::<ByteCount>().unwrap().bytes() as f64), shown, "{typed}");
    }
    assert_eq!(Rate::BytesPerSecond(2e8).to_string(), "200 MB/s (190.73 MiB/s)");
    assert_eq!(Rate::BytesPerSecond(77.75e6).to_string(), "77.75 MB/s (74.15 MiB/s)", "a line of 622 Mbit/s");
    // 800 KiB in a whole number of nanoseconds.
    assert_eq!(Rate::BytesPerSecond(99_999_998.7).to_string(), "100 MB/s (95.37 MiB/s)");
    assert_eq!(Rate::BytesPerSecond(200.0 * 1_048_576.0).to_string(), "200 MiB/s");
}

#[test]
fn times_need_their_unit() {
    assert_eq!("10s".parse::<Nanos>().unwrap(), Nanos(10_000_000_000));
    assert_eq!("1h30m".parse::<Nanos>().unwrap(), Nanos(5_400_000_000_000));
    assert_eq!("500ms".parse::<Nanos>().unwrap(), Nanos(500_000_000));
    assert_eq!("0".parse::<Nanos>().unwrap(), Nanos(0));
    assert!("10".parse::<Nanos>().is_err());
    assert!("-10s".parse::<Nanos>().is_err());
    assert_eq!(Nanos(10_000_000_000).to_string(), "10s");
    let half = Nanos::from_seconds(1.5);
    assert_eq!(half.nanos(), 1_500_000_000);
    assert!((half.seconds() - 1.5).abs() < 1e-12 && (half.millis() - 1500.0).abs() < 1e-9);
    assert_eq!((Nanos::from_seconds(-1.0), Nanos::from_seconds(f64::NAN)), (Nanos(0), Nanos(0)));
}

#[test]
fn rates_are_operations_or_bytes_a_second() {
    assert_eq!("1000".parse::<Rate>().unwrap(), Rate::Iops(1000.0));
    assert_eq!("20k".parse::<Rate>().unwrap(), Rate::Iops(20_000.0));
    assert_eq!("200MB/s".parse::<Rate>().unwrap(), Rate::BytesPerSecond(2e8));
    assert_eq!("500 iops".parse::<Rate>().unwrap(), Rate::Iops(500.0));
    assert_eq!("2K IOPS".parse::<Rate>().unwrap(), Rate::Iops(2_000.0));
    assert_eq!(
        (Rate::Iops(500.0).to_string(), Rate::BytesPerSecond(1e6).to_string()),
        ("500 iops".into(), "1 MB/s (976.56 KiB/s)".into())
    );
    assert!((Rate::Iops(500.0).iops(8192.0) - 500.0).abs() < 1e-9);
    assert!((Rate::BytesPerSecond(819_200.0).iops(8192.0) - 100.0).abs() < 1e-9);
    for text in ["inf", "nan", "-5", "0/s"] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
    assert!("0".parse::<Rate>().is_err());
    assert!("fast".parse::<Rate>().is_err());
}

#[test]
fn every_unit_reads_back_what_it_writes() {
    for rate in [Rate::Iops(1234.5), Rate::BytesPerSecond(2e8)] {
        let text = serde_json::to_string(&rate).unwrap();
        assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), rate);
    }
    for nanos in [Nanos(1), Nanos(1_500_000_000), Nanos(90_000_000_000)] {
        let text = serde_json::to_string(&nanos).unwrap();
        assert_eq!(serde_json::from_str::<Nanos>(&text).unwrap(), nanos);
    }
    assert_eq!(serde_json::from_str::<BlockSize>("\"8K\"").unwrap().bytes(), 8192);
    assert_eq!(serde_json::from_str::<BlockSize>("8192").unwrap().bytes(), 8192);
}

#[test]
fn a_share_is_from_nothing_to_all() {
    let percent = |text: &str| text.parse::<Percent>().map(Percent::percent).ok();
    assert_eq!((percent("0"), percent("100%"), percent(" 2.5 % ")), (Some(0.0), Some(100.0), Some(2.5)));
    assert_eq!((percent("100.1"), percent("-1"), percent("nan"), percent("half")), (None, None, None, None));
    assert!((Percent::new(30.0).unwrap().fraction() - 0.3).abs() < 1e-12);
    assert_eq!(Percent::HUNDRED.to_string(), "100 %");
}

#[test]
fn a_number_without_its_quotes_is_read_too_and_a_time_without_its_unit_is_not() {
    assert_eq!(serde_json::from_str::<Percent>("30").unwrap().to_string(), "30 %");
    assert_eq!(serde_json::from_str::<ByteCount>("4096").unwrap(), ByteCount(4096));
    assert!(serde_json::from_str::<Nanos>("10").is_err());
    assert!(serde_json::from_str::<BlockSize>("0").is_err());
}
