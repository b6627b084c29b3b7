use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;

use crate::Journal;
use crate::connection::Connection;
use crate::signal::Signal;

/// A listening socket of this machine, whose every connection runs a script on a thread of its own.
///
/// It ends when it is dropped, and every connection with it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

/// What has to be ended with the server.
#[derive(Default)]
struct State {
    stopping: AtomicBool,
    /// Not to be kept open by this: a connection is reset only when its last handle is gone.
    open: Mutex<Vec<Weak<TcpStream>>>,
    /// Conversations under way.
    running: AtomicUsize,
    /// Thrown when the server ends, for scripts that wait for anything else than their client.
    stopped: Signal,
}

/// How a server greets its connections.
#[derive(Clone)]
pub(crate) enum Security {
    Plain,
    Tls(Arc<ServerConfig>),
}

impl Server {
    pub(crate) fn start(
        security: Security,
        journal: &Journal,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        Self::start_on(listener, security, journal, script)
    }

    /// The same on a socket that listens already.
    pub(crate) fn start_on(
        listener: TcpListener,
        security: Security,
        journal: &Journal,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State::default());
        let server = Self { address, state: Arc::clone(&state) };
        let (journal, script) = (journal.clone(), Arc::new(script));
        thread::spawn(move || {
            for tcp in listener.incoming() {
                if state.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(tcp) = tcp else { continue };
                let tcp = Arc::new(tcp);
                state.open.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&tcp));
                let index = journal.open();
                let mut connection =
                    Connection::new(index, tcp, &security, journal.clone(), state.stopped.clone());
                let (script, state) = (Arc::clone(&script), Arc::clone(&state));
                state.running.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let running = Running(state);
                    script(&mut connection);
                    drop(connection);
                    drop(running);
                });
            }
        });
        server
    }

    /// Waits until every conversation has ended by itself, but not for long: a connection that the client keeps open
    /// is no fault.
    pub(crate) fn wait_until_idle(&self) {
        for _ in 0..100 {
            if self.state.running.load(Ordering::SeqCst) == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Closes every connection and accepts no more.
    pub(crate) fn stopper(&self) -> impl Fn() + Send + 'static {
        let (address, state) = (self.address, Arc::clone(&self.state));
        move || {
            if !state.stopping.swap(true, Ordering::SeqCst) {
                // Wakes the thread that accepts, which then sees that it is over.
                drop(TcpStream::connect(address));
            }
            state.stopped.set();
            for tcp in state.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                if let Some(tcp) = tcp.upgrade() {
                    drop(tcp.shutdown(Shutdown::Both));
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopper()();
    }
}

/// Counts a conversation for as long as it runs, even if its script panics.
struct Running(Arc<State>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
