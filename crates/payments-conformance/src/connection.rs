mod tls;

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http::Response;

use crate::Arrivals;
use crate::arrivals::Received;
use crate::script::Act;
use crate::server::Security;
use crate::signal::Signal;

/// One connection, from the server's side.
pub(crate) struct Connection {
    /// The index of this connection on its server, from 0.
    pub(crate) index: usize,
    /// `None` once the server has closed the connection.
    tcp: Option<Arc<TcpStream>>,
    tls: Option<Box<rustls::ServerConnection>>,
    /// Whether the client has sent anything.
    has_begun: bool,
    unread: Vec<u8>,
    pub(crate) arrivals: Arrivals,
    /// Set when the server stops.
    pub(crate) server_stopped: Signal,
}

impl Connection {
    pub(crate) fn new(
        index: usize,
        tcp: Arc<TcpStream>,
        security: &Security,
        arrivals: Arrivals,
        server_stopped: Signal,
    ) -> Self {
        // Without delay, so that written bytes have arrived when the write returns. Setting an option fails if the client
        // has already closed the connection; the first read will report that.
        drop(tcp.set_nodelay(true));
        drop(tcp.set_read_timeout(Some(IO_TIMEOUT)));
        drop(tcp.set_write_timeout(Some(IO_TIMEOUT)));
        let tls = match security {
            Security::Plain => None,
            Security::Tls(config) => {
                let tls = rustls::ServerConnection::new(config.clone());
                Some(Box::new(tls.expect("the configuration is complete")))
            }
        };
        Self { index, tcp: Some(tcp), tls, has_begun: false, unread: Vec::new(), arrivals, server_stopped }
    }

    /// Reads the next whole request and records it. `None` if the client closed the connection, or does not speak HTTP.
    pub(crate) fn read_request(&mut self) -> Option<Received> {
        loop {
            match parse(self.index, &self.unread) {
                Ok(Some((received, length))) => {
                    self.unread.drain(..length);
                    self.arrivals.add(self.index, received.clone());
                    // A copy may be in the same segment, and nobody may read on.
                    self.arrivals.set_unfinished(self.index, &self.unread);
                    return Some(received);
                }
                Ok(None) => self.read_more()?,
                Err(reason) => {
                    self.note(format!("the request is not HTTP: {reason}"));
                    self.unread.clear();
                    self.close();
                }
            }
        }
    }

    /// Reads at least this many bytes of a request. `false` if the client closed the connection first.
    pub(crate) fn read_at_least(&mut self, bytes: usize) -> bool {
        while self.unread.len() < bytes && self.read_more().is_some() {}
        self.unread.len() >= bytes
    }

