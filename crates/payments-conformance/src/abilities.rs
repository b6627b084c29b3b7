use crate::contract_list::names;

/// Something that a stack may be unable to do. A stack that lacks an ability declares it, with a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ability {
    /// The stack supports `http://`. Without it, contracts are checked over https only.
    PlainHttp,
    /// The stack supports `https://`. Without it, contracts are checked over plain http only.
    Https,
    /// Dropping a call ends it at once and closes its connection. A call that blocks a thread usually cannot do this.
    ///
    /// Even without this ability, an asynchronous `send` must not block the thread that polls it. See
    /// [`a_call_does_not_block_its_thread`](crate::contracts::environment::a_call_does_not_block_its_thread). A blocking
    /// client is a [`blocking`](crate::blocking) stack, which never has this ability.
    Cancel,
    /// The stack uses a connection for more than one call.
    Reuse,
    /// The stack connects to real sockets. Without it, the stack runs [`Setup::script`](crate::Setup::script) itself, and
    /// contracts that need a real server do not apply.
    Sockets,
    /// The stack supports HTTP/2. Where [`Setup::wants_http2`](crate::Setup::wants_http2) is true it offers both HTTP/2
    /// and HTTP/1.1. Off unless [declared](Abilities::with).
    Http2,
    /// Before it reuses an idle connection, the stack checks the socket for a close or an unexpected response, even if
    /// none of its background tasks has run since. Off unless [declared](Abilities::with).
    ///
    /// A stack without this ability must still notice whatever its background tasks have had time to read.
    LooksBeforeReuse,
    /// The stack notices within ten seconds that an HTTP/2 connection is dead although neither side closed it, for
    /// example with pings. Requires [`Http2`](Self::Http2). Off unless [declared](Abilities::with).
    Http2Pings,
    /// Over HTTP/1.1, the stack reads a response with 1 000 headers, as far as they fit into 64 KiB. Every stack must read
    /// 110. Off unless [declared](Abilities::with).
    ManyHeaders,
    /// Over HTTP/1.1, the stack reads headers that are folded over several lines. RFC 9112 (5.2) forbids servers to send
    /// them, and tells clients to read them. Off unless [declared](Abilities::with).
    FoldedHeaders,
}

/// What a stack can do, what it cannot do and why, and which contracts it knowingly breaks.
///
/// A new value has every [`Ability`] except the ones that are off unless declared: [`Ability::Http2`],
/// [`Ability::LooksBeforeReuse`], [`Ability::Http2Pings`], [`Ability::ManyHeaders`] and [`Ability::FoldedHeaders`].
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
                "the stack does not declare that it checks a connection before reusing it",
            ),
            (Ability::Http2Pings, "the stack does not declare that it notices dead HTTP/2 connections"),
            (Ability::ManyHeaders, "the stack does not declare that it reads 1 000 headers"),
            (Ability::FoldedHeaders, "the stack does not declare that it reads folded headers"),
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

    /// Declares that the stack cannot do this. The report shows the reason next to each contract that does not apply.
    pub fn without(self, ability: Ability, reason: impl Into<String>) -> Self {
        let mut abilities = self.with(ability);
        abilities.missing.push((ability, reason.into()));
        abilities
    }

    /// Declares that the stack breaks the contract with this name, and why that is acceptable.
    ///
    /// The contract is still checked. If it is broken, its test passes and the report shows the reason. If it is kept, or
    /// does not apply because of a missing ability, its test fails, so that outdated declarations are found. You accept the risk to money that the
    /// contract's documentation describes: mention it in the stack's own documentation.
    ///
    /// A deviation covers the contract's own requirement, not the [general rules](crate::contracts). A request sent
    /// twice, a wrong `NotProcessed`, an exposed secret, a panic, or a call that ends after its deadline still breaks the contract.
    ///
    /// # Panics
    ///
    /// If no contract has this name.
    #[track_caller]
    pub fn deviation(mut self, contract: impl Into<String>, reason: impl Into<String>) -> Self {
        let contract = contract.into();
        let names = names().into_iter().map(|(_, name)| name);
        if !names.clone().any(|name| name == contract) {
            let nearest = names.max_by_key(|name| common_words(name, &contract)).unwrap_or_default();
            panic!(
                "cannot declare a deviation from `{contract}`: there is no contract with that name; the nearest is \
                 `{nearest}`; see `payments_conformance::contracts` for all names"
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

/// How similar two names are: the letters of the words that they share, minus the letters of other words.
fn common_words(name: &str, misspelt: &str) -> isize {
    let letters = |one: &str, other: &str, both: bool| -> isize {
        let words = one.split('_').filter(|word| other.split('_').any(|it| it == *word) == both);
        words.map(|word| isize::try_from(word.len()).unwrap_or(0)).sum()
    };
    2 * letters(name, misspelt, true) - letters(name, misspelt, false)
}
