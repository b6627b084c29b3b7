use std::cell::Cell;
use std::cmp::Reverse;
use std::fmt;

use crate::AnyStack;
use crate::arrivals::counted;
use crate::contract_list::{Theme, theme_of};
use crate::violation::Violation;

/// Checks every contract on a stack, one after the other.
///
/// Use it for a report, or to test that a transport known to be broken fails. In your own test suite prefer
/// [`contract_tests!`](crate::contract_tests), which creates a named test for each contract.
///
/// This takes about half a minute each for http and https, mostly waiting for deadlines, and longer with HTTP/2, which
/// has more contracts and deadlines. Four contracts need a separate process and do not apply here, because only a test
/// created by [`contract_tests!`](crate::contract_tests) can start one: `the_proxy_of_the_environment_is_ignored`,
/// `an_answer_to_a_stopped_process_is_an_answer`, `a_request_cut_by_a_stop_is_never_completed` and
/// `what_is_logged_shows_no_secret`.
///
/// It prints each theme to stderr when it begins.
#[allow(clippy::print_stderr, reason = "a minute of silence looks like a hang")]
pub fn check(stack: &dyn AnyStack) -> Report {
    let current = Cell::new(None);
    check_only(stack, |contract| {
        let theme = theme_of(contract);
        if let Some(theme) = theme.filter(|_| current.replace(theme) != theme) {
            eprintln!("checking {theme}");
        }
        true
    })
}

/// Checks the contracts whose names `wanted` accepts. It asks for each one just before its turn.
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
        verdicts.push(Verdict::broken("check_only", Violation::new(message), Vec::new()));
    }
    // The sort is stable, so that the themes stay in order.
    verdicts.sort_by_key(|verdict| Reverse(verdict.violation().map_or((false, false), Violation::urgency)));
    Report { verdicts }
}

/// Why a contract was not checked that starts its own test again.
pub(crate) const ONLY_IN_TESTS: &str = "it needs a separate process, which only a test created by `contract_tests!` can start: write \
     `payments_conformance::contract_tests!(your_stack());`, or `blocking_contract_tests!` for a stack that blocks, into a file in `tests/` \
     and run `cargo test`";

/// The verdict for every contract, in the order in which to fix them: first what can move money twice or gives the API key or the
/// card away, such as a request that is sent again or a wrong `NotProcessed`, then a response that is returned instead of an error,
/// then by theme.
///
/// `Display` prints how many contracts only [`contract_tests!`](crate::contract_tests) runs, the numbers, the whole failure message of
/// the contract to fix first, and then each cause once with the contracts that it breaks, by theme. Deviations, contracts that do not
/// apply and contracts that are kept follow in the same way.
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
    /// stack, and those that only [`contract_tests!`](crate::contract_tests) runs were not checked: read the report.
    pub fn is_clean(&self) -> bool {
        self.broken().next().is_none() && self.verdicts.iter().any(Verdict::is_kept)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: [fn(&Verdict) -> bool; 4] =
            [Verdict::is_broken, Verdict::is_deviation, Verdict::is_not_applicable, Verdict::is_kept];
        let [broken, deviations, not_applicable, kept] =
            parts.map(|is| self.verdicts.iter().filter(|verdict| is(verdict)).collect::<Vec<_>>());
        let is_only_in_tests = |verdict: &&&Verdict| matches!(&verdict.status, Status::NotApplicable { reason } if reason == ONLY_IN_TESTS);
        match not_applicable.iter().filter(is_only_in_tests).count() {
            0 => {}
            count => {
                let contracts = counted(count, "contract");
                writeln!(f, "NOT CHECKED: {contracts}, which only contract_tests! runs")?;
            }
        }
        write!(
            f,
            "{} contracts: {} kept, {} broken, {} declared deviations, {} not applicable",
            self.verdicts.len(),
            kept.len(),
            broken.len(),
            deviations.len(),
            not_applicable.len(),
        )?;
        if let Some(first) = broken.first() {
            write!(f, "\n\nfix first: {}", first.story().unwrap_or_default())?;
            if let Some(advice) = first.violation().and_then(|violation| violation.advice) {
                write!(f, "\n  often:          {advice}")?;
            }
            f.write_str("\n")?;
        }
        for group in [broken, deviations, not_applicable, kept].iter().flat_map(|part| by_cause(part)) {
            write!(f, "\n{}", group[0].reason().lines().next().unwrap_or_default())?;
            let mut above = None;
            for verdict in group {
                let theme = theme_of(verdict.contract);
                if let Some(theme) = theme.filter(|_| theme != above) {
                    write!(f, "\n  {theme}")?;
                }
                write!(f, "\n     {}", verdict.contract_and_figures())?;
                if let Some(wanted) = verdict.violation().and_then(|violation| violation.wanted.as_ref()) {
                    write!(f, ": must {wanted}")?;
                }
                above = theme;
            }
        }
        Ok(())
    }
}

