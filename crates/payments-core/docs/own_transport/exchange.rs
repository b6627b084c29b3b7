use std::io::{self, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use payments_core::transport::ServerAddress;
use payments_core::{TransportError, TransportErrorKind as Kind, TransportRequest, TransportResponse};

use super::call_state::{CallReader, CallState};
use super::response::{read_body, read_head};

/// Sends one request over one connection, on a thread that may block. Each `?` reports how far the request got.
pub(crate) fn exchange(
    call: &CallState,
    request: TransportRequest,
    started: Instant,
) -> Result<TransportResponse, TransportError> {
    let (cap, deadlines) = (request.response_cap(), request.deadlines());
    let server = request.server()?.clone();
    let request = request.into_http();

    // Without a connection, or after the end of the call, not one byte is written.
    let socket = connect(&server, started + deadlines.connect())
        .map_err(|(kind, error)| TransportError::not_processed(kind).with_source(error))?;
    call.begin_write(&socket).map_err(TransportError::not_processed)?;

    // From the first byte on, the server may have read everything, whatever error the socket returns.
    let unknown = |error: io::Error| TransportError::unknown(kind(call, &error)).with_source(error);
    write(&socket, &server, &request, started + deadlines.total()).map_err(unknown)?;
    let mut reader = BufReader::new(CallReader { socket: &socket, call });
    let (mut response, end) = read_head(&mut reader).map_err(unknown)?;

    // A final status was read. Return it with the part of the body that arrived, which may name the transaction.
    let mut body = Vec::new();
    let read = read_body(&mut reader, end, cap, &mut body);
    *response.body_mut() = body.into();
    match read {
        Ok(()) => Ok(TransportResponse::new(response)),
        Err(error) => {
            let kind = match kind(call, &error) {
                Kind::Closed => Kind::BodyTruncated,
                other => other,
            };
            Err(TransportError::answered(kind, response).with_source(error))
        }
    }
}

fn connect(server: &ServerAddress, by: Instant) -> Result<TcpStream, (Kind, io::Error)> {
    if server.is_https() {
        return Err((Kind::Configuration, io::Error::other("this transport does not support TLS")));
    }
    let mut last = (Kind::Resolve, io::Error::other("the name has no address"));
    for address in addresses(server, by)? {
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err((Kind::Timeout, ErrorKind::TimedOut.into()));
        }
        match TcpStream::connect_timeout(&address, left) {
            // This process was stopped meanwhile. A request on this connection would be sent after its deadline.
            Ok(_) if Instant::now() >= by => last = (Kind::Timeout, ErrorKind::TimedOut.into()),
            Ok(socket) => {
                // Head and body are two writes, and the second must not wait for the first to be acknowledged.
                socket.set_nodelay(true).map_err(|error| (Kind::Connect, error))?;
                return Ok(socket);
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => last = (Kind::Timeout, error),
            Err(error) => last = (Kind::Connect, error),
        }
    }
    Err(last)
}

/// The system's resolver cannot be interrupted, so it runs on its own thread, which is abandoned at the deadline.
fn addresses(server: &ServerAddress, by: Instant) -> Result<Vec<SocketAddr>, (Kind, io::Error)> {
    let (host, port) = (server.host().trim_matches(['[', ']']).to_owned(), server.port());
    let (found, resolved) = mpsc::channel();
    let resolve = move || {
        let addresses = (host, port).to_socket_addrs().map(Iterator::collect);
        // Fails if the deadline has passed, because then nobody receives.
        let _ = found.send(addresses);
    };
    thread::Builder::new().spawn(resolve).map_err(|error| (Kind::Resolve, error))?;
    match resolved.recv_timeout(by.saturating_duration_since(Instant::now())) {
        Ok(addresses) => addresses.map_err(|error| (Kind::Resolve, error)),
        Err(_) => Err((Kind::Timeout, ErrorKind::TimedOut.into())),
    }
}

fn write(
    mut socket: &TcpStream,
    server: &ServerAddress,
    request: &Request<Bytes>,
    by: Instant,
) -> io::Result<()> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let mut head = Vec::new();
    write!(head, "{} {target} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n", request.method())?;
    for (name, value) in request.headers() {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    if !request.body().is_empty() {
        write!(head, "Content-Length: {}\r\n", request.body().len())?;
    }
    head.extend(b"\r\n");
    socket.write_all(&head)?;
    // Written from the buffer that is wiped on drop. A copy of the card would stay in memory. If this process was stopped
    // meanwhile, the rest must not follow after the deadline.
    for piece in request.body().chunks(PIECE) {
        if Instant::now() >= by {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.write_all(piece)?;
    }
    Ok(())
}

/// How much is written between two looks at the clock.
const PIECE: usize = 16 * 1024;

/// For people and logs only: nothing is decided from it.
fn kind(call: &CallState, error: &io::Error) -> Kind {
    match (call.end_reason(), error.kind()) {
        (Some(reason), _) => reason,
        (None, ErrorKind::InvalidData) => Kind::Protocol,
        (None, ErrorKind::FileTooLarge) => Kind::BodyTooLarge,
        (None, ErrorKind::TimedOut) => Kind::Timeout,
        (None, _) => Kind::Closed,
    }
}
