use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Peer, Received};

/// A listening socket. Each connection runs `script` on its own thread.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    pub(crate) fn start(script: impl Fn(&mut Conversation) + Send + Sync + 'static) -> Self {
        Self::start_with(None, script)
    }

    pub(crate) fn start_tls(
        config: rustls::ServerConfig,
        script: impl Fn(&mut Conversation) + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Some(Arc::new(config)), script)
    }

    fn start_with(
        tls: Option<Arc<rustls::ServerConfig>>,
        script: impl Fn(&mut Conversation) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let received = Arc::new(Mutex::new(Vec::new()));
        let server = Self { address, connections: Arc::clone(&connections), received: Arc::clone(&received) };
        let script = Arc::new(script);
        thread::spawn(move || {
            for tcp in listener.incoming() {
                let Ok(tcp) = tcp else { return };
                let index = connections.fetch_add(1, Ordering::SeqCst);
                let tls = tls.clone().map(|config| rustls::ServerConnection::new(config).unwrap());
                let (script, received) = (Arc::clone(&script), Arc::clone(&received));
                let mut conversation =
                    Conversation { peer: Some(Peer::new(index, tcp, tls)), requests_read: 0, received };
                thread::spawn(move || script(&mut conversation));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/api/v1/public/transaction", self.address)
    }

    pub(crate) fn https_url(&self) -> String {
        format!("https://localhost:{}/api/v1/public/transaction", self.address.port())
    }

    /// The number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Every complete request that was read, over all connections.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

/// One connection, and the server's record of requests.
pub(crate) struct Conversation {
    peer: Option<Peer>,
    requests_read: usize,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Conversation {
    /// Reads and records one complete request; `false` if the client closed the connection instead.
    pub(crate) fn read_request(&mut self) -> bool {
        let request = self.peer().read_request();
        let was_read = request.is_some();
        self.requests_read += usize::from(was_read);
        self.received.lock().unwrap().extend(request);
        was_read
    }

    /// Responds to every request with 200 and this body until the client closes.
    pub(crate) fn serve(&mut self, body: &str) {
        while self.read_request() && self.peer().respond(body) {}
    }

    pub(crate) fn peer(&mut self) -> &mut Peer {
        self.peer.as_mut().expect("the connection is open")
    }

    /// The request line of the most recent request, over all connections.
    pub(crate) fn last_request_line(&self) -> String {
        let received = self.received.lock().unwrap();
        received.last().map(|request| request.request_line().to_owned()).unwrap_or_default()
    }

    /// The number of requests read on this connection.
    pub(crate) fn requests_read(&self) -> usize {
        self.requests_read
    }

    pub(crate) fn index(&self) -> usize {
        self.peer.as_ref().expect("the connection is open").index
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.peer().write(bytes)
    }

    /// Keeps the connection open until the client closes it, and returns what the client sent meanwhile.
    pub(crate) fn hold(&mut self) -> Vec<u8> {
        self.peer.as_mut().map(Peer::read_to_close).unwrap_or_default()
    }

    pub(crate) fn close(&mut self) {
        self.peer.take().expect("the connection is open").close();
    }

    pub(crate) fn reset(&mut self) {
        self.peer.take().expect("the connection is open").reset();
    }
}
