//! Event files that TensorBoard reads: records framed by checksums (TFRecord), each one `Event` message of protocol buffers,
//! encoded by hand since a scalar needs only five fields of them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// CRC-32C (Castagnoli), reflected polynomial.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// TFRecord stores checksums turned and shifted, so that the checksum of data with checksums in it is of use.
const MASK_DELTA: u32 = 0xa282_ead8;
/// More than any of our records has; a longer one is damage, not to be read into memory.
const LONGEST: u64 = 1 << 20;

/// The numbers of the fields in TensorBoard's `event.proto` and `summary.proto`.
mod field {
    pub const EVENT_WALL_TIME: u64 = 1;
    pub const EVENT_STEP: u64 = 2;
    pub const EVENT_FILE_VERSION: u64 = 3;
    pub const EVENT_SUMMARY: u64 = 5;
    pub const EVENT_SESSION_LOG: u64 = 7;
    pub const SESSION_LOG_STATUS: u64 = 1;
    pub const SUMMARY_VALUE: u64 = 1;
    pub const VALUE_TAG: u64 = 1;
    pub const VALUE_SIMPLE: u64 = 2;
}

/// How a value is laid out.
mod wire {
    pub const VARINT: u64 = 0;
    pub const FIXED64: u64 = 1;
    pub const BYTES: u64 = 2;
    pub const FIXED32: u64 = 5;
}

/// `SessionLog.SessionStatus.START`.
const SESSION_START: u64 = 1;

/// The first record of every file.
pub(crate) fn version(wall_time: f64) -> Vec<u8> {
    let mut event = Message::event(wall_time, None);
    event.bytes(field::EVENT_FILE_VERSION, b"brain.Event:2");
    framed(&event.0)
}

/// Says that the numbers from `step` on come anew: TensorBoard forgets those it has seen.
pub(crate) fn restart(wall_time: f64, step: u64) -> Vec<u8> {
    let mut session = Message::default();
    session.varint(field::SESSION_LOG_STATUS, SESSION_START);
    let mut event = Message::event(wall_time, Some(step));
    event.bytes(field::EVENT_SESSION_LOG, &session.0);
    framed(&event.0)
}

/// Named numbers of one step.
pub(crate) fn scalars<'a>(wall_time: f64, step: u64, values: impl IntoIterator<Item = (&'a str, f32)>) -> Vec<u8> {
    let mut summary = Message::default();
    for (tag, number) in values {
        let mut value = Message::default();
        value.bytes(field::VALUE_TAG, tag.as_bytes());
        value.key(field::VALUE_SIMPLE, wire::FIXED32);
        value.0.extend(number.to_le_bytes());
        summary.bytes(field::SUMMARY_VALUE, &value.0);
    }
    let mut event = Message::event(wall_time, Some(step));
    event.bytes(field::EVENT_SUMMARY, &summary.0);
    framed(&event.0)
}

/// Cuts a file at the first record that is torn or later than `step`, if there is one.
pub(crate) fn cut(path: &Path, step: Option<u64>) -> io::Result<()> {
    let mut input = BufReader::new(File::open(path)?);
    let (length, mut kept) = (input.get_ref().metadata()?.len(), 0);
    while let Some(event) = next_record(&mut input)? {
        if step_of(&event).is_none_or(|found| Some(found) > step) {
            break;
        }
        kept += framed_length(&event);
    }
    if kept < length { OpenOptions::new().write(true).open(path)?.set_len(kept) } else { Ok(()) }
}

/// A protocol buffer in the making.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn event(wall_time: f64, step: Option<u64>) -> Self {
        let mut event = Self::default();
        event.key(field::EVENT_WALL_TIME, wire::FIXED64);
        event.0.extend(wall_time.to_le_bytes());
        if let Some(step) = step {
            event.varint(field::EVENT_STEP, step);
        }
        event
    }

    fn raw_varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn key(&mut self, field: u64, wire: u64) {
        self.raw_varint(field << 3 | wire);
    }

    fn varint(&mut self, field: u64, number: u64) {
        self.key(field, wire::VARINT);
        self.raw_varint(number);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, wire::BYTES);
        self.raw_varint(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = Vec::with_capacity(data.len() + 16);
    record.extend(length);
    record.extend(masked(crc32c(&length)).to_le_bytes());
    record.extend(data);
    record.extend(masked(crc32c(data)).to_le_bytes());
    record
}

fn framed_length(data: &[u8]) -> u64 {
    data.len() as u64 + 16
}

/// The data of the next record; `None` at the end, or where the rest is torn or damaged.
fn next_record(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let Some(head) = read_exactly(input, 12)? else { return Ok(None) };
    let length = u64::from_le_bytes(head[..8].try_into().unwrap_or_default());
    if masked(crc32c(&head[..8])).to_le_bytes() != head[8..] || length > LONGEST {
        return Ok(None);
    }
    let Some(mut data) = read_exactly(input, length as usize + 4)? else { return Ok(None) };
    let sum = data.split_off(length as usize);
    Ok((masked(crc32c(&data)).to_le_bytes() == *sum).then_some(data))
}

fn read_exactly(input: &mut impl Read, count: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(count);
    input.take(count as u64).read_to_end(&mut bytes)?;
    Ok((bytes.len() == count).then_some(bytes))
}

/// The step of an event, 0 if it has none; `None` if it is no event.
fn step_of(event: &[u8]) -> Option<u64> {
    let mut step = 0;
    let mut rest = event;
    while !rest.is_empty() {
        let (number, value) = next_field(&mut rest)?;
        if let (field::EVENT_STEP, FieldValue::Number(found)) = (number, value) {
            step = found;
        }
    }
    Some(step)
}

/// A field's value as it lies in a message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FieldValue<'m> {
    Number(u64),
    Bytes(&'m [u8]),
}

/// Takes the next field off a message; `None` if it is not well formed.
fn next_field<'m>(rest: &mut &'m [u8]) -> Option<(u64, FieldValue<'m>)> {
    let key = next_varint(rest)?;
    let length = match key & 7 {
        wire::VARINT => return Some((key >> 3, FieldValue::Number(next_varint(rest)?))),
        wire::FIXED64 => 8,
        wire::FIXED32 => 4,
        wire::BYTES => usize::try_from(next_varint(rest)?).ok()?,
        _ => return None,
    };
    let (value, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some((key >> 3, FieldValue::Bytes(value)))
}

fn next_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// A byte at a time: a few hundred bytes a minute ask for no more.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut crc, mut bit) = (byte as u32, 0);
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
                bit += 1;
            }
            table[byte] = crc;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc: u32, byte| crc >> 8 ^ TABLE[(crc as u8 ^ byte) as usize])
}

#[cfg(test)]
mod tests;
