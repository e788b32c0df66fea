//! What is written is read back, and nothing that a stranger wrote makes a reader fail badly.

use iostall_model::backup::SetId;
use proptest::prelude::*;

use super::*;

fn set() -> impl Strategy<Value = SetId> {
    any::<[u8; 16]>().prop_map(SetId)
}

fn keys() -> impl Strategy<Value = Option<WrappedKeys>> {
    let some = (any::<[u8; 32]>(), prop::collection::vec(any::<u8>(), 1..9000));
    prop::option::of(some.prop_map(|(commitment, age)| WrappedKeys { commitment, age }))
}

fn codec() -> impl Strategy<Value = CodecKind> {
    prop_oneof![Just(CodecKind::None), Just(CodecKind::Zstd), Just(CodecKind::Lz4)]
}

prop_compose! {
    fn stripe_header()(
        set in set(), stripe in 0u16..64, more in 1u16..=64, block in 12u32..=16, frame in 16u32..=22, transfer in 1u32..=4,
        created_unix_ns: u64, codec in codec(), level: i32, keys in keys(), base in prop::option::of(set()),
    ) -> StripeHeader {
        StripeHeader {
            set, stripe, stripes: (stripe + more).min(64).max(stripe + 1), block_bytes: 1 << block, frame_bytes: 1 << frame,
            transfer_bytes: (1 << frame) * transfer, created_unix_ns, codec, level, keys,
            base: base.filter(|base| *base != SetId::default()),
        }
    }
}

prop_compose! {
    fn frame_header()(
        set in set(), sequence: u64, file: u64, offset in 0u64..1 << 60, plain_length in 17u32..=1 << 20, codec in codec(),
        is_sealed: bool, kind in 1u8..=5, hashes: (u64, u64), stripe in 0u16..64, shrunk in 1u32..16,
    ) -> FrameHeader {
        let tag = if is_sealed { TAG_BYTES } else { 0 };
        let stored = if codec == CodecKind::None { plain_length } else { plain_length - shrunk };
        FrameHeader {
            kind: FrameKind::from_code(kind).unwrap(), codec, is_sealed, set, sequence, file, offset, plain_length,
            stored_length: stored + tag, plain_hash: hashes.0, stored_hash: hashes.1, stripe,
        }
    }
}

prop_compose! {
    fn record()(header in frame_header(), position: u64) -> IndexRecord {
        IndexRecord::of(&header, position)
    }
}

