use std::borrow::Cow;

use crate::json::Json;
use crate::json_scanner::{NotJson, Scanner};

/// The members of the object that a text is, taken one after the other: a name, then its value. Whether the text is JSON is
/// known after the last.
pub(crate) struct Object<'a> {
    scanner: Scanner<'a>,
    /// Before the first name.
    is_new: bool,
    /// The names that are likely to come, in the likely order. One that does come need not be scanned.
    likely: &'static [&'static str],
}

impl<'a> Object<'a> {
    pub(crate) fn open(text: &'a str) -> Result<Self, ObjectError> {
        let mut scanner = Scanner::new(text);
        if scanner.take(b'{') {
            Ok(Self { scanner, is_new: true, likely: &[] })
        } else {
            Err(Json::read(text).map_or_else(ObjectError::NotJson, |_| ObjectError::NotAnObject))
        }
    }

    /// With the names that are likely to come, in the likely order: where they do come, they take a fraction of the time.
    pub(crate) fn expecting(self, likely: &'static [&'static str]) -> Self {
        Self { likely, ..self }
    }

    pub(crate) fn next_name(&mut self) -> Result<Option<Cow<'a, str>>, ObjectError> {
        match self.scanner.peek() {
            b'}' => {
                self.scanner.skip();
                return Ok(None);
            }
            b',' if !self.is_new => self.scanner.skip(),
            _ if self.is_new => self.is_new = false,
            _ => return Err(self.scanner.not_json().into()),
        }
        self.scanner.peek();
        let name = match self.likely {
            [next, rest @ ..] if self.scanner.take_string(next) => {
                self.likely = rest;
                Cow::Borrowed(*next)
            }
            likely => {
                let name = self.scanner.string()?.text().ok_or(ObjectError::NameNotUnicode)?;
                if let Some(at) = likely.iter().position(|likely| *likely == name) {
                    self.likely = &likely[at + 1..];
                }
                name
            }
        };
        self.scanner.expect(b':')?;
        Ok(Some(name))
    }

    pub(crate) fn next_value(&mut self) -> Result<Json<'a>, NotJson> {
        self.scanner.value()
    }

    /// The next value, and its members if it is an object: for one that need not be looked through twice. For the names see
    /// [`expecting`](Self::expecting).
    pub(crate) fn next_value_with_members(
        &mut self,
        likely: &'static [&'static str],
    ) -> Result<(Json<'a>, Option<Vec<Member<'a>>>), ObjectError> {
        if self.scanner.peek() != b'{' {
            return Ok((self.next_value()?, None));
        }
        let start = self.scanner.at();
        let mut inner = Self { scanner: self.scanner.clone(), is_new: true, likely };
        inner.scanner.expect(b'{')?;
        match inner.members() {
            Ok(members) => {
                self.scanner = inner.scanner;
                Ok((self.scanner.since(start), Some(members)))
            }
            Err(ObjectError::NotJson(error)) => Err(error.into()),
            Err(_) => Ok((self.next_value()?, None)),
        }
    }

    /// All members, behind which the text must end.
    pub(crate) fn all(mut self) -> Result<Vec<Member<'a>>, ObjectError> {
        let members = self.members()?;
        self.end()?;
        Ok(members)
    }

    /// To be called after the last name: the text must end here.
    pub(crate) fn end(mut self) -> Result<(), NotJson> {
        self.scanner.expect_end()
    }

    fn members(&mut self) -> Result<Vec<Member<'a>>, ObjectError> {
        let mut members = Vec::with_capacity(USUAL_COUNT);
        while let Some(name) = self.next_name()? {
            members.push((name, self.next_value()?));
        }
        Ok(members)
    }
}

impl From<NotJson> for ObjectError {
    fn from(error: NotJson) -> Self {
        Self::NotJson(error)
    }
}

/// A name and its value in a JSON object. The name is borrowed unless it holds escapes.
pub(crate) type Member<'a> = (Cow<'a, str>, Json<'a>);

/// Why a text is not a JSON object. Nothing of the text is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectError {
    NotJson(NotJson),
    /// JSON allows a name such as `"\ud800"`, which stands for no text.
    NameNotUnicode,
    NotAnObject,
}

