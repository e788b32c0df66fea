use super::*;

#[test]
fn a_small_language_reads_back_what_it_writes() {
    for text in ["all", "0%..90%", "1073741824..", "0..67108864", "10%..2097152"] {
        assert_eq!(text.parse::<Region>().unwrap().to_string(), text);
    }
    for text in ["8K", "8K:80,64K:20", "512", "1M"] {
        assert_eq!(text.parse::<BlockMix>().unwrap().to_string(), text);
    }
    for text in ["uniform", "zipf:0.99", "hot:90/10", "ranges:50/10,30/20,20/70", "spans:90/1073741824,10/0"]
    {
        assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_to_write() {
    for text in ["", "90%", "a..b", "..150%"] {
        assert!(text.parse::<Region>().unwrap_err().to_string().contains("0%..90%"), "{text}");
    }
    for text in ["", "8K:0", "8K:-1", "8K,,"] {
        assert!(text.parse::<BlockMix>().is_err(), "{text}");
    }
    for text in [
        "zipf",
        "zipf:0",
        "zipf:nan",
        "hot:90",
        "hot:90/0",
        "ranges:50/10",
        "spans:90/1G",
        "spans:50/0,50/1G",
        "pareto",
    ] {
        assert!(text.parse::<Distribution>().is_err(), "{text}");
    }
}

#[test]
fn a_region_is_cut_from_the_target_it_meets() {
    let region: Region = "50%..".parse().unwrap();
    assert_eq!(region.range_in(1000), (500, 1000));
    let region: Region = "0..10K".parse().unwrap();
    assert_eq!(region.range_in(1000), (0, 1000));
}

#[test]
fn a_profile_needs_little_and_an_unknown_word_is_refused() {
    let text = "name = 'tiny'\n[[spans]]\n[[spans.roles]]\nname = 'data'\nblock-size = '8K'\n";
    let profile: Profile = toml::from_str(text).unwrap();
    assert_eq!(profile.spans[0].roles[0].queue_depth, 1);
    let in_bytes = text.replace("'8K'", "8192");
    assert_eq!(toml::from_str::<Profile>(&in_bytes).unwrap(), profile);
    let wrong = text.replace("block-size", "blocksize");
    assert!(toml::from_str::<Profile>(&wrong).unwrap_err().to_string().contains("blocksize"));
}
