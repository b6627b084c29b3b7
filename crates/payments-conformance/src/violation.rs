use std::any::Any;
use std::fmt;
use std::panic::Location;

use http::StatusCode;
use payments_core::{Delivery, TransportErrorKind};

use crate::scheme::Scheme;

/// How a transport broke a contract: what it did, and what it must do instead.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    found: String,
    pub(crate) cause: Cause,
    /// "return an error", for example, unless `found` says it.
    pub(crate) wanted: Option<String>,
    /// Whether the contract wants a response to a call that has none.
    pub(crate) lacks_response: bool,
    /// Whether it must be fixed before anything else: money can move twice, or the API key or the card is given away.
    pub(crate) is_dangerous: bool,
    /// Whether the call returned a response instead of an error, or the response to another request.
    is_false_success: bool,
    /// Over which scheme, once it is known.
    pub(crate) scheme: Option<Scheme>,
    /// What to look at if it is the first violation.
    pub(crate) advice: Option<&'static str>,
    /// The labeled lines of the failure message. A label has at most thirteen characters.
    pub(crate) details: Vec<(&'static str, String)>,
}

/// What a violation is, whatever its words. Several contracts can be broken by one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// This check of the kit failed. It is in the code of one contract, or of a situation that several share.
    Check(&'static Location<'static>),
    /// The call returned a response with this status.
    Response(StatusCode),
    /// The call returned this error.
    Error(TransportErrorKind, Delivery),
    Rule(Rule),
    /// A panic with this message.
    Panic(String),
}

/// A rule that every contract checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    SendsOnce,
    ProvesNotProcessed,
    SendsOnlyToTheService,
    ShowsNoSecret,
    Ends,
    DoesNotPanic,
}

impl Rule {
    /// What a transport that breaks the rule can do.
    pub(crate) fn risk(self) -> &'static str {
        match self {
            Self::SendsOnce => {
                "a payment that is sent twice can be charged twice, and a request sent to another server exposes its contents \
                 there"
            }
            Self::ProvesNotProcessed => {
                "after NotProcessed the caller may charge again, although this charge may still succeed"
            }
            Self::SendsOnlyToTheService => {
                "that server is not the service, and now it has the API key and the card. Verify certificates and never fall \
                 back to plain http"
            }
            Self::ShowsNoSecret => {
                "programs log what they can print, and a log with a card number or an API key is a leak that must be reported"
            }
            Self::Ends => {
                "while a call hangs, its caller does not know that the payment is unresolved and cannot look it up"
            }
            Self::DoesNotPanic => {
                "a panic in the middle of a payment leaves its outcome unknown and can take other payments with it"
            }
        }
    }

    /// Why a transport often breaks it.
    pub(crate) fn advice(self) -> Option<&'static str> {
        match self {
            Self::Ends => Some(
                "the transport reads until the server closes the connection: read as many bytes as `Content-Length` says",
            ),
            Self::DoesNotPanic => {
                Some("a transport that needs a runtime panics without one: add `.block_on(..)` to the stack")
            }
            _ => None,
        }
    }
}

impl Violation {
    /// Breaks the contract's own requirement. `found` says what the transport did and what it must do.
    #[track_caller]
    pub(crate) fn new(found: impl Into<String>) -> Self {
        Self::of(Cause::Check(Location::caller()), found)
    }

    /// Breaks the contract's own requirement in a way that can move money twice, or gives the API key or the card away.
    #[track_caller]
    pub(crate) fn dangerous(found: impl Into<String>) -> Self {
        Self { is_dangerous: true, ..Self::new(found) }
    }

    /// Breaks a rule that every contract checks. No declared deviation covers it.
    pub(crate) fn general(found: impl Into<String>, rule: Rule) -> Self {
        Self::of(Cause::Rule(rule), found)
    }

    /// The transport or a contract panicked with this.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text =
            text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        Self::of(Cause::Panic(text.to_owned()), format!("a panic occurred: {text}"))
    }

    pub(crate) fn of(cause: Cause, found: impl Into<String>) -> Self {
        let mut violation = Self {
            found: found.into(),
            cause,
            wanted: None,
            lacks_response: false,
            is_dangerous: false,
            is_false_success: false,
            scheme: None,
            advice: None,
            details: Vec::new(),
        };
        let is_harmless = |rule| [Rule::Ends, Rule::DoesNotPanic].contains(&rule);
        violation.is_dangerous = violation.rule().is_some_and(|rule| !is_harmless(rule));
        violation
    }

    /// `None` if it breaks the contract's own requirement.
    pub(crate) fn rule(&self) -> Option<Rule> {
        match &self.cause {
            Cause::Rule(rule) => Some(*rule),
            Cause::Panic(_) => Some(Rule::DoesNotPanic),
            Cause::Check(_) | Cause::Response(_) | Cause::Error(..) => None,
        }
    }

    pub(crate) fn false_success(self, is_false_success: bool) -> Self {
        Self { is_false_success, ..self }
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

    /// Which of two violations of one contract is reported: one that no deviation covers, and of these the [more
    /// urgent](Self::urgency).
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        (self.rule().is_some(), self.urgency())
    }

    /// Which of two violations is fixed first.
    pub(crate) fn urgency(&self) -> (bool, bool) {
        (self.is_dangerous, self.is_false_success)
    }

    /// What the transport did.
    pub(crate) fn found(&self) -> String {
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
        f.write_str(&self.found())?;
        self.wanted.iter().try_for_each(|wanted| write!(f, "; the transport must {wanted}"))
    }
}

/// Returns a violation with this text from the function, unless the condition is true. After `dangerous unless`, the violation is
/// dangerous.
macro_rules! ensure {
    (dangerous unless $($ensured:tt)+) => {
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