/// Room for nearly every record, and for most requests.
const USUAL_COUNT: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
    use serde_json::value::RawValue;

    use super::*;
    use crate::json_scanner::tests::{any_json, short_texts};

    /// The members as `serde_json` finds them.
    struct Judged(Vec<(String, Box<RawValue>)>);

    impl<'de> Deserialize<'de> for Judged {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Members;
            impl<'de> Visitor<'de> for Members {
                type Value = Judged;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Judged, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Judged(members))
                }
            }
            deserializer.deserialize_map(Members)
        }
    }

    /// Whatever names are likely, and whether or not the object is one of the values of another.
    #[track_caller]
    fn assert_read_alike(text: &str) {
        let shown = |members: Vec<Member<'_>>| -> Vec<(String, String)> {
            members.iter().map(|(name, value)| (name.to_string(), value.as_str().to_owned())).collect()
        };
        let judged = serde_json::from_str::<Judged>(text).ok().map(|Judged(members)| {
            members.iter().map(|(name, value)| (name.clone(), value.get().to_owned())).collect()
        });
        for likely in [&[][..], &["a", "", "0", "b"], &["b", "a"]] {
            let read = Object::open(text).and_then(|object| object.expecting(likely).all());
            assert_eq!(read.ok().map(shown), judged, "{text:?}, likely {likely:?}");
            let outer = format!("{{\"outer\":{text}}}");
            let mut outer = Object::open(&outer).unwrap();
            outer.next_name().unwrap();
            let inner = outer.next_value_with_members(likely);
            let is_all = outer.next_name().is_ok_and(|name| name.is_none()) && outer.end().is_ok();
            let members = inner.ok().filter(|_| is_all).and_then(|(_, members)| members);
            assert_eq!(members.map(shown), judged, "{text:?} within an object, likely {likely:?}");
        }
    }

    #[test]
    fn the_members_of_every_short_text_are_those_that_serde_json_finds() {
        for text in short_texts().filter(|text| text.starts_with('{')) {
            assert_read_alike(&text);
        }
        let of_three = 1 + 20 + 20 * 20 + 20 * 20 * 20;
        for text in short_texts().take(of_three) {
            assert_read_alike(&format!("{{\"a\":{text}}}"));
            assert_read_alike(&format!("{{{text}:1}}"));
            assert_read_alike(&format!("{{\"a\":1{text}\"b\":2}}"));
        }
    }

    proptest! {
        #[test]
        fn the_members_of_any_object_are_those_that_serde_json_finds(
            members in prop::collection::vec(("[ab0]?", any_json()), 0..5), space in "[ \n]{0,1}",
        ) {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("\"{name}\"{space}:{space}{value}{space}")).collect();
            assert_read_alike(&format!("{{{space}{}}}", members.join(",")));
        }
    }

    fn members(text: &str) -> Result<Vec<Member<'_>>, ObjectError> {
        Json::read(text).map_err(ObjectError::from)?.members()
    }

    #[test]
    fn members_come_in_order_with_repeats_and_borrowed_where_possible() {
        let read =
            members(r#" {"b":1 ,"a": [ ] ,"b":"x","\u0061":null,"c":{"d":"}"} , "e" : "\"," } "#).unwrap();
        let seen: Vec<_> = read
            .iter()
            .map(|(name, value)| (matches!(name, Cow::Borrowed(_)), format!("{name}={}", value.as_str())))
            .collect();
        let expected = [
            (true, "b=1"),
            (true, "a=[ ]"),
            (true, "b=\"x\""),
            (false, "a=null"),
            (true, r#"c={"d":"}"}"#),
            (true, r#"e="\",""#),
        ];
        assert_eq!(seen, expected.map(|(borrowed, text)| (borrowed, text.to_owned())));
        assert!(members("{ }").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_object_is_told_apart_from_what_is_no_json() {
        for text in ["null", " []", "\"{}\"", "1"] {
            assert_eq!(members(text).err(), Some(ObjectError::NotAnObject));
        }
        assert_eq!(members("{\n}}").err(), Some(NotJson { at: 3 }.into()));
        assert_eq!(members(r#"{"a":1,"\ud800":2}"#).err(), Some(ObjectError::NameNotUnicode));
        for text in ["", "\u{a0}{}", r#"{"a":1,}"#, r#"{"a" 1}"#, "{\"a\":\"\n\"}", "{\"\n\":1}"] {
            assert!(matches!(members(text).err(), Some(ObjectError::NotJson(_))), "{text}");
        }
    }
}
