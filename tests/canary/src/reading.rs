//! A text, and its decodings by one or two encodings.

/// The bytes after decoding.
pub(crate) struct Reading {
    /// The decodings. `hex of escaped` is hex decoded after escapes were decoded.
    pub(crate) form: String,
    pub(crate) text: Vec<u8>,
}

impl Reading {
    /// The bytes themselves, and every decoding that differs from them.
    pub(crate) fn all(bytes: &[u8]) -> Vec<Self> {
        let mut all = vec![Self { form: "plain".to_owned(), text: bytes.to_vec() }];
        let decoded = |form: &str, text: &[u8]| -> Vec<Self> {
            let readings = DECODERS.iter().filter_map(|(name, decode)| {
                let form = if form == "plain" { (*name).to_owned() } else { format!("{form} of {name}") };
                Some(Self { form, text: decode(text)? })
            });
            readings.collect()
        };
        let once = decoded("plain", bytes);
        let twice: Vec<_> = once.iter().flat_map(|reading| decoded(&reading.form, &reading.text)).collect();
        all.extend(once);
        all.extend(twice);
        all
    }
}

/// Returns `None` if there is nothing to decode.
type Decode = fn(&[u8]) -> Option<Vec<u8>>;

const DECODERS: [(&str, Decode); 7] = [
    ("escaped", escapes),
    ("percent-encoded", percent),
    ("entities", entities),
    ("base64", base64),
    ("hex", hex),
    ("list of bytes", list_of_bytes),
    ("utf-16", utf_16),
];

/// Replaces each sequence that begins with this byte and that `read` recognizes. `read` returns its length and its character.
fn rewrite(text: &[u8], first: u8, read: impl Fn(&[u8]) -> Option<(usize, u32)>) -> Option<Vec<u8>> {
    let mut written = Vec::with_capacity(text.len());
    let mut is_changed = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if let Some((length, code)) = (byte == first).then(|| read(&text[at..])).flatten() {
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            written.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            at += length;
            is_changed = true;
        } else {
            written.push(byte);
            at += 1;
        }
    }
    is_changed.then_some(written)
}

/// Escapes of JSON and Rust: `\u0034`, `\u{34}`, `\x34`, `\"`.
fn escapes(text: &[u8]) -> Option<Vec<u8>> {
    rewrite(text, b'\\', |text| match text.get(1)? {
        b'u' if text.get(2) == Some(&b'{') => {
            let end = text.iter().take(12).position(|byte| *byte == b'}')?;
            Some((end + 1, number(&text[3..end], 16)?))
        }
        b'u' => Some((6, number(text.get(2..6)?, 16)?)),
        b'x' => Some((4, number(text.get(2..4)?, 16)?)),
        b'n' | b'r' | b't' => Some((2, b' '.into())),
        b'"' | b'\'' | b'/' | b'\\' => Some((2, text[1].into())),
        _ => None,
    })
}

fn percent(text: &[u8]) -> Option<Vec<u8>> {
    rewrite(text, b'%', |text| Some((3, number(text.get(1..3)?, 16)?)))
}

/// `&#52;` and `&#x34;`.
fn entities(text: &[u8]) -> Option<Vec<u8>> {
    rewrite(text, b'&', |text| {
        let end = text.iter().take(10).position(|byte| *byte == b';')?;
        let code = text[..end].strip_prefix(b"&#")?;
        let code = code.strip_prefix(b"x").map_or_else(|| number(code, 10), |code| number(code, 16))?;
        Some((end + 1, code))
    })
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()
}

/// Decodes every run of base64 letters, of both alphabets, from each of the four possible offsets.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    decoded_runs(
        text,
        4,
        |byte| sextet(byte).is_some(),
        |run, decoded| {
            for start in 0..4.min(run.len()) {
                let mut bits = 0_u32;
                for (index, byte) in run[start..].iter().enumerate() {
                    bits = bits << 6 | u32::from(sextet(*byte).unwrap_or_default());
                    if index % 4 != 0 {
                        // The whole bytes so far end two, four and six bits before the last bit read.
                        decoded.push((bits >> (6 - 2 * (index % 4))).to_le_bytes()[0]);
                    }
                }
                decoded.push(END_OF_RUN);
            }
        },
    )
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// `34323432`, `34 32 34 32`, `34:32:34:32`, `0x34, 0x32`, `\x34\x32`.
fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let joined = without_marks(text);
    let run = |run: &[u8], decoded: &mut Vec<u8>| {
        for start in 0..2 {
            let pairs = run[start..].chunks_exact(2).filter_map(|pair| number(pair, 16));
            decoded.extend(pairs.map(|code| code.to_le_bytes()[0]));
            decoded.push(END_OF_RUN);
        }
    };
    let mut decoded = Vec::new();
    // The text itself is decoded too, because a space may be the end of a word.
    for text in [text, &joined] {
        decoded.extend(decoded_runs(text, 6, |byte| byte.is_ascii_hexdigit(), run).unwrap_or_default());
    }
    (!decoded.is_empty()).then_some(decoded)
}

/// Removes prefixes and separators of hexadecimal bytes.
fn without_marks(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let is_mark = matches!(rest, [b'0' | b'\\', b'x' | b'X', ..]);
        if !is_mark && !matches!(byte, b' ' | b':' | b',' | b'\n') {
            kept.push(byte);
        }
        rest = if is_mark { &rest[2..] } else { after };
    }
    kept
}

fn decoded_runs(
    text: &[u8],
    shortest: usize,
    belongs: impl Fn(u8) -> bool,
    decode: impl Fn(&[u8], &mut Vec<u8>),
) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    for run in text.split(|byte| !belongs(*byte)).filter(|run| run.len() >= shortest) {
        decode(run, &mut decoded);
    }
    (!decoded.is_empty()).then_some(decoded)
}

/// Decodes lists of bytes as `Debug` writes them, on one line or over several.
fn list_of_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let belongs = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b',' | b' ' | b'\n');
    let mut decoded = Vec::new();
    for run in text.split(|byte| !belongs(byte)).filter(|run| run.len() >= 2 * 3) {
        let words = run.split(|byte| !byte.is_ascii_digit()).filter(|word| !word.is_empty());
        let bytes: Vec<u8> = words
            .map(|word| str::from_utf8(word).ok().and_then(|word| word.parse().ok()).unwrap_or(END_OF_RUN))
            .collect();
        if bytes.len() >= 3 {
            decoded.extend(bytes);
            decoded.push(END_OF_RUN);
        }
    }
    (!decoded.is_empty()).then_some(decoded)
}

/// Decodes letters that alternate with zeros, in both byte orders.
fn utf_16(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let mut length = 0;
    for pair in text.windows(2) {
        // The window that begins at the zero byte of a letter adds nothing.
        if pair[0].is_ascii_graphic() && pair[1] == 0 {
            decoded.push(pair[0]);
            length = 0;
        } else if pair[0] != 0 || length > 0 {
            decoded.push(END_OF_RUN);
        } else {
            length += 1;
        }
    }
    decoded.iter().any(|byte| *byte != END_OF_RUN).then_some(decoded)
}

/// Neither a letter nor a digit, so it ends a word.
const END_OF_RUN: u8 = 0xff;
