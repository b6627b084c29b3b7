use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// A port of this machine on which nobody ever answers, so that a client cannot get as far as to send a request.
#[derive(Debug)]
pub struct DeafPort {
    listener: TcpListener,
    /// What fills its queue.
    fillers: Vec<TcpStream>,
}

impl DeafPort {
    /// No further TCP connection can be made, and none is refused: the queue of those that wait to be accepted is full.
    ///
    /// Only where the system lets a connection beyond a full queue wait, as Linux does.
    ///
    /// # Panics
    ///
    /// If no port is free, or if the queue has no end.
    pub fn full() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a loopback port is free");
        socket.listen(0).expect("it listens");
        let mut this = Self { listener: socket.into(), fillers: Vec::new() };
        while let Ok(filler) = TcpStream::connect_timeout(&this.address(), Duration::from_millis(100)) {
            this.fillers.push(filler);
            assert!(this.fillers.len() < 1000, "the queue has no end");
        }
        this
    }

    /// TCP connections are made, and nothing is ever said on them.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn silent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        Self { listener, fillers: Vec::new() }
    }

    /// TCP connections are refused: nobody listens, and nobody else can take the port meanwhile.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn refusing() -> Self {
        Self::refusing_at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// The same at the address of a server that is gone.
    ///
    /// # Panics
    ///
    /// If somebody listens there.
    pub fn refusing_at(address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).expect("a socket");
        // Connections of the server that was there may not have ended yet.
        socket.set_reuse_address(true).expect("it can be asked");
        socket.bind(&address.into()).expect("nobody listens there");
        Self { listener: socket.into(), fillers: Vec::new() }
    }

    /// Where it is.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("it is bound")
    }

    /// Reads what came meanwhile. Every client must have gone.
    ///
    /// # Panics
    ///
    /// If it is more than the beginnings of TLS handshakes.
    #[track_caller]
    pub fn assert_no_request_came(mut self) {
        self.fillers.clear();
        self.listener.set_nonblocking(true).expect("it can be asked");
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let came = read_to_end(stream);
                    assert!(is_handshake(&came), "it was sent: {:?}", String::from_utf8_lossy(&came));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It refuses.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
                Err(error) => panic!("it cannot be asked: {error}"),
            }
        }
    }
}

fn read_to_end(mut stream: TcpStream) -> Vec<u8> {
    // A client that is still there, though it should not be, must not hang the test.
    stream.set_nonblocking(false).expect("it can be waited for");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("it can be limited");
    let mut came = Vec::new();
    stream.read_to_end(&mut came).expect("the client has gone");
    came
}

/// Whether these bytes are TLS records of handshakes and alerts, and not one of application data.
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
    fn a_request_is_no_handshake_and_neither_is_application_data() {
        assert!(is_handshake(b""));
        assert!(is_handshake(&[22, 3, 1, 0, 2, 1, 0, 21, 3, 3, 0, 2, 2, 40]));
        assert!(!is_handshake(b"POST /transaction HTTP/1.1\r\n"));
        assert!(!is_handshake(&[22, 3, 1, 0, 1, 1, 23, 3, 3, 0, 1, 9]));
    }
}