/// Groups the verdicts of one kind by what caused them, in the order of the first of each group.
fn by_cause<'a>(verdicts: &[&'a Verdict]) -> Vec<Vec<&'a Verdict>> {
    let mut groups: Vec<Vec<&Verdict>> = Vec::new();
    for verdict in verdicts {
        match groups.iter_mut().find(|group| group[0].status.has_cause_of(&verdict.status)) {
            Some(group) => group.push(verdict),
            None => groups.push(vec![verdict]),
        }
    }
    groups
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
    Broken { violation: Box<Violation>, message: String },
    NotApplicable { reason: String },
    Deviates { reason: String, message: String },
}

impl Status {
    fn has_cause_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kept, Self::Kept) => true,
            (Self::Broken { violation: one, .. }, Self::Broken { violation: other, .. }) => {
                one.scheme == other.scheme && one.cause == other.cause
            }
            (Self::NotApplicable { reason: one }, Self::NotApplicable { reason: other })
            | (Self::Deviates { reason: one, .. }, Self::Deviates { reason: other, .. }) => one == other,
            _ => false,
        }
    }
}

impl Verdict {
    pub(crate) fn kept(contract: &'static str, figures: Vec<String>) -> Self {
        Self { contract, status: Status::Kept, figures }
    }

    pub(crate) fn broken(contract: &'static str, violation: Violation, figures: Vec<String>) -> Self {
        let (message, violation) = (violation.message(), Box::new(violation));
        Self { contract, status: Status::Broken { violation, message }, figures }
    }

    pub(crate) fn not_applicable(contract: &'static str, reason: String) -> Self {
        Self { contract, status: Status::NotApplicable { reason }, figures: Vec::new() }
    }

    /// The verdict for a stack that may have declared, with this reason, that it breaks the contract.
    pub(crate) fn with_deviation(self, declared: Option<&str>) -> Self {
        let Some(reason) = declared else { return self };
        let Self { contract, status, figures } = self;
        let found = match status {
            Status::Broken { message, .. } | Status::Deviates { message, .. } => {
                let status = Status::Deviates { reason: reason.to_owned(), message };
                return Self { contract, status, figures };
            }
            Status::Kept => format!(
                "the stack declares a deviation from `{contract}` (\"{reason}\") but keeps the contract: remove the declaration"
            ),
            Status::NotApplicable { reason: missing } => format!(
                "the stack declares a deviation from `{contract}` (\"{reason}\"), which does not apply ({missing}): remove one of \
                 the two declarations"
            ),
        };
        Self::broken(contract, Violation::new(found), figures)
    }

