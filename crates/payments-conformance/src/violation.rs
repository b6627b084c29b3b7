use std::fmt;

/// Why a contract is broken: at first one sentence, then the whole story.
#[derive(Debug)]
pub(crate) struct Violation {
    text: String,
    has_context: bool,
    /// Further lines of the story, each with its name.
    details: Vec<(&'static str, String)>,
    /// Why it matters, for what is owed in every situation; `None` for what the contract itself demands.
    general: Option<&'static str>,
}

impl Violation {
    /// What the transport did against the contract's own demand, and what it should have done.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), has_context: false, details: Vec::new(), general: None }
    }

    /// What the transport did against what is owed in every situation, and why that matters.
    ///
    /// No declared deviation covers it.
    pub(crate) fn general(text: impl Into<String>, why: &'static str) -> Self {
        Self { general: Some(why), ..Self::new(text) }
    }

    /// Adds a line to the story. A name has at most thirteen letters.
    pub(crate) fn detail(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
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
    pub(crate) fn is_general(&self) -> bool {
        self.general.is_some()
    }

    /// Why it matters, if that is not for the contract to say.
    pub(crate) fn why(&self) -> Option<&'static str> {
        self.general
    }

    pub(crate) fn lines(&self) -> &[(&'static str, String)] {
        &self.details
    }

    /// Adds what surrounded it, unless that was done already.
    pub(crate) fn with_context(self, context: impl FnOnce(&Self) -> String) -> Self {
        if self.has_context { self } else { Self { text: context(&self), has_context: true, ..self } }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(crate) const SENT_TWICE: &str = "a payment that is sent twice can be charged twice, and whoever else is sent it has \
     what is in it";

pub(crate) const FALSE_NOT_PROCESSED: &str =
    "NotProcessed lets the caller charge again, and this charge may be under way";

pub(crate) const HANGS: &str = "whoever waits for a call that never ends neither learns that its payment is open nor \
     looks it up";

pub(crate) const PANICS: &str =
    "a panic in the middle of a payment leaves its outcome unknown, and takes others with it";

pub(crate) const SHOWS_A_SECRET: &str = "what a program can print is logged, and a log with a card number or a key is a \
     leak that has to be reported";
