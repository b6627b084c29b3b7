use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;

use crate::Journal;
use crate::conversation::Conversation;
use crate::switch::Switch;

/// A listening socket of this machine, whose every connection runs a script on a thread of its own.
///
/// It ends when it is dropped, and every connection with it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    ending: Arc<Ending>,
}

/// What has to be ended with the server.
#[derive(Default)]
struct Ending {
    begun: AtomicBool,
    /// Not to be kept open by this: a connection is reset only when its last handle is gone.
    open: Mutex<Vec<Weak<TcpStream>>>,
    /// Conversations under way.
    running: AtomicUsize,
    /// Thrown when the server ends, for scripts that wait for anything else than their client.
    switch: Switch,
}

/// How a server greets its connections.
#[derive(Clone)]
pub(crate) enum Greeting {
    Plain,
    Tls(Arc<ServerConfig>),
}

impl Server {
    pub(crate) fn start(
        greeting: Greeting,
        journal: &Journal,
        script: impl Fn(&mut Conversation) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        Self::start_on(listener, greeting, journal, script)
    }

    /// The same on a socket that listens already.
    pub(crate) fn start_on(
        listener: TcpListener,
        greeting: Greeting,
        journal: &Journal,
        script: impl Fn(&mut Conversation) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("a bound socket has an address");
        let ending = Arc::new(Ending::default());
        let server = Self { address, ending: Arc::clone(&ending) };
        let (journal, script) = (journal.clone(), Arc::new(script));
        thread::spawn(move || {
            for tcp in listener.incoming() {
                if ending.begun.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(tcp) = tcp else { continue };
                let tcp = Arc::new(tcp);
                ending.open.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&tcp));
                let index = journal.open();
                let mut conversation =
                    Conversation::new(index, tcp, &greeting, journal.clone(), ending.switch.clone());
                let (script, ending) = (Arc::clone(&script), Arc::clone(&ending));
                ending.running.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let running = Running(ending);
                    script(&mut conversation);
                    drop(conversation);
                    drop(running);
                });
            }
        });
        server
    }

    /// Waits until every conversation has ended by itself, but not for long: a connection that the client keeps open
    /// is no fault.
    pub(crate) fn settle(&self) {
        for _ in 0..100 {
            if self.ending.running.load(Ordering::SeqCst) == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Closes every connection and accepts no more.
    pub(crate) fn end(&self) -> impl Fn() + Send + 'static {
        let (address, ending) = (self.address, Arc::clone(&self.ending));
        move || {
            if !ending.begun.swap(true, Ordering::SeqCst) {
                // Wakes the thread that accepts, which then sees that it is over.
                drop(TcpStream::connect(address));
            }
            ending.switch.throw();
            for tcp in ending.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                if let Some(tcp) = tcp.upgrade() {
                    drop(tcp.shutdown(Shutdown::Both));
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end()();
    }
}

/// Counts a conversation for as long as it runs, even if its script panics.
struct Running(Arc<Ending>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
