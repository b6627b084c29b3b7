use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

/// An egress proxy on a loopback port that reads `CONNECT` requests. Its threads end with the process.
#[derive(Debug)]
pub struct ConnectProxy {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    heads: Vec<String>,
    after_heads: Vec<u8>,
}

/// One client connection after the head of its request was read.
struct Request {
    client: TcpStream,
    /// The requested target, as `host:port`.
    target: String,
    seen: Arc<Mutex<Seen>>,
}

impl ConnectProxy {
    /// Opens every requested tunnel, and responds with 502 if the target accepts no connection.
    ///
    /// A close or reset of one side of a tunnel closes or resets the other.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn tunnelling() -> Self {
        Self::tunnelling_with("HTTP/1.1 200 Connection established\r\n\r\n")
    }

    /// Opens every requested tunnel with this head.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn tunnelling_with(head: impl Into<String>) -> Self {
        let head = head.into();
        Self::start(move |request| request.tunnel(&head))
    }

    /// Writes this to every client, then closes.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn responding(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |mut request| {
            request.client.write_all(&response)?;
            request.client.shutdown(Shutdown::Write)?;
            request.read_rest()
        })
    }

    /// Never responds.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn silent() -> Self {
        Self::start(Request::read_rest)
    }

    fn start(serve: impl Fn(Request) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let seen = Arc::<Mutex<Seen>>::default();
        let this = Self { address, seen: Arc::clone(&seen) };
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (seen, serve) = (Arc::clone(&seen), Arc::clone(&serve));
                // A client may disconnect at any time, which ends only its thread.
                thread::spawn(move || Request::read(client, seen).and_then(&*serve));
            }
        });
        this
    }

    /// The proxy's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The head of every request so far, in order of arrival.
    pub fn heads(&self) -> Vec<String> {
        locked(&self.seen).heads.clone()
    }

    /// Everything that clients sent after their heads: the traffic that a proxy can read.
    pub fn after_heads(&self) -> Vec<u8> {
        locked(&self.seen).after_heads.clone()
    }
}

impl Request {
    fn read(mut client: TcpStream, seen: Arc<Mutex<Seen>>) -> io::Result<Self> {
        client.set_nodelay(true)?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        locked(&seen).heads.push(head);
        Ok(Self { client, target, seen })
    }

    fn read_rest(self) -> io::Result<()> {
        let mut rest = Vec::new();
        let read = (&self.client).read_to_end(&mut rest);
        locked(&self.seen).after_heads.extend(rest);
        read.map(drop)
    }

    fn tunnel(mut self, head: &str) -> io::Result<()> {
        let Ok(server) = TcpStream::connect(&self.target) else {
            return self.client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        };
        server.set_nodelay(true)?;
        self.client.write_all(head.as_bytes())?;
        let tunnel = Tunnel { ends: [&self.client, &server], is_reset: AtomicBool::new(false) };
        thread::scope(|scope| {
            scope.spawn(|| tunnel.forward(&server, &self.client, |_| {}));
            tunnel.forward(&self.client, &server, |bytes| locked(&self.seen).after_heads.extend(bytes));
        });
        Ok(())
    }
}

struct Tunnel<'a> {
    ends: [&'a TcpStream; 2],
    is_reset: AtomicBool,
}

impl Tunnel<'_> {
    /// Forwards everything that one end sends, and its close or reset.
    fn forward(&self, mut from: &TcpStream, mut to: &TcpStream, note: impl Fn(&[u8])) {
        let mut buffer = [0; 16 * 1024];
        let result = loop {
            match from.read(&mut buffer) {
                Ok(0) if self.is_reset.load(Ordering::SeqCst) => return,
                Ok(0) => break to.shutdown(Shutdown::Write),
                Ok(length) => {
                    note(&buffer[..length]);
                    if let Err(error) = to.write_all(&buffer[..length]) {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        if result.is_err() {
            self.reset();
        }
    }

    /// Makes both ends reset when they are dropped, and wakes the thread that reads from one of them.
    fn reset(&self) {
        self.is_reset.store(true, Ordering::SeqCst);
        for end in self.ends {
            // Both fail if the end is already closed.
            let _ = SockRef::from(end).set_linger(Some(Duration::ZERO));
            let _ = end.shutdown(Shutdown::Read);
        }
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
