use std::any::Any;
use std::fmt;

/// How a transport broke a contract: one sentence first, with the full context added later.
#[derive(Debug)]
pub(crate) struct Violation {
    text: String,
    /// Further labeled lines of the failure message.
    pub(crate) details: Vec<(&'static str, String)>,
    /// Why it matters, if it breaks a general rule; `None` if it breaks the contract's own requirement.
    pub(crate) general: Option<&'static str>,
}

impl Violation {
    /// Breaks the contract's own requirement. `text` says what the transport did and what it must do.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), details: Vec::new(), general: None }
    }

    /// Breaks a rule that every contract checks. No declared deviation covers it.
    pub(crate) fn general(text: impl Into<String>, why: &'static str) -> Self {
        Self { general: Some(why), ..Self::new(text) }
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

pub(crate) const SENT_TWICE: &str = "a payment that is sent twice can be charged twice, and a request sent to another \
     server exposes its contents there";

pub(crate) const FALSE_NOT_PROCESSED: &str =
    "after NotProcessed the caller may charge again, although this charge may still succeed";

pub(crate) const HANGS: &str = "while a call hangs, its caller does not know that the payment is unresolved and cannot look \
     it up";

pub(crate) const PANICS: &str =
    "a panic in the middle of a payment leaves its outcome unknown and can take other payments with it";

pub(crate) const SHOWS_A_SECRET: &str = "programs log what they can print, and a log with a card number or an API key is a \
     leak that must be reported";
