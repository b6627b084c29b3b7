use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ureq::Error;
use ureq::unversioned::transport::time::Duration;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, ShutdownHandle, Transport,
};

use crate::attempt::Attempt;

/// ureq's own connections over TCP and TLS, each wrapped in a [`Wire`] and made within the attempt's connect deadline.
#[derive(Debug, Default)]
pub(crate) struct WireConnector(DefaultConnector);

impl Connector for WireConnector {
    type Out = Wire<Box<dyn Transport>>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let attempt = Attempt::current().ok_or(Error::ConnectionFailed)?;
        attempt.begin_connecting();
        let mut timeout = details.timeout;
        timeout.after = timeout.after.min(Duration::from(attempt.time_to_connect()));

        let socket: Arc<Mutex<Option<Weak<dyn ShutdownHandle>>>> = Arc::default();
        let register_shutdown = Arc::new({
            let (socket, register) = (Arc::clone(&socket), Arc::clone(&details.register_shutdown));
            move |handle: Weak<dyn ShutdownHandle>| {
                attempt.hold(&handle)?;
                *socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(Weak::clone(&handle));
                register(handle)
            }
        });
        let details = ConnectionDetails {
            uri: details.uri,
            addrs: details.addrs.clone(),
            resolver: details.resolver,
            config: details.config,
            // Only the deadlines are the request's own. With the agent's TLS settings it is not set up for each
            // connection anew.
            request_level: false,
            now: details.now,
            timeout,
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown,
        };
        let Some(inner) = self.0.connect(&details, chained)? else {
            return Ok(None);
        };
        let socket = socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Without a hold on the socket a dropped call could not be ended.
        let socket = socket.ok_or(Error::ConnectionFailed)?;
        Ok(Some(Wire { inner, socket }))
    }
}

/// A connection that tells the attempt that uses it what becomes of it.
///
/// All that is written here is of a request: the TLS handshake was made further down.
pub(crate) struct Wire<T> {
    inner: T,
    socket: Weak<dyn ShutdownHandle>,
}

impl<T: Transport> Transport for Wire<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let attempt = Attempt::current().ok_or(Error::ConnectionFailed)?;
        attempt.begin_write(&self.socket)?;
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let input = self.inner.await_input(timeout);
        if let (Err(_), Some(attempt)) = (&input, Attempt::current()) {
            attempt.broke();
        }
        input
    }

    /// Asked before a connection is kept for later, and again before it is used.
    fn is_open(&mut self) -> bool {
        if let Some(attempt) = Attempt::current() {
            attempt.let_go();
        }
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

impl<T: fmt::Debug> fmt::Debug for Wire<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, socket: _ } = self;
        f.debug_tuple("Wire").field(inner).finish()
    }
}
