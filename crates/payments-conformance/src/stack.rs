use std::fmt;
use std::future::Future;
use std::time::Instant;

use payments_core::Transport;

use crate::any_stack::BoxFuture;
use crate::{Abilities, Arrivals, Script};

/// An HTTP stack under test: how to create its transport, and how to run a future.
///
/// [`stack`] creates one from a function. Implement this trait if a function is not enough, for example for a stack with
/// its own clock.
pub trait Stack: Send + Sync + 'static {
    /// The transport under test.
    type Transport: Transport;

    /// Creates a new transport with its own connections, as a program would in production.
    ///
    /// It must trust [`Setup::authority_pem`], with or without the public authorities. This is called outside any runtime,
    /// on any thread. A panic here breaks the contract that is being checked.
    fn transport(&self, setup: &Setup) -> Self::Transport;

    /// Runs a future to completion, with the runtime, clock and network that the transport needs.
    ///
    /// The kit polls concurrent calls in one future, so it spawns no tasks. By default the calling thread sleeps until the
    /// future is woken, which works for transports that start their own threads.
    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        crate::block_on(future)
    }

    /// What the stack can and cannot do. The default is [`Abilities::default`].
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

/// What a new transport needs to know for a test.
pub struct Setup {
    pub(crate) authority_pem: String,
    pub(crate) authority_der: Vec<u8>,
    pub(crate) http2: bool,
    pub(crate) script: Option<Script>,
    pub(crate) arrivals: Arrivals,
}

impl Setup {
    /// The certificate authority of the kit's servers as PEM text. The transport must trust it.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The same certificate as DER.
    pub fn authority_der(&self) -> &[u8] {
        &self.authority_der
    }

    /// Whether the transport must offer HTTP/2. Only true for a stack with [`Ability::Http2`](crate::Ability::Http2).
    pub fn wants_http2(&self) -> bool {
        self.http2
    }

    /// The server's script, for a stack without [`Ability::Sockets`](crate::Ability::Sockets), which must run it. `None`
    /// for all other stacks, which connect to the kit's server.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    /// The record of the requests that arrived. A stack without [`Ability::Sockets`](crate::Ability::Sockets) must record each
    /// request here; for all other stacks the kit's server does.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("http2", &self.http2).finish_non_exhaustive()
    }
}

/// Creates a stack from a function that returns an asynchronous or a blocking transport.
///
/// [`FnStack`] has further settings.
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
        debug: Box::new(|_| None),
    }
}

/// A stack created by [`stack`]: a [`Stack`] for asynchronous transports. [`blocking`](crate::blocking) makes one of a stack of
/// blocking transports.
#[must_use = "a stack does nothing until it is checked"]
pub struct FnStack<T> {
    pub(crate) transport: Box<dyn Fn(&Setup) -> T + Send + Sync>,
    pub(crate) block_on: Box<BlockOn>,
    pub(crate) abilities: Abilities,
    pub(crate) debug: Box<Debugged<T>>,
}

pub(crate) type BlockOn = dyn Fn(BoxFuture<'_, ()>) + Send + Sync;

pub(crate) type Debugged<T> = dyn Fn(&T) -> Option<String> + Send + Sync;

impl<T: 'static> FnStack<T> {
    /// Sets how to run a future to completion, for transports that need the timers or sockets of a runtime.
    ///
    /// By default the calling thread sleeps until the future is woken. [Getting started](crate#getting-started) has an example.
    pub fn block_on(mut self, run: impl Fn(BoxFuture<'_, ()>) + Send + Sync + 'static) -> Self {
        self.block_on = Box::new(run);
        self
    }

    /// Sets what the stack can and cannot do.
    pub fn abilities(mut self, abilities: Abilities) -> Self {
        self.abilities = abilities;
        self
    }

    /// Makes the kit search the transport's `Debug` output for the API key and the card.
    pub fn searching_debug(mut self) -> Self
    where
        T: fmt::Debug,
    {
        self.debug = Box::new(|transport| Some(format!("{transport:?} {transport:#?}")));
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

impl<T> fmt::Debug for FnStack<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnStack").field("abilities", &self.abilities).finish_non_exhaustive()
    }
}
