use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use futures_timer::Delay;
use rustls::ServerConfig;

use crate::Arrivals;
use crate::connection::Connection;
use crate::signal::Signal;

/// A server on the loopback interface that runs a script on its own thread for each connection.
///
/// Dropping it stops the server and closes its connections.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) arrivals: Arrivals,
    state: Arc<State>,
}

/// What must be stopped with the server.
#[derive(Default)]
struct State {
    stopping: AtomicBool,
    /// Weak, because a connection is reset only when its last handle is dropped.
    open: Mutex<Vec<Weak<TcpStream>>>,
    /// Each connection whose script is still running has a clone.
    running: Arc<()>,
    /// Set when the server stops, for scripts that wait for something other than their client.
    stopped: Signal,
}

/// Whether the server uses TLS.
#[derive(Clone)]
pub(crate) enum Security {
    Plain,
    Tls(Arc<ServerConfig>),
}

impl Server {
    pub(crate) fn start(
        security: Security,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        Self::start_on(listener, security, Arrivals::default(), script)
    }

    /// Starts a server on a socket that already listens.
    pub(crate) fn start_on(
        listener: TcpListener,
        security: Security,
        arrivals: Arrivals,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State::default());
        let server = Self { address, arrivals: arrivals.clone(), state: Arc::clone(&state) };
        let script = Arc::new(script);
        thread::spawn(move || {
            for tcp in listener.incoming() {
                // Held until the connection is in the list, so that `stop` sees it or this sees that the server has stopped.
                let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
                if state.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(tcp) = tcp else { continue };
                let tcp = Arc::new(tcp);
                open.push(Arc::downgrade(&tcp));
                drop(open);
                let index = arrivals.open();
                let mut connection =
                    Connection::new(index, tcp, &security, arrivals.clone(), state.stopped.clone());
                let (script, running) = (Arc::clone(&script), Arc::clone(&state.running));
                thread::spawn(move || {
                    script(&mut connection);
                    drop(connection);
                    drop(running);
                });
            }
        });
        server
    }

    /// Waits briefly until every script has ended. A connection that the client keeps open is not an error.
    pub(crate) async fn until_idle(&self) {
        for _ in 0..100 {
            if Arc::strong_count(&self.state.running) == 1 {
                return;
            }
            Delay::new(Duration::from_millis(2)).await;
        }
    }

    /// Closes every connection and stops accepting.
    pub(crate) fn stop(&self) {
        let state = &self.state;
        if !state.stopping.swap(true, Ordering::SeqCst) {
            // Wakes the accepting thread, which then sees that the server has stopped.
            drop(TcpStream::connect(self.address));
        }
        state.stopped.set();
        for tcp in state.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Some(tcp) = tcp.upgrade() {
                drop(tcp.shutdown(Shutdown::Both));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
