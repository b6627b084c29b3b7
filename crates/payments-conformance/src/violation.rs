use std::any::Any;
use std::fmt;

/// How a transport broke a contract: one sentence first, with the full context added later.
#[derive(Debug)]
pub(crate) struct Violation {
    text: String,
    /// Further labeled lines of the failure message.
    pub(crate) details: Vec<(&'static str, String)>,
    /// `None` if it breaks the contract's own requirement.
    pub(crate) general: Option<Rule>,
    /// Whether it must be fixed before anything else: money can move twice, or the API key or the card is given away.
    pub(crate) is_dangerous: bool,
}

/// A general rule, which every contract checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// What a transport that breaks it can do.
    pub(crate) risk: &'static str,
    is_dangerous: bool,
}

impl Rule {
    pub(crate) const fn dangerous(risk: &'static str) -> Self {
        Self { risk, is_dangerous: true }
    }
}

impl Violation {
    /// Breaks the contract's own requirement. `text` says what the transport did and what it must do.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), details: Vec::new(), general: None, is_dangerous: false }
    }

    /// Breaks the contract's own requirement in a way that can move money twice, or gives the API key or the card away.
    pub(crate) fn dangerous(text: impl Into<String>) -> Self {
        Self { is_dangerous: true, ..Self::new(text) }
    }

    /// Breaks a rule that every contract checks. No declared deviation covers it.
    pub(crate) fn general(text: impl Into<String>, rule: Rule) -> Self {
        Self { general: Some(rule), is_dangerous: rule.is_dangerous, ..Self::new(text) }
    }

    /// Which of two violations of one contract is reported: one that no deviation covers, and of these one that is dangerous.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        (self.general.is_some(), self.is_dangerous)
    }

    /// The transport or a contract panicked with this.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::general(format!("a panic occurred: {}", text.unwrap_or("no message")), PANICS)
    }

    /// Adds a labeled line to the failure message. A label has at most thirteen characters.
    pub(crate) fn detail(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
        self
    }

    /// Says that this happened in the call after `before`, which is the call that the contract is about.
    pub(crate) fn after(self, before: Option<&str>) -> Self {
        match before {
            None => self,
            Some(id) => Self { text: format!("in the call after {id}: {}", self.text), ..self },
        }
    }

    /// Replaces the text with the whole failure message.
    pub(crate) fn with_context(self, message: impl FnOnce(&Self) -> String) -> Self {
        Self { text: message(&self), ..self }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns a violation with this text from the function, unless the condition is true.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::violation::Violation::new(format!($($text)+)));
        }
    };
}
pub(crate) use ensure;

pub(crate) const SENT_TWICE: Rule = Rule::dangerous(
    "a payment that is sent twice can be charged twice, and a request sent to another server exposes its contents there",
);

pub(crate) const FALSE_NOT_PROCESSED: Rule =
    Rule::dangerous("after NotProcessed the caller may charge again, although this charge may still succeed");

pub(crate) const SHOWS_A_SECRET: Rule = Rule::dangerous(
    "programs log what they can print, and a log with a card number or an API key is a leak that must be reported",
);

pub(crate) const HANGS: Rule = Rule {
    risk: "while a call hangs, its caller does not know that the payment is unresolved and cannot look it up",
    is_dangerous: false,
};

pub(crate) const PANICS: Rule = Rule {
    risk: "a panic in the middle of a payment leaves its outcome unknown and can take other payments with it",
    is_dangerous: false,
};
