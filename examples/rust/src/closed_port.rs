use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// An address of this machine that refuses connections. No other process can use its port while this exists.
#[derive(Debug)]
pub struct ClosedPort {
    base_url: String,
    /// Bound, so that the port is taken, but not listening, so that connections are refused.
    _port: Socket,
}

impl ClosedPort {
    /// Reserves a free port.
    ///
    /// # Errors
    ///
    /// If no port is free.
    pub fn new() -> io::Result<Self> {
        let port = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        port.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let address =
            port.local_addr()?.as_socket().ok_or_else(|| io::Error::other("a port without a number"))?;
        Ok(Self { base_url: format!("http://{address}/api/v1/public"), _port: port })
    }

    /// Such as `http://127.0.0.1:40123/api/v1/public`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}
