use std::fmt;

/// Why a contract is broken: at first one sentence, then the whole story.
#[derive(Debug)]
pub(crate) struct Breach {
    text: String,
    is_story: bool,
    /// Further lines of the story, each with its name.
    beside: Vec<(&'static str, String)>,
    /// Why it matters, for what is owed in every situation; `None` for what the contract itself demands.
    owed: Option<&'static str>,
}

impl Breach {
    /// What the transport did against the contract's own demand, and what it should have done.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_story: false, beside: Vec::new(), owed: None }
    }

    /// What the transport did against what is owed in every situation, and why that matters.
    ///
    /// No declared deviation covers it.
    pub(crate) fn owed(text: impl Into<String>, why: &'static str) -> Self {
        Self { owed: Some(why), ..Self::new(text) }
    }

    /// Adds a line to the story. A name has at most thirteen letters.
    pub(crate) fn beside(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.beside.push((name, text.into()));
        self
    }

    /// Says that it befell the call after this one, which is what the contract is about.
    pub(crate) fn after(self, before: Option<&str>) -> Self {
        match before {
            None => self,
            Some(id) => Self { text: format!("of the call after {id}: {}", self.text), ..self },
        }
    }

    /// Whether it is about what is owed in every situation.
    pub(crate) fn is_owed(&self) -> bool {
        self.owed.is_some()
    }

    /// Why it matters, if that is not for the contract to say.
    pub(crate) fn why(&self) -> Option<&'static str> {
        self.owed
    }

    pub(crate) fn lines(&self) -> &[(&'static str, String)] {
        &self.beside
    }

    /// Adds what surrounded it, unless that was done already.
    pub(crate) fn told(self, story: impl FnOnce(&Self) -> String) -> Self {
        if self.is_story { self } else { Self { text: story(&self), is_story: true, ..self } }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(crate) const SENT_TWICE: &str = "a payment that is sent twice can be charged twice, and whoever else is sent it has \
     what is in it";

pub(crate) const CALLED_UNSENT: &str =
    "NotProcessed lets the caller charge again, and this charge may be under way";

pub(crate) const HANGS: &str = "whoever waits for a call that never ends neither learns that its payment is open nor \
     looks it up";

pub(crate) const PANICS: &str =
    "a panic in the middle of a payment leaves its outcome unknown, and takes others with it";

pub(crate) const SHOWS_A_SECRET: &str = "what a program can print is logged, and a log with a card number or a key is a \
     leak that has to be reported";
