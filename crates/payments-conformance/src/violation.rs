use std::any::Any;
use std::fmt;

use crate::scheme::Scheme;

/// How a transport broke a contract: what it did, and what it must do instead.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    found: String,
    /// "return an error", for example, unless `found` says it.
    wanted: Option<String>,
    /// The general rule that it breaks; `None` if it breaks the contract's own requirement.
    pub(crate) rule: Option<Rule>,
    /// Whether it must be fixed before anything else: money can move twice, or the API key or the card is given away.
    pub(crate) is_dangerous: bool,
    /// Over which scheme, once it is known.
    scheme: Option<Scheme>,
    /// The labeled lines of the failure message.
    details: Vec<(&'static str, String)>,
}

/// A rule that every contract checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    SentTwice,
    FalseNotProcessed,
    NotTheService,
    ShowsASecret,
    Hangs,
    Panics,
}

impl Rule {
    /// What a transport that breaks it can do.
    pub(crate) const fn risk(self) -> &'static str {
        match self {
            Self::SentTwice => {
                "a payment that is sent twice can be charged twice, and a request sent to another server exposes its contents \
                 there"
            }
            Self::FalseNotProcessed => {
                "after NotProcessed the caller may charge again, although this charge may still succeed"
            }
            Self::NotTheService => {
                "that server is not the service, and now it has the API key and the card. Verify certificates and never fall \
                 back to plain http"
            }
            Self::ShowsASecret => {
                "programs log what they can print, and a log with a card number or an API key is a leak that must be reported"
            }
            Self::Hangs => {
                "while a call hangs, its caller does not know that the payment is unresolved and cannot look it up"
            }
            Self::Panics => {
                "a panic in the middle of a payment leaves its outcome unknown and can take other payments with it"
            }
        }
    }
}

impl Violation {
    /// Breaks the contract's own requirement. `found` says what the transport did and what it must do.
    pub(crate) fn new(found: impl Into<String>) -> Self {
        Self {
            found: found.into(),
            wanted: None,
            rule: None,
            is_dangerous: false,
            scheme: None,
            details: Vec::new(),
        }
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
        let is_dangerous = !matches!(rule, Rule::Hangs | Rule::Panics);
        Self { rule: Some(rule), is_dangerous, ..Self::new(found) }
    }

    /// The transport or a contract panicked with this.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::general(format!("a panic occurred: {}", text.unwrap_or("no message")), Rule::Panics)
    }

    /// Adds a labeled line to the failure message. A label has at most thirteen characters.
    pub(crate) fn detail(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
        self
    }

    /// Adds the situation in which it happened, as labeled lines around its own.
    pub(crate) fn in_situation(
        mut self,
        scheme: Scheme,
        before: impl IntoIterator<Item = (&'static str, String)>,
        after: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        self.scheme = Some(scheme);
        self.details.splice(0..0, before);
        self.details.extend(after);
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

    /// Whether the server's response was lost although it speaks TLS.
    pub(crate) fn has_no_response_over_tls(&self) -> bool {
        let wants_response =
            self.wanted.as_ref().is_some_and(|wanted| wanted.starts_with("return a response"));
        self.scheme == Some(Scheme::Https) && wants_response
    }

    /// What the transport did.
    pub(crate) fn cause(&self) -> String {
        match self.scheme {
            Some(scheme) => format!("over {scheme}: {}", self.found),
            None => self.found.clone(),
        }
    }

    /// What the transport must do, if the cause does not say it.
    pub(crate) fn wanted(&self) -> Option<&str> {
        self.wanted.as_deref()
    }

    /// The whole failure message.
    pub(crate) fn message(&self) -> String {
        let mut message = self.to_string();
        if self.scheme.is_some() {
            message.push('\n');
        }
        for (name, text) in &self.details {
            let name = format!("{name}:");
            message.extend(["\n  ", &name, &" ".repeat(16_usize.saturating_sub(name.len()))]);
            message.push_str(&text.replace('\n', "\n                  "));
        }
        message
    }
}

/// The first line of the failure message.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())?;
        match &self.wanted {
            Some(wanted) => write!(f, "; the transport must {wanted}"),
            None => Ok(()),
        }
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