    /// Waits until something arrives or the client closes the connection. `false` if the connection is already over.
    pub(crate) fn wait_for_input(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.peek(&mut [0]).is_ok())
    }

    /// Reads what has arrived, without waiting for more.
    pub(crate) fn read_arrived(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let set_nonblocking = |connection: &Self, nonblocking| match &connection.tcp {
            Some(tcp) => tcp.set_nonblocking(nonblocking),
            None => Ok(()),
        };
        set_nonblocking(self, true)?;
        let read = self.read(buffer);
        set_nonblocking(self, false)?;
        read
    }

    /// Records an event.
    pub(crate) fn note(&self, event: impl Into<String>) {
        self.arrivals.note(self.index, event);
    }

    /// Waits until the client closes or resets the connection. Returns the number of unprocessed bytes.
    pub(crate) fn wait_for_close(&mut self) -> usize {
        while self.read_more().is_some() {}
        if self.tcp.is_some() && !self.server_stopped.is_set() {
            self.note("the client closed it");
        }
        self.unread.len()
    }

    /// Reads and discards everything until the client closes or resets the connection.
    pub(crate) fn discard_input(&mut self) {
        self.note("from here on everything was dropped");
        let mut buffer = [0; 4096];
        if let Some(mut tcp) = self.tcp.as_deref() {
            while tcp.read(&mut buffer).is_ok_and(|length| length > 0) {}
        }
    }

    /// Returns `false` once the client no longer reads.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let Some(mut tcp) = self.tcp.as_deref() else { return false };
        match &mut self.tls {
            None => tcp.write_all(bytes.as_ref()).is_ok(),
            Some(tls) => {
                let mut stream = rustls::Stream::new(&mut **tls, &mut tcp);
                stream.write_all(bytes.as_ref()).and_then(|()| stream.flush()).is_ok()
            }
        }
    }

    /// Sends a response, with `Content-Length` unless its status allows no body.
    pub(crate) fn respond(&mut self, response: &Response<impl AsRef<[u8]>>) -> bool {
        let mut bytes = head(response);
        bytes.extend_from_slice(response.body().as_ref());
        self.write(bytes)
    }

    /// Responds with the id of the request, so that a caller can recognize its own response.
    pub(crate) fn echo(&mut self, request: &Received) -> bool {
        self.respond(&Response::new(request.id()))
    }

    /// Echoes every request until the client closes the connection.
    pub(crate) fn serve(&mut self) {
        while let Some(request) = self.read_request() {
            if !self.echo(&request) {
                return;
            }
        }
    }

    /// Performs one act for the request that was just read. Returns `false` if the connection is no longer usable.
    pub(crate) fn play(&mut self, act: &Act, request: &Received) -> bool {
        match act {
            Act::Echo => return self.echo(request),
            Act::Answer(answer) => return self.respond(answer),
            // A script that refuses has no listener, so `Refuse` does not get here.
            Act::Close | Act::Refuse => self.close(),
            Act::Reset => self.reset(),
            Act::Silence => drop(self.wait_for_close()),
            Act::Drip { answer, bytes, every } => {
                let last = answer.body().len().saturating_sub(1);
                self.write(head(answer));
                for piece in answer.body()[..last].chunks(*bytes) {
                    thread::sleep(*every);
                    if !self.write(piece) {
                        return false;
                    }
                }
                self.wait_for_close();
            }
            Act::Truncate { answer, bytes } => {
                let mut cut = head(answer);
                cut.extend_from_slice(&answer.body()[..*bytes]);
                self.write(cut);
                self.close();
            }
            Act::Garbage(garbage) => {
                self.write(garbage);
                self.wait_for_close();
            }
        }
        false
    }

    /// Sends everything that was written, then closes the connection. Discards what the client still sends.
    pub(crate) fn close(&mut self) {
        self.note("the server closed it");
        self.send_close_notify();
        self.shut_down(Shutdown::Both);
        self.tcp = None;
    }

    /// Like `close`, but over TLS without `close_notify`, as if the network cut the connection.
    pub(crate) fn cut(&mut self) {
        self.note("the connection was cut");
        self.shut_down(Shutdown::Both);
        self.tcp = None;
    }

    /// Closes only the writing side. The server continues to read.
    pub(crate) fn close_writing(&mut self) {
        self.note("the server closed its writing side");
        self.send_close_notify();
        self.shut_down(Shutdown::Write);
    }

    fn send_close_notify(&mut self) {
        if let (Some(tls), Some(mut tcp)) = (&mut self.tls, self.tcp.as_deref()) {
            tls.send_close_notify();
            while tls.wants_write() && tls.write_tls(&mut tcp).is_ok_and(|length| length > 0) {}
        }
    }

    fn shut_down(&self, how: Shutdown) {
        if let Some(tcp) = &self.tcp {
            drop(tcp.shutdown(how));
        }
    }

    /// Resets the connection. The client sees "connection reset by peer".
    pub(crate) fn reset(&mut self) {
        self.note("the server reset it");
        if let Some(tcp) = self.tcp.take() {
            // The reset is sent when the last handle is dropped, and this is the only one.
            drop(socket2::SockRef::from(&*tcp).set_linger(Some(Duration::ZERO)));
        }
    }

    fn read_more(&mut self) -> Option<()> {
        let mut buffer = [0; 16 * 1024];
        let length = self.read(&mut buffer).ok().filter(|length| *length > 0)?;
        self.unread.extend_from_slice(&buffer[..length]);
        self.arrivals.set_unfinished(self.index, &self.unread);
        Some(())
    }

    /// Looks at the first byte of the connection. A request without TLS is read like one on a server without TLS.
    fn begin(&mut self) {
        let mut first = [0];
        if !self.has_begun && self.tcp.as_ref().is_some_and(|tcp| matches!(tcp.peek(&mut first), Ok(1))) {
            self.has_begun = true;
            if self.arrivals.begin(self.index, first[0]) {
                self.tls = None;
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.begin();
        let Some(mut tcp) = self.tcp.as_deref() else { return Ok(0) };
        match &mut self.tls {
            None => tcp.read(buffer),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut tcp).read(buffer),
        }
    }
}

