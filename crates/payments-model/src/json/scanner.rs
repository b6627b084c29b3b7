use std::borrow::Cow;

use super::{Json, Member};

/// Reads JSON (RFC 8259) once, from the beginning to the end, into borrowed parts: what is wrong anywhere makes the result `None`.
pub(crate) struct Scanner<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The result of `read`, if it reads to the end of the text.
    pub(crate) fn read<T>(json: &'a str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut scanner = Self { json, at: 0 };
        let value = read(&mut scanner)?;
        scanner.next().is_none().then_some(value)
    }

    /// The members of an object in order, including repeated ones. `None` if a name is not Unicode (`"\ud800"`).
    pub(crate) fn members(&mut self) -> Option<Vec<Member<'a>>> {
        let mut members = Vec::with_capacity(TYPICAL_COUNT);
        self.object(|name, scanner| {
            members.push((name, scanner.value()?));
            Some(())
        })?;
        Some(members)
    }

    /// Reads a value, and keeps its [`members`](Self::members) if it is an object with Unicode names.
    pub(crate) fn value_with_members(&mut self, members: &mut Option<Vec<Member<'a>>>) -> Option<()> {
        let start = self.at;
        *members = self.members();
        if members.is_none() {
            self.at = start;
            self.value()?;
        }
        Some(())
    }

    /// The elements of an array.
    pub(crate) fn elements(&mut self) -> Option<Vec<Json<'a>>> {
        let mut elements = Vec::new();
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(elements);
        }
        loop {
            elements.push(self.value()?);
            if self.take(b',').is_none() {
                return self.take(b']').map(|()| elements);
            }
        }
    }

    /// Calls `read_value` for each member of an object. It reads the member's value.
    pub(crate) fn object(
        &mut self,
        mut read_value: impl FnMut(Cow<'a, str>, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = Json(self.name()?).text()?;
            read_value(name, self)?;
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    /// A value of any kind and depth.
    pub(crate) fn value(&mut self) -> Option<Json<'a>> {
        let first = self.next()?;
        let start = self.at;
        if matches!(first, b'{' | b'[') {
            self.nested()?;
        } else {
            self.scalar(first)?;
        }
        Some(Json(&self.json[start..self.at]))
    }

    /// An object or a list. It may have any depth, so this does not call itself.
    fn nested(&mut self) -> Option<()> {
        // The brackets that are open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            let first = self.next()?;
            if matches!(first, b'{' | b'[') {
                self.at += 1;
                let close = first + 2;
                if self.take(close).is_none() {
                    open.push(close);
                    self.name_in(close)?;
                    continue;
                }
            } else {
                self.scalar(first)?;
            }
            // After a value.
            while let Some(&close) = open.last() {
                if self.take(b',').is_some() {
                    self.name_in(close)?;
                    break;
                }
                self.take(close)?;
                open.pop();
            }
            if open.is_empty() {
                return Some(());
            }
        }
    }

    fn scalar(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.string().map(drop),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    /// The name of a member if its container, which ends with `close`, is an object.
    fn name_in(&mut self, close: u8) -> Option<()> {
        if close == b'}' { self.name().map(drop) } else { Some(()) }
    }

    /// The name of a member as a JSON string, and the colon.
    fn name(&mut self) -> Option<&'a str> {
        if self.next()? != b'"' {
            return None;
        }
        let name = self.string()?;
        self.take(b':').map(|()| name)
    }

    /// A string, with its quotes.
    fn string(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = &self.json.as_bytes()[self.at..];
            let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..=0x1f))?;
            self.at += length + 1;
            match rest[length..] {
                [b'"', ..] => return Some(&self.json[start..self.at]),
                [b'\\', b'u', ref digits @ ..] => {
                    let digits = digits.first_chunk::<4>()?;
                    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                    self.at += 5;
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 1,
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        self.skip(b"-");
        match self.peek()? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.skip(b".") {
            self.digits()?;
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digits()?;
        }
        Some(())
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<()> {
        let count = self.json.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let is_next = self.json.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        is_next.then_some(())
    }

    /// Skips one of these bytes, if it is next.
    fn skip(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.peek().is_some_and(|byte| bytes.contains(&byte));
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes this byte, if it is next after whitespace.
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// The next byte after whitespace. It is not taken.
    fn next(&mut self) -> Option<u8> {
        while matches!(self.peek()?, b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.peek()
    }

    fn peek(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }
}

/// Enough for nearly every record and request.
const TYPICAL_COUNT: usize = 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// The value, and what `serde_json` reads.
    fn read(json: &str) -> (Option<&str>, Option<&str>) {
        let value = Scanner::read(json, Scanner::value).map(Json::as_str);
        (value, serde_json::from_str::<&RawValue>(json).ok().map(RawValue::get))
    }

    #[test]
    fn what_is_json_is_that_of_serde_json() {
        let valid = [
            "{}",
            "[]",
            " { } ",
            "[[],[[]],{}]",
            "{\"a\":{\"b\":[1,{\"c\":null}]},\"d\":true}",
            "0",
            "-0",
            "10.50",
            "-1.5E+10",
            "0e0",
            "1e-7",
            "\"\"",
            r#""\u00e9\ud800\"\\\/\b\f\n\r\t é""#,
            "\t[1 , 2 ]\r\n",
            "false",
            "{\"a\" : 1 , \"a\" : 2}",
            "\"\u{7f}\"",
        ];
        for json in valid {
            assert_eq!(read(json), (Some(json.trim()), Some(json.trim())), "{json}");
        }
        for json in [
            "",
            " ",
            "{",
            "}",
            "[",
            "]",
            "[1",
            "[1,",
            "[1,]",
            "[,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":1]",
            "[1}",
            "[{]}",
            "01",
            "-",
            "+1",
            ".5",
            "5.",
            "1e",
            "1e+",
            "--1",
            "0x1",
            "1 2",
            "nul",
            "nulll",
            "True",
            "\"",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "\"\0\"",
            "'a'",
            "[1]]",
            "\u{a0}1",
            "NaN",
            "{1:2}",
            "[\"a\",\"b]",
            "\u{feff}1",
            "/**/1",
            "{\"a\":1 \"b\":2}",
            "{\"a\" 1}",
            "[[1] [2]]",
        ] {
            assert_eq!(read(json), (None, None), "{json}");
        }
        let deep = ["[".repeat(5000), "]".repeat(5000)].concat();
        assert_eq!(read(&deep).0, Some(&*deep));
    }

    proptest! {
        #[test]
        fn random_bytes_of_json_are_read_as_by_serde_json(json in r#"[\[\]{}:,"\\u0-1eE.+\- \nafn]{0,12}"#) {
            let (value, expected) = read(&json);
            prop_assert_eq!(value, expected);
        }

        #[test]
        fn changed_json_is_read_as_by_serde_json(at in 0..90_usize, byte in r#"[\[\]{}:,"\\u0eE.+\- \n]?"#) {
            let json = r#"{"a":[1.5,-2e7,{"b":null,"c":["\u0041",true]}],"d":{"e":"x\"y","f":false},"g":[],"h":{}}"#;
            let at = at.min(json.len() - 1);
            let json = [&json[..at], &byte, &json[at + 1..]].concat();
            let (value, expected) = read(&json);
            prop_assert_eq!(value, expected);
        }
    }
}
