use std::fmt;

/// Why a contract is broken: at first one sentence, then the whole story.
#[derive(Debug)]
pub(crate) struct Breach {
    text: String,
    is_story: bool,
}

impl Breach {
    /// What the transport did, and what it should have done.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_story: false }
    }

    /// Says that it befell the call after this one, which is what the contract is about.
    pub(crate) fn after(self, before: Option<&str>) -> Self {
        match before {
            None => self,
            Some(id) => Self { text: format!("of the call after {id}: {}", self.text), ..self },
        }
    }

    /// Adds what surrounded it, unless that was done already.
    pub(crate) fn told(self, story: impl FnOnce(&str) -> String) -> Self {
        if self.is_story { self } else { Self { text: story(&self.text), is_story: true } }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
