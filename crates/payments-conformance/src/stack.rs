use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use payments_core::{Transport, blocking};

use crate::{Abilities, BlockingStack, Journal, Script};

/// An HTTP stack to be tested: how to make its transport, and how to wait for a future.
///
/// [`stack`] makes one from a function. Implement the trait where that is not enough, for a clock of its own for example.
pub trait Stack: Send + Sync + 'static {
    /// The transport under test.
    type Transport: Transport;

    /// Makes a new transport with connections of its own, as a program would for production.
    ///
    /// It must trust [`Setup::authority_pem`] besides or instead of the public authorities. It is called outside of any
    /// runtime, on any thread. A panic here breaks the contract that is being checked.
    fn transport(&self, setup: &Setup) -> Self::Transport;

    /// Runs a future of the stack to its end, with whatever runtime, clock and network its transport needs.
    ///
    /// The kit polls many calls in one future, so that no task has to be spawned. By default the calling thread sleeps
    /// until it is woken, which suits transports that bring their own threads.
    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        crate::block_on(future)
    }

    /// What the stack can and cannot do; by default what [`Abilities::default`] has.
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

/// What a new transport must be told before it can be tested.
pub struct Setup {
    pub(crate) authority_pem: String,
    pub(crate) authority_der: Vec<u8>,
    pub(crate) http2: bool,
    pub(crate) script: Option<Script>,
    pub(crate) journal: Journal,
}

impl Setup {
    /// The certificate authority of the kit's servers, as PEM text: the transport must trust it.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The same certificate as DER.
    pub fn authority_der(&self) -> &[u8] {
        &self.authority_der
    }

    /// Whether the transport is to offer HTTP/2: only ever true for a stack that has
    /// [`Ability::Http2`](crate::Ability::Http2).
    pub fn wants_http2(&self) -> bool {
        self.http2
    }

    /// What the server does, for a stack without [`Ability::Sockets`](crate::Ability::Sockets), which has to play it
    /// itself; `None` for all others, whose server is the kit's.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    /// Where a stack without [`Ability::Sockets`](crate::Ability::Sockets) writes down every request that reached its
    /// stand-in of a server.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("http2", &self.http2).finish_non_exhaustive()
    }
}

/// A stack whose transport this function makes, asynchronous or blocking.
///
/// [`FnStack`] says what can be added to it.
///
/// ```
/// # use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
/// # struct MyTransport;
/// # impl MyTransport { fn trusting(_: &str) -> Self { Self } }
/// # impl Transport for MyTransport {
/// #     async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
/// #         Err(TransportError::not_processed(TransportErrorKind::Connect))
/// #     }
/// # }
/// use payments_conformance::{check_only, stack};
///
/// let mine = stack(|setup| MyTransport::trusting(setup.authority_pem()));
/// let report = check_only(&mine, |contract| contract.starts_with("refused"));
/// assert!(report.is_clean(), "{report}");
/// ```
pub fn stack<T: 'static>(transport: impl Fn(&Setup) -> T + Send + Sync + 'static) -> FnStack<T> {
    FnStack {
        transport: Box::new(transport),
        block_on: Box::new(|future| crate::block_on(future)),
        abilities: Abilities::default(),
        debug: |_| None,
    }
}

/// What [`stack`] makes: a [`Stack`] if its transports are asynchronous, a [`BlockingStack`] if they block.
#[must_use = "a stack does nothing until it is checked"]
pub struct FnStack<T> {
    transport: Box<dyn Fn(&Setup) -> T + Send + Sync>,
    block_on: Box<dyn Fn(BoxFuture<'_>) + Send + Sync>,
    abilities: Abilities,
    debug: fn(&T) -> Option<String>,
}

type BoxFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl<T: 'static> FnStack<T> {
    /// Sets how a future is run to its end, for transports that need the clock or the network of a runtime.
    ///
    /// By default the calling thread sleeps until the future is woken.
    ///
    /// ```
    /// # use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
    /// # struct MyTransport;
    /// # impl MyTransport { fn trusting(_: &str) -> Self { Self } }
    /// # impl Transport for MyTransport {
    /// #     async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
    /// #         Err(TransportError::not_processed(TransportErrorKind::Connect))
    /// #     }
    /// # }
    /// # struct Runtime;
    /// # impl Runtime {
    /// #     fn new() -> std::io::Result<Self> { Ok(Self) }
    /// #     fn block_on<F: Future>(&self, future: F) -> F::Output { payments_conformance::block_on(future) }
    /// # }
    /// // use tokio::runtime::Runtime;
    /// use payments_conformance::stack;
    ///
    /// payments_conformance::contract_tests!({
    ///     let runtime = Runtime::new().expect("the system gives threads and a poller");
    ///     stack(|setup| MyTransport::trusting(setup.authority_pem()))
    ///         .block_on(move |future| runtime.block_on(future))
    /// });
    /// ```
    pub fn block_on(mut self, run: impl Fn(BoxFuture<'_>) + Send + Sync + 'static) -> Self {
        self.block_on = Box::new(run);
        self
    }

    /// Sets what the stack can and cannot do.
    pub fn abilities(mut self, abilities: Abilities) -> Self {
        self.abilities = abilities;
        self
    }

    /// Has the kit search what the transport's own `Debug` shows for the key and the card.
    pub fn searching_debug(mut self) -> Self
    where
        T: fmt::Debug,
    {
        self.debug = |transport| Some(format!("{transport:?} {transport:#?}"));
        self
    }
}

impl<T: Transport> Stack for FnStack<T> {
    type Transport = T;

    fn transport(&self, setup: &Setup) -> T {
        (self.transport)(setup)
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        let mut output = None;
        (self.block_on)(Box::pin(async { output = Some(future.await) }));
        output.expect("`FnStack::block_on` runs the future to its end")
    }

    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }

    fn debug(&self, transport: &T) -> Option<String> {
        (self.debug)(transport)
    }
}

impl<T: blocking::Transport> BlockingStack for FnStack<T> {
    type Transport = T;

    fn transport(&self, setup: &Setup) -> T {
        (self.transport)(setup)
    }

    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }

    fn debug(&self, transport: &T) -> Option<String> {
        (self.debug)(transport)
    }
}

impl<T> fmt::Debug for FnStack<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnStack").field("abilities", &self.abilities).finish_non_exhaustive()
    }
}
