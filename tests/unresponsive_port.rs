use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// A loopback port that never responds, so that a client cannot send a request.
#[derive(Debug)]
pub struct UnresponsivePort {
    listener: TcpListener,
    /// The connections that fill the queue.
    fillers: Vec<TcpStream>,
}

impl UnresponsivePort {
    /// A port that neither accepts nor refuses TCP connections, because its accept queue is full.
    ///
    /// Requires a system on which connections wait for a full queue, such as Linux.
    ///
    /// # Panics
    ///
    /// If no port is free, or if the queue does not fill up.
    pub fn full() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a loopback port is free");
        socket.listen(0).expect("the socket listens");
        let mut this = Self { listener: socket.into(), fillers: Vec::new() };
        while let Ok(filler) = TcpStream::connect_timeout(&this.address(), Duration::from_millis(100)) {
            this.fillers.push(filler);
            assert!(this.fillers.len() < 1000, "the queue does not fill up");
        }
        this
    }

    /// A port that accepts TCP connections and never writes to them.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn silent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        Self { listener, fillers: Vec::new() }
    }

    /// A port that refuses TCP connections. It stays reserved, so that no other process can take it.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn refusing() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a loopback port is free");
        Self { listener: socket.into(), fillers: Vec::new() }
    }

    /// The port's address.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("the socket is bound")
    }

    /// Asserts that clients sent nothing but TLS handshakes. All clients must have disconnected.
    ///
    /// # Panics
    ///
    /// If a client sent anything else.
    #[track_caller]
    pub fn assert_no_request_came(mut self) {
        self.fillers.clear();
        self.listener.set_nonblocking(true).expect("the option can be set");
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let received = read_to_end(stream);
                    let text = String::from_utf8_lossy(&received);
                    assert!(is_handshake(&received), "a client sent: {text:?}");
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The socket does not listen.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
                Err(error) => panic!("cannot accept: {error}"),
            }
        }
    }
}

fn read_to_end(mut stream: TcpStream) -> Vec<u8> {
    // A client that should have disconnected must not hang the test.
    stream.set_nonblocking(false).expect("the option can be set");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("the timeout can be set");
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("the client has disconnected");
    received
}

/// Whether all bytes are TLS handshake and alert records, with no application data.
fn is_handshake(mut bytes: &[u8]) -> bool {
    const ALERT: u8 = 21;
    const HANDSHAKE: u8 = 22;
    while let [kind, _, _, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if ![ALERT, HANDSHAKE].contains(kind) || rest.len() < length {
            return false;
        }
        bytes = &rest[length..];
    }
    bytes.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_application_data_are_not_handshakes() {
        assert!(is_handshake(b""));
        assert!(is_handshake(&[22, 3, 1, 0, 2, 1, 0, 21, 3, 3, 0, 2, 2, 40]));
        assert!(!is_handshake(b"POST /transaction HTTP/1.1\r\n"));
        assert!(!is_handshake(&[22, 3, 1, 0, 1, 1, 23, 3, 3, 0, 1, 9]));
    }
}
