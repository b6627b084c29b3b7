use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A connection, plain or encrypted, whose TCP stream can be reached to reset it.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn tcp(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Socket for tokio_rustls::server::TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}
