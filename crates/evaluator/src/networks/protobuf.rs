//! The few pieces of Protocol Buffers that an ONNX file is made of: numbered fields, each a number or a run of bytes.

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 128 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A whole number.
    pub fn number(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value as u64);
        self
    }

    /// A single-precision number.
    pub fn float(mut self, field: u32, value: f32) -> Self {
        self.varint(u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A run of bytes.
    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// A text.
    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message within this one.
    pub fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// The bytes of the whole.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_coded_as_the_format_says() {
        let inner = Message::default().number(1, 150);
        let bytes = Message::default().message(3, &inner).text(2, "ab").number(1, -1).done();
        // The examples of the format's own description, and a negative number in ten bytes.
        assert_eq!(bytes[..9], [0x1a, 3, 8, 0x96, 1, 0x12, 2, b'a', b'b']);
        assert_eq!(bytes[9..], [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }
}
