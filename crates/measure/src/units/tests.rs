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

#[test]
fn what_is_no_size_is_refused_with_what_to_write() {
    for text in ["", "K", "8X", "-1", "1e30T", "99999999999999999999", "1..5K", "NaN"] {
        let error = text.parse::<ByteCount>().unwrap_err().to_string();
        assert!(error.contains("such as 8K"), "{text}: {error}");
    }
    assert!("0".parse::<BlockSize>().is_err());
    assert!("4G".parse::<BlockSize>().is_err());
}

#[test]
fn sizes_are_shown_with_the_largest_unit_that_fits() {
    assert_eq!(ByteCount(8192).to_string(), "8 KiB");
    assert_eq!(ByteCount(1_500_000).to_string(), "1.43 MiB");
    assert_eq!(ByteCount(100).to_string(), "100 B");
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
}

#[test]
fn rates_are_operations_or_bytes_a_second() {
    assert_eq!("1000".parse::<Rate>().unwrap(), Rate::Iops(1000.0));
    assert_eq!("20k".parse::<Rate>().unwrap(), Rate::Iops(20_000.0));
    assert_eq!("200MB/s".parse::<Rate>().unwrap(), Rate::BytesPerSecond(2e8));
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
