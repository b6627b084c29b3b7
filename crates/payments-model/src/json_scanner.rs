//! Checking JSON and taking it apart in one pass, and nothing else: no number and no text is made of anything.
//!
//! An answer's members are wanted as they are written. For that `serde_json` would go over the text twice and take three times
//! as long, and the difference was a sixth of a whole payment. It stays the judge: the tests put the same texts to both, every
//! short one and many long ones.

use crate::json::Json;

/// A text of which it becomes known, from its beginning on, whether it is JSON.
#[derive(Clone)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// The text is not JSON; here is the byte at which it stops being so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson {
    pub(crate) at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What comes next that is no white space; 0, which is no JSON, at the end.
    pub(crate) fn peek(&mut self) -> u8 {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.byte()
    }

    /// Goes past this mark if it is next.
    pub(crate) fn take(&mut self, mark: u8) -> bool {
        let is_next = self.peek() == mark;
        // Not `+= usize::from(is_next)`, which Rust 1.95 makes `+= 0` with optimization (rust-lang/rust#158206).
        if is_next {
            self.at += 1;
        }
        is_next
    }

    /// Goes past the mark that was seen.
    pub(crate) fn skip(&mut self) {
        self.at += 1;
    }

    pub(crate) fn expect(&mut self, mark: u8) -> Result<(), NotJson> {
        if self.take(mark) { Ok(()) } else { Err(self.not_json()) }
    }

    pub(crate) fn expect_end(&mut self) -> Result<(), NotJson> {
        self.peek();
        if self.at == self.text.len() { Ok(()) } else { Err(self.not_json()) }
    }

    /// The next value, of any depth.
    pub(crate) fn value(&mut self) -> Result<Json<'a>, NotJson> {
        match self.peek() {
            b'"' => self.quoted(),
            b'{' | b'[' => self.nested(),
            _ => {
                let start = self.at;
                self.number_or_literal()?;
                Ok(self.since(start))
            }
        }
    }

    /// The next value, which must be a string.
    pub(crate) fn string(&mut self) -> Result<Json<'a>, NotJson> {
        if self.peek() == b'"' { self.quoted() } else { Err(self.not_json()) }
    }

    /// The string whose quotation mark is next.
    fn quoted(&mut self) -> Result<Json<'a>, NotJson> {
        let start = self.at;
        self.skip();
        let bytes = self.text.as_bytes();
        let mut is_plain_string = true;
        loop {
            self.at += ordinary(&bytes[self.at..]);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.skip();
                    return Ok(Json { is_plain_string, ..self.since(start) });
                }
                Some(b'\\') => {
                    is_plain_string = false;
                    self.escape()?;
                }
                _ => return Err(self.not_json()),
            }
        }
    }

    /// Goes past the string of this text if it is next, without escapes as it is nearly always written.
    pub(crate) fn take_string(&mut self, text: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let is_next = rest.strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(text.as_bytes()));
        let is_next = is_next.is_some_and(|rest| rest.first() == Some(&b'"'));
        if is_next {
            self.at += text.len() + 2;
        }
        is_next
    }

    /// What was scanned from there on, as one value.
    pub(crate) fn since(&self, start: usize) -> Json<'a> {
        Json { text: &self.text[start..self.at], is_plain_string: false }
    }

    /// Where the scanner is.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// An array or an object. Without recursion, so that deep nesting cannot overflow the stack.
    fn nested(&mut self) -> Result<Json<'a>, NotJson> {
        let start = self.at;
        let mut open = Vec::new();
        loop {
            // A value is next.
            match self.peek() {
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    open.push(bracket);
                    if !self.take(closing(bracket)) {
                        self.name_in(bracket)?;
                        continue;
                    }
                    open.pop();
                }
                b'"' => drop(self.quoted()?),
                _ => self.number_or_literal()?,
            }
            // A value has ended.
            loop {
                let Some(bracket) = open.last().copied() else {
                    return Ok(self.since(start));
                };
                if self.take(b',') {
                    self.name_in(bracket)?;
                    break;
                }
                self.expect(closing(bracket))?;
                open.pop();
            }
        }
    }

    /// The name that stands before a value in an object, and in nothing else.
    fn name_in(&mut self, bracket: u8) -> Result<(), NotJson> {
        if bracket == b'{' {
            self.string()?;
            self.expect(b':')?;
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        let is_unicode = self.byte() == b'u';
        if !matches!(self.byte(), b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u') {
            return Err(self.not_json());
        }
        self.at += 1;
        for _ in 0..if is_unicode { 4 } else { 0 } {
            if !self.byte().is_ascii_hexdigit() {
                return Err(self.not_json());
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number_or_literal(&mut self) -> Result<(), NotJson> {
        let literal = match self.byte() {
            b't' => "true",
            b'f' => "false",
            b'n' => "null",
            _ => return self.number(),
        };
        if !self.text[self.at..].starts_with(literal) {
            return Err(self.not_json());
        }
        self.at += literal.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.take_one_of(b"-");
        if !self.take_one_of(b"0") {
            self.digits()?;
        }
        if self.take_one_of(b".") {
            self.digits()?;
        }
        if self.take_one_of(b"eE") {
            self.take_one_of(b"+-");
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start { Err(self.not_json()) } else { Ok(()) }
    }

    /// Goes past one of these if it is next, white space not allowed.
    fn take_one_of(&mut self, marks: &[u8]) -> bool {
        let is_next = marks.contains(&self.byte());
        if is_next {
            self.at += 1;
        }
        is_next
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    pub(crate) fn not_json(&self) -> NotJson {
        NotJson { at: self.at }
    }
}

fn closing(bracket: u8) -> u8 {
    if bracket == b'{' { b'}' } else { b']' }
}

/// How many characters of a string come before its end, an escape, or what may not stand there as it is.
///
/// Eight bytes at a time, because an answer is strings for the most part: in each byte of the word a bit that is set tells
/// that something is less than a number or equal to one (Warren, Hacker's Delight, 6-1). Such a bit can be wrong only behind
/// a right one, and the first alone is asked for.
fn ordinary(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let is_below = |limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
        let is = |byte: u8| {
            let zero_where_equal = word ^ (ONES * u64::from(byte));
            zero_where_equal.wrapping_sub(ONES) & !zero_where_equal
        };
        let ends = (is_below(b' ') | is(b'"') | is(b'\\')) & HIGH_BITS;
        if ends != 0 {
            return 8 * index + ends.trailing_zeros() as usize / 8;
        }
    }
    let ends = |byte: &u8| matches!(byte, ..b' ' | b'"' | b'\\');
    8 * words.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::iter;

    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    fn scan(text: &str) -> Result<&str, NotJson> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.expect_end()?;
        Ok(value.text)
    }

    #[track_caller]
    fn assert_judged_alike(text: &str) {
        let judged = serde_json::from_str::<&RawValue>(text).map(RawValue::get);
        assert_eq!(scan(text).ok(), judged.ok(), "{text:?}");
    }

    /// Every text of up to four of the characters that matter.
    pub(crate) fn short_texts() -> impl Iterator<Item = String> {
        const CHARACTERS: [&str; 20] = [
            "{", "}", "[", "]", ":", ",", "\"", "\\", "u", "0", "1", "-", ".", "e", "+", " ", "\n", "null",
            "\u{1}", "ü",
        ];
        let longer = |texts: &Vec<String>| {
            let next = |text: &String| CHARACTERS.map(|next| format!("{text}{next}"));
            Some(texts.iter().flat_map(next).collect())
        };
        iter::successors(Some(vec![String::new()]), longer).take(5).flatten()
    }

    #[test]
    fn every_short_text_is_judged_as_serde_json_judges_it() {
        for text in short_texts() {
            assert_judged_alike(&text);
            if text.len() < 4 {
                for (before, after) in [("\"", "\""), ("[", "]"), ("{\"\":", "}"), ("{\"", "\":1}")] {
                    assert_judged_alike(&format!("{before}{text}{after}"));
                }
            }
        }
    }

    #[test]
    fn every_character_in_every_place_is_judged_as_serde_json_judges_it() {
        const WHOLE: &str = r#" {"a" : [ -1.5e+2 , "\u00e4b" , true , { } ] } "#;
        for character in ('\0'..='\u{ff}').chain(['\u{2028}', '\u{3000}', '\u{feff}']) {
            for at in 0..=WHOLE.len() {
                assert_judged_alike(&format!("{}{character}{}", &WHOLE[..at], &WHOLE[at..]));
                assert_judged_alike(&format!(
                    "{}{character}{}",
                    &WHOLE[..at],
                    WHOLE.get(at + 1..).unwrap_or("")
                ));
            }
        }
    }

    pub(crate) fn any_json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
            "\"([a-z ]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4}){0,8}\"",
        ];
        leaf.prop_recursive(6, 40, 6, |inner| {
            let name = any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap());
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(|all| format!("[{}]", all.join(" , "))),
                prop::collection::vec((name, inner), 0..6).prop_map(|all| {
                    let members: Vec<_> =
                        all.iter().map(|(name, value)| format!("{name} :{value}")).collect();
                    format!("{{{}}}", members.join(",\n"))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_json_is_scanned_whole(json in any_json(), before in "[ \t\n\r]{0,3}", after in "[ \t\n\r]{0,3}") {
            let text = format!("{before}{json}{after}");
            prop_assert_eq!(scan(&text), Ok(&*json));
        }

        #[test]
        fn what_is_nearly_json_is_judged_as_serde_json_judges_it(
            json in any_json(), at in any::<prop::sample::Index>(), length in 0..3_usize, instead in "[{}\\[\\]:,\"\\\\u0-9.eE+ tfn\u{0}-\u{1f}-]{0,2}",
        ) {
            let start = json.floor_char_boundary(at.index(json.len() + 1));
            let end = json.floor_char_boundary(json.len().min(start + length)).max(start);
            assert_judged_alike(&format!("{}{instead}{}", &json[..start], &json[end..]));
        }
    }

    #[test]
    fn a_run_of_ordinary_characters_ends_at_each_other_one_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            let is_ordinary = !matches!(byte, ..b' ' | b'"' | b'\\');
            for before in 0..20 {
                let text = [vec![b'a'; before], vec![byte], vec![b'!'; 20]].concat();
                let expected = if is_ordinary { text.len() } else { before };
                assert_eq!(ordinary(&text), expected, "{byte} behind {before}");
                assert_eq!(ordinary(&text[..=before]), expected.min(before + 1), "{byte} behind {before}");
            }
        }
    }

    #[test]
    fn it_is_told_where_a_text_stops_being_json() {
        for (text, at) in
            [("", 0), ("{\"a\" 1}", 5), ("[1,]", 3), ("1 2", 2), ("\"\n\"", 1), ("01", 1), ("{\"a\":tru}", 5)]
        {
            assert_eq!(scan(text), Err(NotJson { at }), "{text:?}");
        }
    }

    #[test]
    fn a_text_of_brackets_overflows_no_stack() {
        let deep = 200_000;
        assert_eq!(scan(&"[".repeat(deep)), Err(NotJson { at: deep }));
        let whole = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        assert_eq!(scan(&whole), Ok(&*whole));
    }
}
