//! On a store in memory.

use std::io;
use std::path::Path;
use std::sync::Arc;

use iostall_engine::{
    BufferPool, Completion, Engine, FileIndex, NullEngine, Pages, Request, RequestOp, Wait,
};
use iostall_measure::MonotonicClock;

use crate::{EngineFile, Object, RemoteEngine, hint, is_object, memory};

fn object(address: &str) -> Object {
    Object::at(Path::new(address)).unwrap()
}

/// Bytes of which each says where it stands.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

#[test]
fn an_address_names_a_bucket_and_what_is_in_it() {
    assert!(is_object(Path::new("s3://b/k")) && !is_object(Path::new("/s3://b/k")));
    memory::make("addresses");
    assert_eq!(format!("{:?}", object("s3://addresses/a/b.iob")), "s3://addresses/a/b.iob");
    for wrong in ["s3://", "s3:///a", "s3://addresses/a//b", "/a"] {
        assert!(Object::at(Path::new(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn an_upload_is_invisible_until_it_is_completed_and_gone_if_it_is_not() {
    memory::make("uploads");
    let bytes = content(20 << 20);
    let given_up = object("s3://uploads/a/given-up");
    let upload = given_up.upload(&given_up, None).unwrap();
    assert!(upload.take(0, &bytes[..100]).unwrap() == 100);
    upload.flush().unwrap();
    assert!(!given_up.exists().unwrap());
    drop(upload);
    assert!(!given_up.exists().unwrap());

    let whole = object("s3://uploads/a/whole");
    let upload = whole.upload(&whole, None).unwrap();
    let mut at = 0;
    while at < bytes.len() {
        at += upload.take(at as u64, &bytes[at..bytes.len().min(at + (3 << 20))]).unwrap();
    }
    upload.flush().unwrap();
    assert!(!whole.exists().unwrap());
    upload.complete().unwrap();
    drop(upload);
    let reader = whole.reader().unwrap();
    assert_eq!(reader.bytes(), 20 << 20);
    assert!(reader.read(0, u64::MAX).unwrap() == bytes);
    assert_eq!(reader.read((20 << 20) - 2, 100).unwrap(), bytes[bytes.len() - 2..]);
    assert!(reader.read(20 << 20, 100).unwrap().is_empty());
    assert_eq!(whole.start(100).unwrap(), (bytes[..100].to_vec(), 20 << 20));
    assert_eq!(given_up.start(100).unwrap_err().kind(), io::ErrorKind::NotFound);
    let empty = object("s3://uploads/b/empty");
    empty.put_new(b"", None).unwrap();
    assert_eq!(empty.start(100).unwrap(), (Vec::new(), 0));
    let listed = object("s3://uploads/a").list().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].path, Path::new("s3://uploads/a/whole"));
}

/// Bytes that do not follow those before would silently become another object.
#[test]
fn an_upload_takes_nothing_out_of_order() {
    memory::make("order");
    let target = object("s3://order/a");
    let upload = target.upload(&target, None).unwrap();
    assert_eq!(upload.take(0, b"header").unwrap(), 6);
    assert_eq!(upload.take(7, b"later").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn a_name_is_put_once() {
    memory::make("once");
    let manifest = object("s3://once/a.manifest");
    manifest.put_new(b"first", None).unwrap();
    assert_eq!(manifest.put_new(b"second", None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(manifest.reader().unwrap().read(0, 10).unwrap(), b"first");
    manifest.delete().unwrap();
    manifest.delete().unwrap();
    assert!(!manifest.exists().unwrap());
}

#[test]
fn an_engine_writes_and_reads_objects_beside_files() {
    const EACH: usize = 1 << 20;
    memory::make("engine");
    let target = object("s3://engine/stripe");
    let bytes = content(40 * EACH);
    let (_pool, mut buffers) = BufferPool::new(4, u32::try_from(EACH).unwrap(), Pages::Small).unwrap();
    let upload = Arc::new(target.upload(&target, None).unwrap());
    let files = [EngineFile::Upload(Arc::clone(&upload))];
    let mut engine = RemoteEngine::new(NullEngine::new(5, 0), MonotonicClock::new(), &files);
    let request = |op, at: usize, buffer: iostall_engine::Buffer| Request {
        token: buffer.index(),
        op,
        file: FileIndex(0),
        offset: (at * EACH) as u64,
        length: u32::try_from(EACH).unwrap(),
        buffer: Some(buffer),
    };
    let mut done: Vec<Completion> = Vec::new();
    for at in 0..40 {
        while buffers.is_empty() {
            engine.submit(Wait::ONE, &mut done).unwrap();
            for completion in done.drain(..) {
                assert_eq!(completion.result.unwrap(), u32::try_from(EACH).unwrap());
                buffers.extend(completion.buffer);
            }
        }
        let mut buffer = buffers.pop().unwrap();
        buffer.copy_from_slice(&bytes[at * EACH..(at + 1) * EACH]);
        engine.push(request(RequestOp::Write, at, buffer));
    }
    while engine.in_flight() > 0 {
        engine.submit(Wait::ONE, &mut done).unwrap();
    }
    buffers.extend(done.drain(..).filter_map(|completion| completion.buffer));
    assert_eq!(buffers.len(), 4);
    upload.flush().unwrap();
    upload.complete().unwrap();

    let files = [EngineFile::Object(Arc::new(target.reader().unwrap()))];
    let mut engine = RemoteEngine::new(NullEngine::new(5, 0), MonotonicClock::new(), &files);
    for at in [39, 0, 17] {
        engine.push(request(RequestOp::Read, at, buffers.pop().unwrap()));
    }
    engine.submit(Wait { completions: 3, timeout_ns: None, batch_ns: None }, &mut done).unwrap();
    assert_eq!(done.len(), 3);
    for completion in done {
        let buffer = completion.buffer.unwrap();
        let at = [39, 0, 17].into_iter().find(|at| buffer[..] == bytes[at * EACH..(at + 1) * EACH]);
        assert!(at.is_some());
    }
}

/// `--to abfs://…` was taken for a directory of this machine, with the hint to make it.
#[test]
fn an_address_of_a_store_that_does_not_speak_s3_is_refused_and_no_directory() {
    for address in ["abfs://container/x", "abfss://c@account/x"] {
        assert!(is_object(Path::new(address)));
        let error = Object::at(Path::new(address)).unwrap_err();
        assert!(hint(&error).is_some_and(|hint| hint.contains("s3://BUCKET/NAME")), "{error}");
    }
    assert!(!is_object(Path::new("az:/x")));
}