/// The first whole request in `bytes` and its length. `None` if more bytes are needed.
fn parse(connection: usize, bytes: &[u8]) -> Result<Option<(Received, usize)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let fields = request.headers.iter().map(|field| (field.name.to_owned(), field.value.to_vec()));
    let mut received = Received {
        connection,
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        headers: fields.collect(),
        ..Received::default()
    };
    let number = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok());
    let body = if received.header("transfer-encoding").is_empty() {
        let length = received.header("content-length").first().map_or(Some(0), |value| number(value));
        let length: usize = length.ok_or("its Content-Length is not a number")?;
        bytes[head..].get(..length).map(|body| (body.to_vec(), length))
    } else {
        chunked(&bytes[head..])?
    };
    Ok(body.map(|(body, length)| {
        received.body = body;
        (received, head + length)
    }))
}

/// A whole chunked body without trailers, and its encoded length. `None` if more bytes are needed.
fn chunked(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
    let (mut body, mut rest) = (Vec::new(), bytes);
    loop {
        let size = httparse::parse_chunk_size(rest).map_err(|error| error.to_string())?;
        let httparse::Status::Complete((line, size)) = size else { return Ok(None) };
        let size = usize::try_from(size).map_err(|_| "a chunk is too large")?;
        let chunk = rest[line..].split_at_checked(size);
        let Some((chunk, [_, _, after @ ..])) = chunk else { return Ok(None) };
        body.extend_from_slice(chunk);
        rest = after;
        if size == 0 {
            return Ok(Some((body, bytes.len() - rest.len())));
        }
    }
}

/// Status line and headers, with a `Content-Length` unless the status has no body.
fn head<B: AsRef<[u8]>>(response: &Response<B>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Conformance\r\n", response.status().as_u16()).into_bytes();
    for (name, value) in response.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    if ![204, 304].contains(&response.status().as_u16()) {
        let length = response.body().as_ref().len();
        head.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Longer than any contract takes.
const IO_TIMEOUT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Server;

    #[test]
    fn a_request_that_is_not_http_ends_its_connection() {
        let many = "X-Word: word\r\n".repeat(65);
        for (head, reason) in [
            ("POST / HTTP/7.3", "invalid HTTP version"),
            ("P\0ST / HTTP/1.1", "invalid token"),
            ("POST / HTTP/1.1\r\nno colon", "invalid header name"),
            (&format!("POST / HTTP/1.1\r\n{many}"), "too many headers"),
            ("POST / HTTP/1.1\r\nContent-Length: many", "its Content-Length is not a number"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nmany", "invalid chunk size"),
        ] {
            let server = Server::start(Security::Plain, Connection::serve);
            let mut client = TcpStream::connect(server.address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            client.write_all(format!("{}\r\n\r\n", head.trim_end()).as_bytes()).unwrap();
            let read = client.read(&mut [0]).unwrap_or_else(|error| panic!("{head:?}: {error}"));
            let arrived = server.arrivals.to_string();
            assert!(read == 0 && arrived.contains(&format!("not HTTP: {reason}")), "{head:?}: {arrived}");
        }
    }
}
