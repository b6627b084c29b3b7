use std::any::Any;
use std::fmt;

use crate::scheme::Scheme;

/// How a transport broke a contract: what it did, and what it must do instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Violation {
    found: String,
    /// "return an error", for example, unless `found` says it.
    pub(crate) wanted: Option<String>,
    /// `None` if it breaks the contract's own requirement.
    pub(crate) rule: Option<Rule>,
    /// Whether it must be fixed before anything else: money can move twice, or the API key or the card is given away.
    pub(crate) is_dangerous: bool,
    /// Over which scheme, once it is known.
    pub(crate) scheme: Option<Scheme>,
    /// The labeled lines of the failure message. A label has at most thirteen characters.
    pub(crate) details: Vec<(&'static str, String)>,
}

/// A rule that every contract checks, and what a transport that breaks it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule(pub(crate) &'static str);

impl Violation {
    /// Breaks the contract's own requirement. `found` says what the transport did and what it must do.
    pub(crate) fn new(found: impl Into<String>) -> Self {
        Self { found: found.into(), ..Self::default() }
    }

    /// Breaks the contract's own requirement: the transport must do what is `wanted`.
    pub(crate) fn instead_of(found: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { wanted: Some(wanted.into()), ..Self::new(found) }
    }

    /// Breaks the contract's own requirement in a way that can move money twice, or gives the API key or the card away.
    pub(crate) fn dangerous(found: impl Into<String>) -> Self {
        Self { is_dangerous: true, ..Self::new(found) }
    }

    /// Breaks a rule that every contract checks. No declared deviation covers it.
    pub(crate) fn general(found: impl Into<String>, rule: Rule) -> Self {
        Self { rule: Some(rule), is_dangerous: ![HANGS, PANICS].contains(&rule), ..Self::new(found) }
    }

    /// The transport or a contract panicked with this.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::general(format!("a panic occurred: {}", text.unwrap_or("no message")), PANICS)
    }

    /// Adds a labeled line to the failure message.
    pub(crate) fn detail(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
        self
    }

    /// Says that this happened in the call after `before`, which is the call that the contract is about.
    pub(crate) fn after(self, before: Option<&str>) -> Self {
        match before {
            None => self,
            Some(id) => Self { found: format!("in the call after {id}: {}", self.found), ..self },
        }
    }

    /// Which of two violations of one contract is reported: one that no deviation covers, and of these one that is dangerous.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        (self.rule.is_some(), self.is_dangerous)
    }

    /// What the transport did.
    pub(crate) fn cause(&self) -> String {
        let over = self.scheme.map(|scheme| format!("over {scheme}: "));
        over.unwrap_or_default() + &self.found
    }

    /// The whole failure message.
    pub(crate) fn message(&self) -> String {
        let mut message = self.to_string();
        message.push_str(if self.scheme.is_some() { "\n" } else { "" });
        for (name, text) in &self.details {
            let text = text.replace('\n', "\n                  ");
            let label = format!("{name}:");
            message.extend([format!("\n  {label:16}"), text]);
        }
        message
    }
}

/// The first line of the failure message.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())?;
        self.wanted.iter().try_for_each(|wanted| write!(f, "; the transport must {wanted}"))
    }
}

/// Returns a violation with this text from the function, unless the condition is true. With `safe`, the violation is dangerous.
macro_rules! ensure {
    (safe $($ensured:tt)+) => {
        ensure!(@dangerous $($ensured)+)
    };
    (@$kind:ident $condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::violation::Violation::$kind(format!($($text)+)));
        }
    };
    ($($ensured:tt)+) => {
        ensure!(@new $($ensured)+)
    };
}
pub(crate) use ensure;

pub(crate) const SENT_TWICE: Rule = Rule(
    "a payment that is sent twice can be charged twice, and a request sent to another server exposes its contents there",
);

pub(crate) const FALSE_NOT_PROCESSED: Rule =
    Rule("after NotProcessed the caller may charge again, although this charge may still succeed");

pub(crate) const NOT_THE_SERVICE: Rule = Rule(
    "that server is not the service, and now it has the API key and the card. Verify certificates and never fall back \
          to plain http",
);

pub(crate) const SHOWS_A_SECRET: Rule = Rule(
    "programs log what they can print, and a log with a card number or an API key is a leak that must be reported",
);

pub(crate) const HANGS: Rule =
    Rule("while a call hangs, its caller does not know that the payment is unresolved and cannot look it up");

pub(crate) const PANICS: Rule =
    Rule("a panic in the middle of a payment leaves its outcome unknown and can take other payments with it");
