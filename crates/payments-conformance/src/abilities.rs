use crate::contracts::NAMES;

/// Something that a stack may not be able to do, for a reason that it has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ability {
    /// It speaks `http://`. A stack without it is checked over https alone.
    PlainHttp,
    /// It speaks `https://`. A stack without it is checked over plain http alone.
    Https,
    /// A dropped call ends at once and closes its connection. A call that blocks a thread usually cannot.
    ///
    /// An asynchronous `send` must not block the thread that polls it, even without this ability. See
    /// [`a_call_does_not_block_its_thread`](crate::contracts::environment::a_call_does_not_block_its_thread). A client
    /// that blocks is a [`BlockingStack`](crate::BlockingStack), which never has this ability.
    Cancel,
    /// It uses a connection for more than one call.
    Reuse,
    /// It reaches real sockets. A stack without it plays [`Setup::script`](crate::Setup::script) itself, and the
    /// contracts that need a real server do not apply.
    Sockets,
    /// It speaks HTTP/2 to a server that offers it, where [`Setup::wants_http2`](crate::Setup::wants_http2) says so; it
    /// offers HTTP/1.1 beside it. Off unless [declared](Abilities::with).
    Http2,
    /// Before it uses an idle connection it looks whether a close or a response has arrived on it, even if nothing of the
    /// stack has run since. Off unless [declared](Abilities::with).
    ///
    /// A stack without it must still see what a background task has had time to see.
    LooksBeforeReuse,
    /// It notices within ten seconds that an HTTP/2 connection is dead although nobody closed it, by pings for example.
    /// It needs [`Http2`](Self::Http2). Off unless [declared](Abilities::with).
    Http2Pings,
}

/// What a stack can do, what it cannot and why, and which contracts it knowingly breaks.
///
/// A new value has every [`Ability`] but those that are off unless declared: [`Ability::Http2`],
/// [`Ability::LooksBeforeReuse`] and [`Ability::Http2Pings`].
///
/// ```
/// use payments_conformance::{Abilities, Ability};
///
/// let abilities = Abilities::default().without(Ability::Cancel, "a blocking call cannot be interrupted");
/// ```
#[derive(Clone, Debug)]
#[must_use = "abilities do nothing until `Stack::abilities` returns them"]
pub struct Abilities {
    missing: Vec<(Ability, String)>,
    deviations: Vec<(String, String)>,
}

impl Default for Abilities {
    fn default() -> Self {
        let missing = [
            (Ability::Http2, "the stack does not offer HTTP/2"),
            (
                Ability::LooksBeforeReuse,
                "the stack does not say that it looks at a connection before it uses it again",
            ),
            (Ability::Http2Pings, "the stack does not say that it notices dead HTTP/2 connections"),
        ];
        let missing = missing.map(|(ability, reason)| (ability, reason.to_owned()));
        Self { missing: missing.into(), deviations: Vec::new() }
    }
}

impl Abilities {
    /// Declares that the stack can do this.
    pub fn with(mut self, ability: Ability) -> Self {
        self.missing.retain(|(missing, _)| *missing != ability);
        self
    }

    /// Declares that the stack cannot do this. The reason is shown beside each contract that does not apply for it.
    pub fn without(self, ability: Ability, reason: impl Into<String>) -> Self {
        let mut abilities = self.with(ability);
        abilities.missing.push((ability, reason.into()));
        abilities
    }

    /// Declares that the stack breaks the contract of this name, and why that is borne.
    ///
    /// The contract is still checked. If it is broken, the report says so with the reason and the test passes; if
    /// it is kept, or does not apply, the test fails, so that no excuse outlives its cause. Whoever declares a deviation
    /// takes the risk to the money that the contract's documentation names: say so in the stack's own documentation.
    ///
    /// It covers what the contract demands, and not what is owed in [every situation](crate::contracts): a request that
    /// is sent twice, a wrong `NotProcessed`, a secret that is shown, a panic and a call that never ends break the
    /// contract all the same.
    ///
    /// # Panics
    ///
    /// If no contract has this name.
    #[track_caller]
    pub fn deviation(mut self, contract: impl Into<String>, reason: impl Into<String>) -> Self {
        let contract = contract.into();
        if !NAMES.contains(&contract.as_str()) {
            let nearest = NAMES.iter().max_by_key(|name| common_words(name, &contract)).unwrap_or(&"");
            panic!(
                "a deviation is declared from `{contract}`, and no contract has that name; the nearest is `{nearest}`, \
                 and the module `payments_conformance::contracts` has them all"
            );
        }
        self.deviations.push((contract, reason.into()));
        self
    }

    /// Why the stack cannot do this; `None` if it can.
    pub fn missing(&self, ability: Ability) -> Option<&str> {
        self.missing.iter().find(|(missing, _)| *missing == ability).map(|(_, reason)| reason.as_str())
    }

    pub(crate) fn deviation_of(&self, contract: &str) -> Option<&str> {
        self.deviations.iter().find(|(name, _)| name == contract).map(|(_, reason)| reason.as_str())
    }
}

/// How much of the contract's name is in a misspelt one: the letters of the words that both have, less those of others.
fn common_words(name: &str, misspelt: &str) -> isize {
    let letters = |one: &str, other: &str, both: bool| -> isize {
        let words = one.split('_').filter(|word| other.split('_').any(|it| it == *word) == both);
        words.map(|word| isize::try_from(word.len()).unwrap_or(0)).sum()
    };
    2 * letters(name, misspelt, true) - letters(name, misspelt, false)
}
