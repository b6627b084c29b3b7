use std::collections::HashMap;

/// Frame types, RFC 9113 §6.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Frame flags. Two of them share the first bit.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Error codes of `RST_STREAM` and `GOAWAY`, RFC 9113 §7.
pub(crate) mod code {
    pub(crate) const NO_ERROR: u32 = 0x0;
    pub(crate) const PROTOCOL_ERROR: u32 = 0x1;
    pub(crate) const INTERNAL_ERROR: u32 = 0x2;
    pub(crate) const STREAM_CLOSED: u32 = 0x5;
    pub(crate) const REFUSED_STREAM: u32 = 0x7;
    pub(crate) const CANCEL: u32 = 0x8;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 0xb;
    pub(crate) const HTTP_1_1_REQUIRED: u32 = 0xd;
}

/// Parameters of `SETTINGS`, RFC 9113 §6.5.2.
pub(crate) mod setting {
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x4;
}

/// The largest payload that either side may send by default. The kit never allows more.
pub(crate) const LARGEST: usize = 16 * 1024;

/// A frame as it is sent.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("the kit's frames are small").to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Status and headers as a header block that changes no table (HPACK, RFC 7541).
pub(crate) fn header_block<'a>(
    status: &str,
    headers: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
) -> Vec<u8> {
    let mut block = Vec::new();
    literal(&mut block, b":status", status.as_bytes());
    for (name, value) in headers {
        literal(&mut block, name, value);
    }
    block
}

/// A literal field that is not added to the table.
pub(crate) fn literal(block: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    block.push(0);
    for text in [name, value] {
        length_prefix(block, text.len());
        block.extend(text);
    }
}

/// An integer with a seven-bit prefix, RFC 7541 §5.1.
fn length_prefix(block: &mut Vec<u8>, length: usize) {
    let small = |value: usize| u8::try_from(value).expect("fewer than eight bits");
    if length < 127 {
        return block.push(small(length));
    }
    block.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        block.push(small(rest % 128) | 0x80);
        rest /= 128;
    }
    block.push(small(rest));
}

/// How many bytes the client accepts, on each stream and in total.
pub(super) struct Windows {
    connection: i64,
    initial: i64,
    streams: HashMap<u32, i64>,
}

impl Default for Windows {
    fn default() -> Self {
        Self { connection: DEFAULT, initial: DEFAULT, streams: HashMap::new() }
    }
}

impl Windows {
    pub(super) fn room(&self, stream: u32) -> usize {
        let stream = self.streams.get(&stream).copied().unwrap_or(self.initial);
        usize::try_from(stream.min(self.connection)).unwrap_or(0)
    }

    pub(super) fn spend(&mut self, stream: u32, bytes: usize) {
        let bytes = i64::try_from(bytes).expect("no frame is so large");
        self.connection -= bytes;
        *self.stream(stream) -= bytes;
    }

    pub(super) fn widen(&mut self, stream: u32, bytes: u32) {
        let window = if stream == 0 { &mut self.connection } else { self.stream(stream) };
        *window += i64::from(bytes);
    }

    /// Changes the window of every stream, including open ones.
    pub(super) fn set_initial(&mut self, bytes: u32) {
        let change = i64::from(bytes) - self.initial;
        self.initial += change;
        self.streams.values_mut().for_each(|window| *window += change);
    }

    fn stream(&mut self, stream: u32) -> &mut i64 {
        self.streams.entry(stream).or_insert(self.initial)
    }
}

/// RFC 9113 §6.9.2.
const DEFAULT: i64 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_independent_decoder_reads_header_blocks() {
        let long = vec![b'x'; 5000];
        let block = header_block("404", [(b"x-long".as_slice(), long.as_slice()), (b"x-empty", b"")]);
        let fields = loona_hpack::Decoder::new().decode(&block).unwrap();
        let expected = [(":status", "404".as_bytes()), ("x-long", &long), ("x-empty", b"")];
        let expected = expected.map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()));
        assert_eq!(fields, expected);
    }
}
