use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use futures_channel::oneshot;
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse, blocking};

use crate::{Ability, FnStack, Stack};

/// Turns a blocking stack, created by [`stack`](crate::stack), into a [`Stack`] for [`check`](crate::check) and the functions
/// in [`contracts`](crate::contracts). [`blocking_contract_tests!`](crate::blocking_contract_tests) creates a test for each
/// contract.
///
/// Each call runs on its own thread, and several run at once where a contract requires it. The transport must enforce the
/// deadlines, because a blocking call cannot be ended from outside. Contracts about dropped calls do not apply. For
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
pub fn blocking<T: blocking::Transport>(stack: FnStack<T>) -> impl Stack {
    let FnStack { transport, block_on, abilities, debug } = stack;
    FnStack {
        transport: Box::new(move |setup| ThreadPerCall(Arc::new(transport(setup)))),
        block_on,
        abilities: abilities.without(Ability::Cancel, "a blocking call cannot be interrupted"),
        debug: Box::new(move |ThreadPerCall(transport)| debug(transport)),
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
