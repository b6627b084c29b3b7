use std::fmt;

use crate::Stack;

/// Checks every contract on a stack, one after the other.
///
/// For a report, or for a test that a transport known to be broken is found out. In a test suite of your own
/// [`contract_tests!`](crate::contract_tests) is better: it makes a named test of each contract.
///
/// It takes half a minute or so for each of http and https, most of it spent waiting for deadlines, and
/// longer where the stack has HTTP/2, which has contracts and deadlines of its own. Contracts that need a process of their
/// own, such as that of the proxy, do not apply here: only [`contract_tests!`](crate::contract_tests) makes a test that can
/// be run in one.
pub fn check(stack: &impl Stack) -> Report {
    check_only(stack, |_contract| true)
}

/// Checks the contracts whose names `wanted` takes.
///
/// If it takes none, as with a misspelt name, nothing was checked: the report then has one broken verdict that says so, and
/// is not clean. A filter that takes several names cannot be asked which one it misses, so compare their number with that
/// of the [verdicts](Report::verdicts).
///
/// ```
/// # use payments_conformance::{Setup, Stack};
/// # use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
/// # struct MyTransport;
/// # impl Transport for MyTransport {
/// #     async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
/// #         Err(TransportError::not_processed(TransportErrorKind::Connect))
/// #     }
/// # }
/// # struct Unplugged;
/// # impl Stack for Unplugged {
/// #     type Transport = MyTransport;
/// #     fn transport(&self, _: &Setup) -> MyTransport { MyTransport }
/// # }
/// // A transport that never sends anything keeps this one, and hardly any other.
/// let report = payments_conformance::check_only(&Unplugged, |contract| contract.starts_with("refused"));
/// assert!(report.is_clean(), "{report}");
/// ```
pub fn check_only(stack: &impl Stack, wanted: impl Fn(&str) -> bool) -> Report {
    let mut verdicts = crate::contracts::check_each(stack, wanted);
    if verdicts.is_empty() {
        let message = "no contract has a name that the filter takes, so nothing was checked; the module \
                     `payments_conformance::contracts` has all names";
        verdicts.push(Verdict::broken("check_only", message.to_owned(), Vec::new()));
    }
    Report { verdicts }
}

/// The verdicts on every contract, in the order of the documentation. `Display` is one line for each.
#[derive(Clone, Debug)]
#[must_use = "an unread report proves nothing"]
pub struct Report {
    verdicts: Vec<Verdict>,
}

impl Report {
    /// One verdict for each contract.
    pub fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// The contracts that are broken and not declared as deviations.
    pub fn broken(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.is_broken())
    }

    /// Whether nothing is broken. Deviations and what does not apply are the stack's own word: read the report.
    pub fn is_clean(&self) -> bool {
        self.broken().next().is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for verdict in &self.verdicts {
            writeln!(f, "{verdict}")?;
        }
        let count = |is: fn(&Verdict) -> bool| self.verdicts.iter().filter(|verdict| is(verdict)).count();
        write!(
            f,
            "{} contracts: {} kept, {} broken, {} declared deviations, {} not applicable",
            self.verdicts.len(),
            count(Verdict::is_kept),
            count(Verdict::is_broken),
            count(Verdict::is_deviation),
            count(Verdict::is_not_applicable),
        )
    }
}

/// What came of checking one contract on one stack.
#[derive(Clone, Debug)]
#[must_use = "an unread verdict proves nothing"]
pub struct Verdict {
    contract: &'static str,
    status: Status,
    figures: Vec<String>,
}

#[derive(Clone, Debug)]
enum Status {
    Kept,
    Broken { message: String },
    NotApplicable { reason: String },
    Deviates { reason: String, message: String },
}

impl Verdict {
    pub(crate) fn kept(contract: &'static str, figures: Vec<String>) -> Self {
        Self { contract, status: Status::Kept, figures }
    }

    pub(crate) fn broken(contract: &'static str, message: String, figures: Vec<String>) -> Self {
        Self { contract, status: Status::Broken { message }, figures }
    }

    pub(crate) fn not_applicable(contract: &'static str, reason: String) -> Self {
        Self { contract, status: Status::NotApplicable { reason }, figures: Vec::new() }
    }

    /// The verdict on a stack that may have declared, with this reason, that it breaks the contract.
    pub(crate) fn with_deviation(self, declared: Option<&str>) -> Self {
        let Some(reason) = declared else { return self };
        let status = match self.status {
            Status::Broken { message } => Status::Deviates { reason: reason.to_owned(), message },
            Status::Kept => Status::Broken {
                message: format!(
                    "the stack declares a deviation from `{}` (\"{reason}\"), but keeps it: remove the declaration",
                    self.contract
                ),
            },
            Status::NotApplicable { reason: missing } => Status::Broken {
                message: format!(
                    "the stack declares a deviation from `{}` (\"{reason}\"), which does not apply to it ({missing}): \
                     remove one of the two declarations",
                    self.contract
                ),
            },
            deviates @ Status::Deviates { .. } => deviates,
        };
        Self { status, ..self }
    }

    /// The name of the contract, which is that of its function.
    pub fn contract(&self) -> &'static str {
        self.contract
    }

    /// Whether the stack keeps the contract.
    pub fn is_kept(&self) -> bool {
        matches!(self.status, Status::Kept)
    }

    /// Whether the stack breaks the contract without having declared it: do not send payments through it.
    pub fn is_broken(&self) -> bool {
        matches!(self.status, Status::Broken { .. })
    }

    /// Whether the stack breaks the contract and has [declared](crate::Abilities::deviation) it.
    pub fn is_deviation(&self) -> bool {
        matches!(self.status, Status::Deviates { .. })
    }

    /// Whether the stack cannot be asked, because it has declared that it lacks what the contract is about.
    pub fn is_not_applicable(&self) -> bool {
        matches!(self.status, Status::NotApplicable { .. })
    }

    /// What happened, where the contract is broken: what the server did, what reached it, what the transport said, what
    /// it should have said, and what that means for the money.
    pub fn story(&self) -> Option<&str> {
        match &self.status {
            Status::Broken { message } | Status::Deviates { message, .. } => Some(message),
            Status::Kept | Status::NotApplicable { .. } => None,
        }
    }

    /// What was measured on the way, in words.
    pub fn figures(&self) -> &[String] {
        &self.figures
    }

    /// Prints the verdict to the output of the test, unless the panic shows it.
    ///
    /// # Panics
    ///
    /// If the contract is broken, with the whole story.
    #[track_caller]
    #[allow(clippy::print_stdout, reason = "the output of a test is where its figures are looked for")]
    pub fn assert_kept(&self) {
        if let Status::Broken { message } = &self.status {
            panic!("\n\n{message}\n");
        }
        println!("{self}");
    }
}

/// One line: the verdict, the contract, a reason or the figures.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contract, status, figures } = self;
        match status {
            Status::Kept => write!(f, "kept            {contract}")?,
            Status::Broken { message } => {
                write!(f, "BROKEN          {contract}: {}", message.lines().next().unwrap_or_default())?;
            }
            Status::NotApplicable { reason } => write!(f, "not applicable  {contract}: {reason}")?,
            Status::Deviates { reason, .. } => write!(f, "DEVIATES        {contract}: {reason}")?,
        }
        if !figures.is_empty() {
            write!(f, " ({})", figures.join("; "))?;
        }
        Ok(())
    }
}