proptest! {
    #[test]
    fn a_stripe_header_is_read_back_and_a_flipped_bit_of_it_is_noticed(
        header in stripe_header(), at: prop::sample::Index, bit in 0u8..8,
    ) {
        let bytes = header.encode();
        prop_assert_eq!(bytes.len() as u64, header.bytes());
        prop_assert_eq!(StripeHeader::bytes_of(&bytes), Ok(header.bytes()));
        prop_assert_eq!(StripeHeader::decode(&bytes), Ok(header));
        let mut flipped = bytes.clone();
        flipped[at.index(bytes.len())] ^= 1 << bit;
        prop_assert!(StripeHeader::decode(&flipped).is_err());
        prop_assert!(StripeHeader::decode(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn a_frame_header_is_read_back_and_a_flipped_bit_of_it_is_noticed(
        header in frame_header(), at in 0..FRAME_HEADER_BYTES, bit in 0u8..8, stripe in 0u16..64,
    ) {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        header.put(&mut bytes);
        prop_assert_eq!(FrameHeader::decode(&bytes), Ok(header));
        let mut flipped = bytes;
        flipped[at] ^= 1 << bit;
        prop_assert!(FrameHeader::decode(&flipped).is_err());
        prop_assert!(FrameHeader::decode(&bytes[..at]).is_err());
        set_stripe(&mut bytes, stripe);
        prop_assert_eq!(FrameHeader::decode(&bytes), Ok(FrameHeader { stripe, ..header }));
    }

    #[test]
    fn an_index_is_read_back_over_as_many_frames_as_it_takes(records in prop::collection::vec(record(), 0..3000)) {
        let mut left = &records[..];
        let mut read = Vec::new();
        while !left.is_empty() {
            let (plain, rest) = put_index(left, FRAME_BYTES_MIN);
            prop_assert!(plain.len() <= FRAME_BYTES_MIN as usize && rest.len() < left.len());
            read.extend(index_records(&plain).unwrap().map(Result::unwrap));
            prop_assert!(index_records(&plain[..plain.len() - 1]).is_err());
            left = rest;
        }
        prop_assert_eq!(read, records);
    }

    #[test]
    fn a_bundle_gives_back_its_pieces(
        pieces in prop::collection::vec((any::<u64>(), 0u64..1 << 60, prop::collection::vec(any::<u8>(), 1..300)), 0..50),
    ) {
        let table: Vec<_> = pieces
            .iter()
            .map(|(file, offset, data)| Piece { file: *file, offset: *offset, length: u32::try_from(data.len()).unwrap() })
            .collect();
        let mut writer = BundleWriter::default();
        for piece in &table {
            prop_assert_eq!(writer.bytes_with(piece.length), writer.bytes() + 20 + u64::from(piece.length));
            writer.push(*piece);
        }
        let mut plain = vec![0; BundleWriter::table_bytes(table.len())];
        prop_assert_eq!(BundleWriter::put_table(writer.pieces(), &mut plain), plain.len());
        for (_, _, data) in &pieces {
            plain.extend_from_slice(data);
        }
        prop_assert_eq!(plain.len() as u64, writer.bytes());
        let read: Vec<_> = Bundle::decode(&plain).unwrap().pieces().map(|(piece, data)| (piece, data.to_vec())).collect();
        let wanted: Vec<_> = table.into_iter().zip(pieces.into_iter().map(|(_, _, data)| data)).collect();
        prop_assert_eq!(read, wanted);
        plain.push(0);
        prop_assert!(Bundle::decode(&plain).is_err());
    }

    #[test]
    fn a_manifest_header_is_read_back_and_a_flipped_bit_of_it_is_noticed_without_a_key(
        set in set(), keys in keys(), body in prop::collection::vec(any::<u8>(), 17..500), bit in 0u8..8, at: prop::sample::Index,
    ) {
        let header = ManifestHeader { set, keys, plain_length: 900, body_length: body.len() as u64 };
        let head = header.encode();
        prop_assert_eq!(head.len() as u64, header.bytes());
        let mut file = [&head[..], &body, &[7; MANIFEST_HASH_BYTES]].concat();
        prop_assert_eq!(ManifestHeader::decode(&file), Ok(header));
        prop_assert!(ManifestHeader::decode(&file[..file.len() - 1]).is_err());
        file[at.index(head.len())] ^= 1 << bit;
        prop_assert!(ManifestHeader::decode(&file).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused_and_never_more(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = StripeHeader::decode(&bytes);
        let _ = FrameHeader::decode(&bytes);
        let _ = ManifestHeader::decode(&bytes);
        let _ = End::decode(&bytes);
        if let Ok(bundle) = Bundle::decode(&bytes) {
            prop_assert_eq!(bundle.pieces().map(|(_, data)| data.len()).sum::<usize>(), bytes.len() - BundleWriter::table_bytes(bundle.pieces().count()));
        }
        if let Ok(records) = index_records(&bytes) {
            prop_assert!(records.count() * 48 <= bytes.len());
        }
        prop_assert!(entry_lines::<serde_json::Value>(&bytes).count() <= bytes.len());
    }
}

#[test]
fn the_end_of_a_stripe_is_read_back() {
    let end = End {
        frames: 7,
        source_bytes: 1 << 40,
        position: 1 << 20,
        index_position: 1 << 19,
        headers_hash: [9; 32],
    };
    let plain = end.encode();
    assert_eq!(End::decode(&plain), Ok(end));
    assert!(End::decode(&plain[..79]).is_err());
    assert!(End::decode(&[&plain[..], &[0]].concat()).is_err());
    let backwards = End { index_position: (1 << 20) + 1, ..end };
    assert!(End::decode(&backwards.encode()).is_err());
}

/// A header that says "4 GiB, compressed from nothing" must be refused before anybody makes room for it.
#[test]
fn lengths_that_no_writer_makes_are_refused_although_the_checksum_is_right() {
    let header = FrameHeader {
        kind: FrameKind::Data,
        codec: CodecKind::Zstd,
        is_sealed: false,
        set: SetId::default(),
        sequence: 0,
        file: 1,
        offset: 0,
        plain_length: 1 << 20,
        stored_length: 1000,
        plain_hash: 0,
        stored_hash: 0,
        stripe: 0,
    };
    let encoded = |header: FrameHeader| {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        header.put(&mut bytes);
        FrameHeader::decode(&bytes)
    };
    assert_eq!(encoded(header), Ok(header));
    for wrong in [
        FrameHeader { plain_length: 0, ..header },
        FrameHeader { plain_length: u32::MAX, ..header },
        FrameHeader { stored_length: 1 << 20, ..header },
        FrameHeader { stored_length: 0, ..header },
        FrameHeader { offset: u64::MAX - 5, ..header },
        FrameHeader { stripe: 64, ..header },
        FrameHeader { codec: CodecKind::None, ..header },
        FrameHeader { is_sealed: true, stored_length: 16, ..header },
    ] {
        assert!(encoded(wrong).is_err(), "{wrong:?}");
    }
    let manifest =
        ManifestHeader { set: SetId::default(), keys: None, plain_length: 1 << 40, body_length: 20 };
    let file = [&manifest.encode()[..], &[0; 52]].concat();
    assert!(matches!(ManifestHeader::decode(&file), Err(FormatError::Value { .. })));
}

/// A set of a later version would be read as damaged, and its owner would throw it away.
#[test]
fn another_version_is_named_and_not_taken_for_damage() {
    let header = StripeHeader {
        set: SetId::default(),
        stripe: 0,
        stripes: 1,
        block_bytes: 4096,
        frame_bytes: 1 << 20,
        transfer_bytes: 4 << 20,
        created_unix_ns: 0,
        codec: CodecKind::None,
        level: 0,
        keys: None,
        base: None,
    };
    let mut bytes = header.encode();
    bytes[8] = 3;
    let error = StripeHeader::decode(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the header of the stripe has version 3; this program reads versions 1 to 2"
    );
    let manifest = ManifestHeader { set: SetId::default(), keys: None, plain_length: 10, body_length: 20 };
    let mut file = [&manifest.encode()[..], &[0; 52]].concat();
    file[8] = 3;
    assert!(matches!(ManifestHeader::decode(&file), Err(FormatError::Version { found: 3, .. })));
}
