use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use futures_channel::oneshot;
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse, blocking};

use crate::{Abilities, Ability, Setup, Stack};

/// A blocking HTTP stack to be tested: how to make its transport. [`stack`](crate::stack) makes one from a function.
///
/// [`blocking_contract_tests!`](crate::blocking_contract_tests) makes a test of each contract that applies. For a
/// [`Report`](crate::Report), wrap the stack with [`blocking`](crate::blocking): `check(&blocking(MyStack))`.
///
/// The kit makes each call on a thread of its own, several at once where a contract asks for that. The transport must
/// keep the deadlines itself, because nobody can end a blocking call from outside.
pub trait BlockingStack: Send + Sync + 'static {
    /// The transport under test.
    type Transport: blocking::Transport;

    /// Makes a new transport with connections of its own, as a program would for production.
    ///
    /// It must trust [`Setup::authority_pem`] besides or instead of the public authorities. A panic here breaks the
    /// contract that is being checked.
    fn transport(&self, setup: &Setup) -> Self::Transport;

    /// What the stack can and cannot do; by default what [`Abilities::default`] has.
    ///
    /// [`Ability::Cancel`] is always taken away.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// The time, by the clock that the transport keeps its deadlines by: the machine's, unless the stack plays it.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// What the transport's own `Debug` shows, where it has one: the kit searches it for the key and the card.
    fn debug(&self, transport: &Self::Transport) -> Option<String> {
        let _ = transport;
        None
    }
}

/// A [`Stack`] of a blocking one, for [`check`](crate::check) and the functions in [`contracts`](crate::contracts).
///
/// Each call is made by a thread of its own. Contracts about dropped calls do not apply; all others do. In
/// [`a_call_does_not_block_its_thread`](crate::contracts::environment::a_call_does_not_block_its_thread) two threads make
/// a call each, so that a transport which makes one call at a time is found.
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
    fn send(
        &self,
        request: TransportRequest,
    ) -> impl Future<Output = Result<TransportResponse, TransportError>> + Send {
        let transport = Arc::clone(&self.0);
        async move {
            let (ended, end) = oneshot::channel();
            thread::spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| transport.send(request)));
                // The kit drops its transports on its own threads, and looks at the connections afterwards.
                drop(transport);
                drop(ended.send(result));
            });
            let result = end.await.expect("the thread sends whatever it ends with");
            result.unwrap_or_else(|panic| resume_unwind(panic))
        }
    }
}
