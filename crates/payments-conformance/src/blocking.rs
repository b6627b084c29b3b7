use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use futures_channel::oneshot;
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse, blocking};

use crate::{Abilities, Ability, Setup, Stack};

/// A blocking HTTP stack under test. [`stack`](crate::stack) creates one from a function.
///
/// [`blocking_contract_tests!`](crate::blocking_contract_tests) creates a test for each contract. For a
/// [`Report`](crate::Report), wrap the stack in [`blocking`](crate::blocking): `check(&blocking(MyStack))`.
///
/// The kit makes each call on its own thread, and several at once where a contract requires it. The transport must
/// enforce the deadlines, because a blocking call cannot be ended from outside.
pub trait BlockingStack: Send + Sync + 'static {
    /// The transport under test.
    type Transport: blocking::Transport;

    /// Creates a new transport with its own connections, as a program would in production.
    ///
    /// It must trust [`Setup::authority_pem`], with or without the public authorities. A panic here breaks the contract
    /// that is being checked.
    fn transport(&self, setup: &Setup) -> Self::Transport;

    /// What the stack can and cannot do. The default is [`Abilities::default`].
    ///
    /// The kit always removes [`Ability::Cancel`].
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// The current time, by the clock that the transport uses for its deadlines. Override it for a simulated clock.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// The `Debug` output of the transport, if it has one. The kit searches it for the API key and the card.
    fn debug(&self, transport: &Self::Transport) -> Option<String> {
        let _ = transport;
        None
    }
}

/// Turns a blocking stack into a [`Stack`] for [`check`](crate::check) and the functions in
/// [`contracts`](crate::contracts).
///
/// Each call runs on its own thread. Contracts about dropped calls do not apply. For
/// [`a_call_does_not_block_its_thread`](crate::contracts::environment::a_call_does_not_block_its_thread) two threads make
/// one call each, which finds a transport that makes only one call at a time.
///
/// ```
/// # use payments_core::{TransportError, TransportErrorKind, TransportRequest, TransportResponse};
/// # struct MyTransport;
/// # impl payments_core::blocking::Transport for MyTransport {
/// #     fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
/// #         Err(TransportError::not_processed(TransportErrorKind::Connect))
/// #     }
/// # }
/// use payments_conformance::{blocking, check_only, stack};
///
/// let mine = blocking(stack(|_setup| MyTransport));
/// let report = check_only(&mine, |contract| contract.starts_with("refused"));
/// assert!(report.is_clean(), "{report}");
/// ```
pub fn blocking(stack: impl BlockingStack) -> impl Stack {
    OnThreads(stack)
}

struct OnThreads<S>(S);

impl<S: BlockingStack> Stack for OnThreads<S> {
    type Transport = ThreadPerCall<S::Transport>;

    fn transport(&self, setup: &Setup) -> Self::Transport {
        ThreadPerCall(Arc::new(self.0.transport(setup)))
    }

    fn abilities(&self) -> Abilities {
        self.0.abilities().without(Ability::Cancel, "a blocking call cannot be interrupted")
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn debug(&self, transport: &Self::Transport) -> Option<String> {
        self.0.debug(&transport.0)
    }
}

struct ThreadPerCall<T>(Arc<T>);

impl<T: blocking::Transport> Transport for ThreadPerCall<T> {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let transport = Arc::clone(&self.0);
        let (ended, end) = oneshot::channel();
        thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| transport.send(request)));
            // Dropped before the call ends, because the kit checks the connections afterwards.
            drop(transport);
            drop(ended.send(result));
        });
        let result = end.await.expect("the thread always sends a result");
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}
