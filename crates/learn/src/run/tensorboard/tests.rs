//! What is written is read back here, and compared to a file that TensorBoard's own code wrote.

use super::*;

/// An event as far as we write any.
#[derive(Debug, Default, PartialEq)]
struct Event {
    wall_time: f64,
    step: u64,
    version: Option<String>,
    session_status: Option<u64>,
    scalars: Vec<(String, f32)>,
}

fn fields(mut message: &[u8]) -> Vec<(u64, FieldValue<'_>)> {
    let mut all = Vec::new();
    while !message.is_empty() {
        all.push(next_field(&mut message).expect("well-formed field"));
    }
    all
}

fn scalar(message: &[u8]) -> (String, f32) {
    match fields(message)[..] {
        [(field::VALUE_TAG, FieldValue::Bytes(tag)), (field::VALUE_SIMPLE, FieldValue::Bytes(number))] => {
            (String::from_utf8(tag.to_vec()).unwrap(), f32::from_le_bytes(number.try_into().unwrap()))
        }
        ref other => panic!("{other:?}"),
    }
}

fn event(message: &[u8]) -> Event {
    let mut event = Event::default();
    for (number, value) in fields(message) {
        match (number, value) {
            (1, FieldValue::Bytes(time)) => event.wall_time = f64::from_le_bytes(time.try_into().unwrap()),
            (2, FieldValue::Number(step)) => event.step = step,
            (3, FieldValue::Bytes(version)) => event.version = Some(String::from_utf8(version.to_vec()).unwrap()),
            (5, FieldValue::Bytes(summary)) => {
                event.scalars = fields(summary)
                    .into_iter()
                    .map(|(number, value)| match (number, value) {
                        (1, FieldValue::Bytes(value)) => scalar(value),
                        other => panic!("{other:?}"),
                    })
                    .collect();
            }
            (7, FieldValue::Bytes(log)) => {
                assert_eq!(fields(log).len(), 1);
                event.session_status = match fields(log)[0] {
                    (1, FieldValue::Number(status)) => Some(status),
                    other => panic!("{other:?}"),
                };
            }
            other => panic!("{other:?}"),
        }
    }
    event
}

fn events(mut file: &[u8]) -> Vec<Event> {
    std::iter::from_fn(|| next_record(&mut file).unwrap()).map(|data| event(&data)).collect()
}

/// Two steps, a restart from the first of them, and the second again.
fn example() -> Vec<u8> {
    [
        version(1_700_000_000.0),
        scalars(1_700_000_001.5, 1, [("train/score", 1234.5), ("train/moves", 0.1)]),
        scalars(1_700_000_002.0, 300, [("evaluation/mean", -2.0)]),
        restart(1_700_000_100.0, 2),
        scalars(1_700_000_101.0, 300, [("evaluation/mean", 7.0)]),
        scalars(1_700_000_102.0, u64::from(u32::MAX) + 9, [("evaluation/mean", f32::MAX)]),
    ]
    .concat()
}

/// RFC 3720, appendix B.4, and the check value of the catalogue of CRC algorithms.
#[test]
fn crc32c_is_the_published_one() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    let ascending: Vec<u8> = (0..32).collect();
    assert_eq!(crc32c(&ascending), 0x46dd_794e);
    let descending: Vec<u8> = (0..32).rev().collect();
    assert_eq!(crc32c(&descending), 0x113f_db5c);
    assert_eq!(crc32c(b""), 0);
}

#[test]
fn what_is_written_is_read_back() {
    let found = events(&example());
    assert_eq!(found.len(), 6);
    assert_eq!(
        found[0],
        Event { wall_time: 1_700_000_000.0, version: Some("brain.Event:2".to_owned()), ..Event::default() }
    );
    let scalars = vec![("train/score".to_owned(), 1234.5), ("train/moves".to_owned(), 0.1)];
    assert_eq!(found[1], Event { wall_time: 1_700_000_001.5, step: 1, scalars, ..Event::default() });
    let restart = Event { wall_time: 1_700_000_100.0, step: 2, session_status: Some(1), ..Event::default() };
    assert_eq!(found[3], restart);
    assert_eq!((found[5].step, found[5].scalars[0].1), (4_294_967_304, f32::MAX));
}

/// `example.tfevents` was written by the Python package of TensorBoard 2.21 (its `Event` messages and its `RecordWriter`). Its
/// `EventAccumulator` reads it as train/score 1234.5 and train/moves 0.1 at step 1, evaluation/mean 7 at step 300 (the -2 is
/// purged by the restart) and 3.4e38 at step 4294967304.
#[test]
fn the_bytes_are_those_of_tensorboard_itself() {
    assert_eq!(example(), include_bytes!("../../../tests/data/example.tfevents"));
}

#[test]
fn files_are_cut_at_a_step_and_where_they_are_torn() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("events");
    let steps = |bytes: &[u8]| events(bytes).iter().map(|event| event.step).collect::<Vec<_>>();
    let after_cut = |bytes: &[u8], step| {
        std::fs::write(&path, bytes).unwrap();
        cut(&path, step).unwrap();
        std::fs::read(&path).unwrap()
    };
    let whole = [version(0.0), scalars(1.0, 5, [("a", 1.0)]), scalars(2.0, 6, [("a", 2.0)])].concat();
    assert_eq!(after_cut(&whole, Some(6)), whole);
    assert_eq!(steps(&after_cut(&whole, Some(5))), [0, 5]);
    assert_eq!(steps(&after_cut(&whole, Some(4))), [0]);
    assert!(after_cut(&whole, None).is_empty());
    for length in 0..whole.len() {
        let kept = after_cut(&whole[..length], Some(9));
        assert!(whole.starts_with(&kept) && events(&kept).len() == events(&whole[..length]).len());
        assert_eq!(after_cut(&kept, Some(9)), kept);
    }
    for flipped in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[flipped] ^= 0x10;
        let kept = after_cut(&damaged, Some(9));
        assert!(whole.starts_with(&kept) && kept.len() <= flipped, "{flipped}");
    }
}
