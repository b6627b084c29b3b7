use std::fmt;

use crate::AnyStack;
use crate::contract_list::{names, themes};

/// Checks every contract on a stack, one after the other.
///
/// Use it for a report, or to test that a transport known to be broken fails. In your own test suite prefer
/// [`contract_tests!`](crate::contract_tests), which creates a named test for each contract.
///
/// This takes about half a minute each for http and https, mostly waiting for deadlines, and longer with HTTP/2, which
/// has more contracts and deadlines. Three contracts need a separate process and do not apply here, because only a test
/// created by [`contract_tests!`](crate::contract_tests) can start one: `the_proxy_of_the_environment_is_ignored`,
/// `an_answer_to_a_stopped_process_is_an_answer` and `what_is_logged_shows_no_secret`.
pub fn check(stack: &dyn AnyStack) -> Report {
    check_only(stack, |_contract| true)
}

/// Checks the contracts whose names `wanted` accepts.
///
/// If it accepts none, for example because a name is misspelled, the report has one broken verdict that says so and is
/// not clean. If `wanted` accepts several names, compare their number with the number of
/// [verdicts](Report::verdicts) to find a misspelled one.
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
/// // A transport that never sends anything keeps this contract, and hardly any other.
/// let report = payments_conformance::check_only(&Unplugged, |contract| contract.starts_with("refused"));
/// assert!(report.is_clean(), "{report}");
/// ```
pub fn check_only(stack: &dyn AnyStack, wanted: impl Fn(&str) -> bool) -> Report {
    let mut verdicts = crate::contracts::check_each(stack, &wanted);
    if verdicts.is_empty() {
        let message = "the filter accepts no contract's name, so nothing was checked; see \
                       `payments_conformance::contracts` for all names";
        verdicts.push(Verdict::broken("check_only", message.to_owned(), Vec::new()));
    }
    Report { verdicts }
}

/// The verdict for every contract, in the order in which to fix them. `Display` prints a line for each, below its theme, and the
/// broken ones once more at the end.
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

    /// Whether nothing is broken, and at least one contract is kept. Deviations and contracts that do not apply are declared by the
    /// stack: read the report.
    pub fn is_clean(&self) -> bool {
        self.broken().next().is_none() && self.verdicts.iter().any(Verdict::is_kept)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = None;
        for verdict in &self.verdicts {
            let theme = verdict.theme();
            if let Some((number, title)) = theme.as_ref().filter(|_| theme != printed) {
                writeln!(f, "{number}. {title}")?;
            }
            writeln!(f, "{verdict}")?;
            printed = theme;
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
        )?;
        for (index, verdict) in self.broken().enumerate() {
            let fix = if index == 0 { "\nfix in this order: " } else { ", " };
            write!(f, "{fix}{}", verdict.contract)?;
        }
        Ok(())
    }
}

/// The result of checking one contract on one stack.
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

    /// The verdict for a stack that may have declared, with this reason, that it breaks the contract.
    pub(crate) fn with_deviation(self, declared: Option<&str>) -> Self {
        let Some(reason) = declared else { return self };
        let status = match self.status {
            Status::Broken { message } => Status::Deviates { reason: reason.to_owned(), message },
            Status::Kept => Status::Broken {
                message: format!(
                    "the stack declares a deviation from `{}` (\"{reason}\") but keeps the contract: remove the declaration",
                    self.contract
                ),
            },
            Status::NotApplicable { reason: missing } => Status::Broken {
                message: format!(
                    "the stack declares a deviation from `{}` (\"{reason}\"), which does not apply ({missing}): \
                     remove one of the two declarations",
                    self.contract
                ),
            },
            deviates @ Status::Deviates { .. } => deviates,
        };
        Self { status, ..self }
    }

    /// The name of the contract, which is also the name of its function.
    pub fn contract(&self) -> &'static str {
        self.contract
    }

    /// The number of its theme, from 1 in the order in which to fix them, and the title. `None` if there is no such contract.
    fn theme(&self) -> Option<(usize, String)> {
        let (name, _) = names().into_iter().find(|(_, contract)| *contract == self.contract)?;
        let number = themes().into_iter().position(|theme| theme == name)? + 1;
        Some((number, name.replace('_', " ")))
    }

    /// Whether the stack keeps the contract.
    pub fn is_kept(&self) -> bool {
        matches!(self.status, Status::Kept)
    }

    /// Whether the stack breaks the contract without having declared it. Do not send payments through such a stack.
    pub fn is_broken(&self) -> bool {
        matches!(self.status, Status::Broken { .. })
    }

    /// Whether the stack breaks the contract and has [declared](crate::Abilities::deviation) it.
    pub fn is_deviation(&self) -> bool {
        matches!(self.status, Status::Deviates { .. })
    }

    /// Whether the contract was not checked: the stack lacks a required ability, or this program or system cannot check it. The
    /// line of the verdict has the reason.
    pub fn is_not_applicable(&self) -> bool {
        matches!(self.status, Status::NotApplicable { .. })
    }

    /// The full failure message of a broken contract: what the server did and received, what the transport reported and
    /// should have reported, and what this can do to money. `None` if the contract is kept or does not apply.
    pub fn story(&self) -> Option<&str> {
        match &self.status {
            Status::Broken { message } | Status::Deviates { message, .. } => Some(message),
            Status::Kept | Status::NotApplicable { .. } => None,
        }
    }

    /// What was measured during the check, as text.
    pub fn figures(&self) -> &[String] {
        &self.figures
    }

    /// Prints the verdict to the test's output, or panics with the failure message.
    ///
    /// # Panics
    ///
    /// If the contract is broken, with the full failure message.
    #[track_caller]
    #[allow(clippy::print_stdout, reason = "measured figures belong in the output of a test")]
    pub fn assert_kept(&self) {
        if let Status::Broken { message } = &self.status {
            let theme = self.theme().map(|(number, title)| {
                let count = themes().len();
                format!(
                    "\n  theme:          {number} of {count}, {title}; fix failures of earlier themes first"
                )
            });
            panic!("\n\n{message}{}\n", theme.unwrap_or_default());
        }
        println!("{self}");
    }
}

/// One line: the verdict, the contract, and a reason or the measured figures.
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
