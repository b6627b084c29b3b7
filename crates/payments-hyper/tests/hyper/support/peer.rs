use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// One connection, from the server's side.
pub(crate) struct Peer {
    /// The number of this connection on its server, from 0.
    pub(crate) index: usize,
    tcp: TcpStream,
    tls: Option<rustls::ServerConnection>,
    unread: Vec<u8>,
}

/// A request, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// Every value of a header, in order.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    pub(crate) fn request_line(&self) -> &str {
        self.head.lines().next().unwrap()
    }
}

impl Peer {
    pub(super) fn new(index: usize, tcp: TcpStream, tls: Option<rustls::ServerConnection>) -> Self {
        // Without delay, bytes written over loopback have arrived when the write returns.
        tcp.set_nodelay(true).unwrap();
        // A failing test must end.
        tcp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        tcp.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { index, tcp, tls, unread: Vec::new() }
    }

    /// Reads the next complete request; `None` if the client closed the connection instead.
    pub(crate) fn read_request(&mut self) -> Option<Received> {
        let head_ends = loop {
            if let Some(at) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.read_more()?;
        };
        let head = String::from_utf8(self.unread.drain(..head_ends).collect()).unwrap();
        let mut received = Received { head, body: Vec::new() };
        let length = received.header("content-length").first().map_or(0, |length| length.parse().unwrap());
        while self.unread.len() < length {
            self.read_more()?;
        }
        received.body = self.unread.drain(..length).collect();
        Some(received)
    }

    /// Reads only the beginning of a request.
    pub(crate) fn read_some(&mut self) {
        self.read_more().expect("the client sends something");
    }

    /// Reads until the client closes or resets the connection, and returns what was read.
    pub(crate) fn read_to_close(&mut self) -> Vec<u8> {
        while self.read_more().is_some() {}
        std::mem::take(&mut self.unread)
    }

    fn read_more(&mut self) -> Option<()> {
        let mut buffer = [0; 4096];
        let length = match self.read(&mut buffer) {
            Ok(0) => return None,
            Ok(length) => length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                panic!("the client neither sent nor closed")
            }
            Err(_) => return None,
        };
        self.unread.extend_from_slice(&buffer[..length]);
        Some(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.tcp.read(buffer),
            Some(tls) => rustls::Stream::new(tls, &mut self.tcp).read(buffer),
        }
    }

    /// Returns `false` once the client no longer reads.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        match &mut self.tls {
            None => self.tcp.write_all(bytes.as_ref()).is_ok(),
            Some(tls) => {
                let mut stream = rustls::Stream::new(tls, &mut self.tcp);
                stream.write_all(bytes.as_ref()).and_then(|()| stream.flush()).is_ok()
            }
        }
    }

    /// Responds with 200 and this body, and keeps the connection open.
    pub(crate) fn respond(&mut self, body: &str) -> bool {
        self.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// Whether this TLS connection resumed an earlier session.
    pub(crate) fn is_resumed(&self) -> bool {
        let handshake = self.tls.as_ref().and_then(|tls| tls.handshake_kind());
        handshake == Some(rustls::HandshakeKind::Resumed)
    }

    /// Closes both directions. The client sees the end, and what it still sends is discarded.
    pub(crate) fn shut_down(&mut self) {
        drop(self.tcp.shutdown(Shutdown::Both));
    }

    /// Closes the connection. Bytes in flight still arrive, then the client sees the end.
    pub(crate) fn close(mut self) {
        self.shut_down();
    }

    /// Resets the connection. The client sees "connection reset by peer".
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.tcp).set_linger(Some(Duration::ZERO)).unwrap();
    }
}
