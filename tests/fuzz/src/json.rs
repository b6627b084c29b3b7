/// A JSON value from an independent reader, for comparison with what the SDK reads.
///
/// Numbers stay text. An object keeps its members in order, including repeated names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// The number as text.
    Number(String),
    /// The unescaped string. `None` if it is not valid Unicode, such as `"\ud800"`.
    Text(Option<String>),
    /// The elements.
    List(Vec<Self>),
    /// Names and values.
    Object(Vec<(Option<String>, Self)>),
}

/// Why a text could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotRead {
    /// The text is not JSON as RFC 8259 defines it.
    NotJson,
    /// The text is nested deeper than this reader supports. It may be JSON or not.
    TooDeep,
}

impl Json {
    /// Reads the whole text.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or is nested deeper than 200 levels.
    pub(crate) fn read(text: &str) -> Result<Self, NotRead> {
        let mut reader = Reader { rest: text };
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.rest.is_empty() { Ok(value) } else { Err(NotRead::NotJson) }
    }

    /// The text, if the value is a string of valid Unicode.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.as_deref(),
            _ => None,
        }
    }

    /// The members, if the value is an object and all names are valid Unicode.
    pub(crate) fn members(&self) -> Option<Vec<(&str, &Self)>> {
        match self {
            Self::Object(members) => {
                members.iter().map(|(name, value)| Some((name.as_deref()?, value))).collect()
            }
            _ => None,
        }
    }

    /// The values of every member with this name.
    pub(crate) fn all(&self, name: &str) -> Vec<&Self> {
        let members = self.members().unwrap_or_default();
        members.into_iter().filter(|member| member.0 == name).map(|(_, value)| value).collect()
    }

    /// The value of the member with this name, if there is exactly one.
    pub(crate) fn once(&self, name: &str) -> Option<&Self> {
        match *self.all(name) {
            [value] => Some(value),
            _ => None,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, NotRead> {
        if depth > DEEPEST {
            return Err(NotRead::TooDeep);
        }
        self.skip_space();
        match self.rest.as_bytes().first() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, NotRead> {
        self.expect('{')?;
        let mut members = Vec::new();
        if self.take('}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.expect(':')?;
            members.push((name, self.value(depth + 1)?));
            if !self.take(',') {
                break;
            }
        }
        self.expect('}').map(|()| Json::Object(members))
    }

    fn list(&mut self, depth: usize) -> Result<Json, NotRead> {
        self.expect('[')?;
        let mut elements = Vec::new();
        if self.take(']') {
            return Ok(Json::List(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if !self.take(',') {
                break;
            }
        }
        self.expect(']').map(|()| Json::List(elements))
    }

    fn string(&mut self) -> Result<Option<String>, NotRead> {
        let inner = self.rest.strip_prefix('"').ok_or(NotRead::NotJson)?;
        let mut units: Vec<u16> = Vec::new();
        let mut letters = inner.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &inner[at + 1..];
                    return Ok(String::from_utf16(&units).ok());
                }
                '\\' => {
                    let (_, escape) = letters.next().ok_or(NotRead::NotJson)?;
                    units.push(match escape {
                        '"' | '\\' | '/' => escape as u16,
                        'b' => 8,
                        'f' => 12,
                        'n' => 10,
                        'r' => 13,
                        't' => 9,
                        'u' => {
                            let mut unit = 0;
                            for _ in 0..4 {
                                let digit = letters.next().and_then(|(_, digit)| digit.to_digit(16));
                                unit = unit * 16 + digit.ok_or(NotRead::NotJson)?;
                            }
                            u16::try_from(unit).map_err(|_| NotRead::NotJson)?
                        }
                        _ => return Err(NotRead::NotJson),
                    });
                }
                '\0'..='\x1f' => return Err(NotRead::NotJson),
                _ => units.extend_from_slice(letter.encode_utf16(&mut [0; 2])),
            }
        }
        Err(NotRead::NotJson)
    }

    fn number(&mut self) -> Result<Json, NotRead> {
        let length = self.rest.bytes().take_while(|byte| b"+-.0123456789Ee".contains(byte)).count();
        let (number, rest) = self.rest.split_at(length);
        if !is_number(number) {
            return Err(NotRead::NotJson);
        }
        self.rest = rest;
        Ok(Json::Number(number.to_owned()))
    }

    fn word(&mut self) -> Result<Json, NotRead> {
        let words = [("null", Json::Null), ("true", Json::Flag(true)), ("false", Json::Flag(false))];
        for (word, value) in words {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(NotRead::NotJson)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), NotRead> {
        if self.take(wanted) { Ok(()) } else { Err(NotRead::NotJson) }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }
}

/// The grammar of RFC 8259, section 6.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    digits(integer) && (integer == "0" || !integer.starts_with('0')) && digits(fraction) && digits(exponent)
}

/// The text of a body, without a leading byte order mark. `None` if it is not UTF-8.
pub(crate) fn body_text(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    str::from_utf8(bytes).ok()
}

/// Far above the depth of any document of the service, and small enough for the stack of a test.
const DEEPEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_read() {
        let text = |text: &str| Json::Text(Some(text.to_owned()));
        let read = Json::read(r#" {"a":[1.50e+2 ,null],"\u0061":"\ud83d\ude00\n","b":"\ud800"} "#).unwrap();
        assert_eq!(read.all("a").len(), 2);
        assert_eq!(read.once("a"), None);
        assert_eq!(read.all("a")[1], &text("\u{1f600}\n"));
        assert_eq!(read.once("b"), Some(&Json::Text(None)));
        for good in ["0", "-0", "1e5", "\"\"", "[]", "{}", "true", " null\n"] {
            assert!(Json::read(good).is_ok(), "{good}");
        }
        for bad in
            ["", "01", "1.", ".1", "+1", "1e", "[1,]", "{,}", "{a:1}", "'a'", "\"\t\"", "nul", "1 2", "\"a"]
        {
            assert_eq!(Json::read(bad), Err(NotRead::NotJson), "{bad}");
        }
        assert_eq!(Json::read(&"[".repeat(300)), Err(NotRead::TooDeep));
    }
}