    /// The name of the contract, which is also the name of its function.
    pub fn contract(&self) -> &'static str {
        self.contract
    }

    /// The verdict and its reason, without what the transport must do instead.
    fn reason(&self) -> String {
        match &self.status {
            Status::Kept => "kept".to_owned(),
            Status::Broken { violation, .. } => format!("BROKEN {}", violation.found()),
            Status::NotApplicable { reason } => format!("not applicable: {reason}"),
            Status::Deviates { reason, .. } => format!("DEVIATES: {reason}"),
        }
    }

    fn violation(&self) -> Option<&Violation> {
        let Status::Broken { violation, .. } = &self.status else { return None };
        Some(violation)
    }

    fn contract_and_figures(&self) -> String {
        let figures = self.figures.join("; ");
        if figures.is_empty() { self.contract.to_owned() } else { format!("{} ({figures})", self.contract) }
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
            Status::Broken { message, .. } | Status::Deviates { message, .. } => Some(message),
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
        if let Status::Broken { violation, message } = &self.status {
            let order = if violation.is_dangerous {
                "fix it before any failure that cannot move money twice or give the API key away"
            } else {
                "fix failures of earlier themes first, and those that can move money twice or give the API key away"
            };
            let count = Theme::all().count();
            let theme = theme_of(self.contract)
                .map(|theme| format!("\n  theme:          {theme} (of {count}); {order}"));
            panic!("\n\n{message}{}\n", theme.unwrap_or_default());
        }
        println!("{self}");
    }
}

/// One line: the contract with the measured figures, the verdict and its reason.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.violation() {
            Some(violation) => format!("BROKEN {violation}"),
            None => self.reason(),
        };
        // A panic's message may have several lines.
        write!(f, "{}: {}", self.contract_and_figures(), verdict.lines().next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::Response;
    use payments_core::{TransportError, TransportErrorKind, TransportResponse};

    use super::*;
    use crate::completed_call::CompletedCall;
    use crate::scheme::Scheme;
    use crate::violation::Rule;

    fn ended(result: Result<TransportResponse, TransportError>) -> Violation {
        let (id, took, total) = ("charge-00001".to_owned(), Duration::ZERO, Duration::ZERO);
        CompletedCall { id, result, took, total }.expected("something else")
    }

    #[test]
    fn failures_are_grouped_by_what_they_are_and_not_by_their_words() {
        let responded = |status: u16, body: &'static str| {
            let response = Response::builder().status(status).body(Bytes::from_static(body.as_bytes()));
            ended(Ok(TransportResponse::new(response.unwrap())))
        };
        let failed = |kind, words: &'static str| ended(Err(TransportError::unknown(kind).with_source(words)));
        let answered = |kind| ended(Err(TransportError::answered(kind, Response::new(Bytes::new()))));
        let panicked = |words: &'static str| Violation::panicked(&words);
        let over = |scheme, mut violation: Violation| {
            violation.scheme = Some(scheme);
            violation
        };
        let own = |words| Violation::new(words);
        let (closed, protocol) = (TransportErrorKind::Closed, TransportErrorKind::Protocol);
        for (what, one, other, causes) in [
            ("one status", responded(404, "no"), responded(404, "not here"), 1),
            ("two statuses", responded(404, ""), responded(500, ""), 2),
            ("one kind in other words", failed(closed, "the peer left"), failed(closed, "no more bytes"), 1),
            ("two kinds", failed(closed, ""), failed(protocol, ""), 2),
            ("two deliveries", failed(closed, ""), answered(closed), 2),
            (
                "one rule",
                Violation::general("twice", Rule::SendsOnce),
                Violation::general("posted", Rule::SendsOnce),
                1,
            ),
            ("one requirement", own("5 connections"), own("several connections"), 1),
            ("two requirements", own("4"), Violation::new("5"), 2),
            ("two panics", panicked("index 1 of 0"), panicked("index 2 of 0"), 2),
            ("two schemes", over(Scheme::Http, own("1")), over(Scheme::Https, own("1")), 2),
        ] {
            let verdicts = [one, other].map(|violation| Verdict::broken("a", violation, Vec::new()));
            assert_eq!(by_cause(&verdicts.each_ref()[..]).len(), causes, "{what}: {verdicts:?}");
        }
        let without = |reason: &str| Verdict::not_applicable("a", reason.to_owned());
        let verdicts = ["HTTP 2", "HTTP 3", "HTTP 2"].map(without);
        assert_eq!(by_cause(&verdicts.each_ref()[..]).len(), 2, "{verdicts:?}");
    }
}
