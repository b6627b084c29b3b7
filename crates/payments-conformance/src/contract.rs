use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::authority::Authority;
use crate::call_log::NO_CALL;
use crate::child::Child;
use crate::harness::{Findings, Harness, Requirement};
use crate::scheme::schemes;
use crate::violation::Violation;
use crate::{Abilities, Ability, AnyStack, Verdict};

/// One contract: its name, why it matters for money, and which abilities it needs.
#[derive(Default)]
pub(crate) struct Contract {
    requirement: Requirement,
    needs: Vec<Ability>,
    exclusive: bool,
    /// Why the contract does not apply here, besides a missing ability.
    inapplicable: Option<&'static str>,
    /// Whether it starts another process.
    starts_a_child: bool,
}

/// The name of the function around it, which is the name of its contract.
macro_rules! own_name {
    () => {{
        fn here() {}
        $crate::contract::name_around(std::any::type_name_of_val(&here))
    }};
}
pub(crate) use own_name;

/// The name of the function in which an item with this path is.
pub(crate) fn name_around(path: &'static str) -> &'static str {
    path.rsplit("::").nth(1).unwrap_or(path)
}

/// Locked during every check: exclusively by contracts that measure the memory of the process, shared by all others.
static PROCESS: RwLock<()> = RwLock::new(());

impl Contract {
    /// A contract that needs a real server.
    pub(crate) fn new(name: &'static str, why: &'static str) -> Self {
        Self { needs: vec![Ability::Sockets], ..Self::scripted(name, why) }
    }

    /// A contract whose server is a [`Script`], which a stack without sockets can run itself.
    pub(crate) fn scripted(name: &'static str, why: &'static str) -> Self {
        let requirement = Requirement { name, why, ..Requirement::default() };
        Self { requirement, ..Self::default() }
    }

    /// A contract that needs a real server with TLS.
    pub(crate) fn over_tls(name: &'static str, why: &'static str) -> Self {
        Self::new(name, why).needs(Ability::Https)
    }

    /// A contract that needs a real server with HTTP/2.
    pub(crate) fn over_http2(name: &'static str, why: &'static str) -> Self {
        Self::new(name, why).needs(Ability::Http2)
    }

    pub(crate) fn needs(mut self, ability: Ability) -> Self {
        self.needs.push(ability);
        self
    }

    /// A contract that a stack without this ability breaks. The failure message says how to declare the missing ability.
    pub(crate) fn tests(self, ability: Ability) -> Self {
        let mut contract = self.needs(ability);
        contract.requirement.tested = Some(ability);
        contract
    }

    /// What a stack that breaks the contract often lacks.
    pub(crate) fn advice(mut self, advice: &'static str) -> Self {
        self.requirement.advice = Some(advice);
        self
    }

    /// Checks no other contract of the kit in this process at the same time.
    pub(crate) fn exclusive(self) -> Self {
        Self { exclusive: true, ..self }
    }

    /// A contract that does not apply here if there is a reason.
    pub(crate) fn unless(self, reason: Option<&'static str>) -> Self {
        Self { inapplicable: reason, ..self }
    }

    /// A contract that starts its own test again, as a child process.
    pub(crate) fn starting_a_child(self) -> Self {
        Self { starts_a_child: true, ..self }
    }

    /// Checks the contract over every scheme that the stack supports.
    pub(crate) fn check(
        self,
        stack: &dyn AnyStack,
        body: impl Fn(&Harness<'_>) -> Result<(), Violation>,
    ) -> Verdict {
        let name = self.requirement.name;
        let abilities = stack.abilities();
        if let Some(verdict) = self.without_check(&abilities) {
            return verdict;
        }
        let schemes = schemes(&abilities, &self.needs);
        if schemes.is_empty() {
            let reason = if abilities.missing(Ability::Http2).is_none() {
                "the stack supports HTTP/2 but not https, and the kit offers HTTP/2 only over TLS"
            } else {
                "the stack supports neither http nor https"
            };
            return Verdict::broken(name, Violation::new(reason), Vec::new());
        }
        let _write_guard = self.exclusive.then(|| PROCESS.write().unwrap_or_else(PoisonError::into_inner));
        let _read_guard = (!self.exclusive).then(|| PROCESS.read().unwrap_or_else(PoisonError::into_inner));
        let deviation = abilities.deviation_of(name);
        let (has_deviation, findings) = (deviation.is_some(), Mutex::default());
        let mut broken = None;
        for scheme in schemes {
            let (contract, authority, findings) = (&self.requirement, Authority::new(), &findings);
            let harness = Harness { stack, contract, scheme, authority, has_deviation, findings };
            // A panic must not keep the next contract from being checked.
            let kept = catch_unwind(AssertUnwindSafe(|| body(&harness))).unwrap_or_else(|panic| {
                let (received, calls) = ("nothing".to_owned(), NO_CALL.to_owned());
                Err(harness.in_situation(Violation::panicked(&*panic), "was not reached", received, calls))
            });
            if let Err(violation) = harness.unless_covered(kept) {
                broken = Some(violation);
                break;
            }
        }
        let Findings { figures, covered, unchecked } =
            findings.into_inner().unwrap_or_else(PoisonError::into_inner);
        let broken = broken.or(covered);
        if let Some(reason) = unchecked.filter(|_| broken.is_none()) {
            return Verdict::not_applicable(name, reason.to_owned());
        }
        let Some(violation) = broken else { return Verdict::kept(name, figures).with_deviation(deviation) };
        if let Some(reason) = deviation.filter(|_| violation.rule().is_some()) {
            let not_covered = format!(
                "the declared deviation (\"{reason}\") covers only this contract's own requirement, and the transport broke a \
                 general rule"
            );
            return Verdict::broken(name, violation.detail("deviation", not_covered), figures);
        }
        Verdict::broken(name, violation, figures).with_deviation(deviation)
    }

    /// The verdict if the contract does not apply. A declared deviation contradicts a missing ability, but not what only this
    /// program or this system cannot check.
    fn without_check(&self, abilities: &Abilities) -> Option<Verdict> {
        let name = self.requirement.name;
        let not_applicable = |reason: &str| Verdict::not_applicable(name, reason.to_owned());
        if let Some(contract) = Child::contract().filter(|contract| contract != name) {
            return Some(not_applicable(&format!("this process was started for {contract}")));
        }
        let missing = self.needs.iter().find_map(|ability| abilities.missing(*ability));
        // A child process connects to the server of its parent.
        let missing = missing.or_else(|| abilities.missing(Ability::Sockets).filter(|_| self.starts_a_child));
        if let Some(reason) = missing {
            return Some(not_applicable(reason).with_deviation(abilities.deviation_of(name)));
        }
        let no_child = Child::cannot_be_started().filter(|_| self.starts_a_child);
        self.inapplicable.or(no_child).map(not_applicable)
    }
}
