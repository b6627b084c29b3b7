use std::fmt;

use crate::{Stack, Verdict};

/// Checks every contract on a stack, one after the other.
///
/// For a report, or for a test that a transport known to be broken is found out. In a test suite of your own
/// [`contract_tests!`](crate::contract_tests) is better: it makes a named test of each contract.
///
/// It takes half a minute or so for each of http and https, most of it spent waiting for deadlines, and
/// longer where the stack has HTTP/2, which has contracts and deadlines of its own. One contract, that of the proxy, can only be checked on the thread of a
/// `#[test]`, which it runs again in a process of its own.
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
        let story = "no contract has a name that the filter takes, so nothing was checked; the module \
                     `payments_conformance::contracts` has all names";
        verdicts.push(Verdict::broken("check_only", story.to_owned(), Vec::new()));
    }
    Report { verdicts }
}

/// The verdicts on every contract, in the order of the documentation. `Display` is one line for each.
#[derive(Clone, Debug)]
#[must_use = "a report that nobody reads proves nothing"]
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
