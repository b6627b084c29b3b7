use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, LOCATION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use payments_core::transport::grace_after_stop;
use payments_core::{
    Deadlines, Delivery, TransportError, TransportErrorKind as Kind, TransportRequest, TransportResponse,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::Shared;
use super::call::State;
use super::stream::{Stream, Wire, trusting_anybody};
use crate::broken::Flaw;

/// Sends one request once, or as often as the flaw does.
pub(crate) struct Exchange {
    shared: Arc<Shared>,
    request: Request<Bytes>,
    deadlines: Deadlines,
    cap: usize,
    started: Instant,
    /// The number of attempts so far.
    tries: usize,
    /// Whether the body broke off on a reused connection.
    was_reused: bool,
}

struct Failure {
    error: TransportError,
    /// Set if the connection ended before any response: whether it was a reused one.
    lost: Option<bool>,
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        Self { error, lost: None }
    }
}

struct Head {
    status: StatusCode,
    headers: HeaderMap,
    http_1_1: bool,
}

enum Framing {
    None,
    Length(usize),
    Chunked,
    Close,
}

impl Exchange {
    pub(crate) fn new(shared: Arc<Shared>, request: TransportRequest) -> Self {
        let (deadlines, cap) = (request.deadlines(), request.response_cap());
        if shared.has(Flaw::ClockOverflows) {
            i32::try_from(deadlines.total().as_millis()).expect("the deadline fits the clock");
        }
        Self {
            shared,
            request: request.into_http(),
            deadlines,
            cap,
            started: Instant::now(),
            tries: 0,
            was_reused: false,
        }
    }

    pub(crate) fn run(mut self, state: &Mutex<State>) -> Result<TransportResponse, TransportError> {
        let (limit, freed) = &self.shared.in_use;
        if self.has(Flaw::WaitsForConnectionWithoutDeadline) {
            *freed.wait_while(limit.lock().unwrap(), |in_use| *in_use >= 64).unwrap() += 1;
            // With this flaw the deadline starts only now.
            self.started = Instant::now();
        }
        let result = self.run_at_once(state);
        let is_unknown = matches!(&result, Err(error) if error.delivery() == Delivery::Unknown);
        if is_unknown && self.tries == 1 && self.has(Flaw::ResendsInBackground) {
            let (shared, request) = (Arc::clone(&self.shared), self.request.clone());
            let again = Self { shared, request, tries: 1, was_reused: false, ..self };
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(2500));
                let again = Self { started: Instant::now(), ..again };
                drop(again.run(&Mutex::default()));
            });
            return result;
        }
        if self.has(Flaw::WaitsForConnectionWithoutDeadline) {
            *self.shared.in_use.0.lock().unwrap() -= 1;
            self.shared.in_use.1.notify_one();
        }
        if result.is_err() && self.has(Flaw::PrintsOnStderr) {
            let body = self.request.body();
            drop(writeln!(io::stderr(), "could not send {:?}", &body[..body.len().min(1000)]));
        }
        result
    }

    fn run_at_once(&mut self, state: &Mutex<State>) -> Result<TransportResponse, TransportError> {
        loop {
            self.tries += 1;
            let tries = self.tries;
            match self.attempt(state) {
                Ok(response) if tries == 1 && self.retries_response(&response) => {}
                Ok(response)
                    if self.has(Flaw::ReportsGatewayPageAsNotProcessed) && is_gateway_page(&response) =>
                {
                    return Err(TransportError::not_processed(Kind::Connect));
                }
                Ok(response) if self.has(Flaw::FollowsRedirects) && response.status().is_redirection() => {
                    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                    let Some(location) = location.filter(|location| location.starts_with("http")) else {
                        return Ok(response.into());
                    };
                    *self.request.uri_mut() = location.parse::<Uri>().unwrap();
                }
                Ok(response)
                    if self.has(Flaw::TurnsStatusesIntoErrors) && response.status().is_server_error() =>
                {
                    return Err(TransportError::unknown(Kind::Other).with_source("the server failed"));
                }
                Ok(response) => return Ok(response.into()),
                Err(Failure { lost: Some(reused), .. })
                    if tries == 1
                        && (self.has(Flaw::RetriesClosedConnections)
                            || self.has(Flaw::RetriesAtNextAddress) && self.has_another_address()
                            || reused && self.has(Flaw::RetriesOnReusedConnections)) => {}
                Err(Failure { error, .. }) if tries == 1 && self.retries_after(&error) => {}
                Err(Failure { error, .. }) if self.reports_as_not_processed(&error) => {
                    return Err(TransportError::not_processed(Kind::Tls));
                }
                Err(Failure { lost: Some(_), .. }) if self.has(Flaw::RetriesManyTimes) && tries < 20 => {}
                Err(Failure { lost: Some(_), error }) if self.has(Flaw::ReportsLostAsNotProcessed) => {
                    return Err(TransportError::not_processed(error.kind()));
                }
                Err(Failure { error, .. })
                    if self.has(Flaw::PrintsTheBody) && error.kind() == Kind::Protocol =>
                {
                    let body = String::from_utf8_lossy(self.request.body()).into_owned();
                    return Err(error.with_source(format!("could not send {body}")));
                }
                Err(Failure { error, .. })
                    if self.has(Flaw::ReportsGarbageAsNotProcessed) && error.kind() == Kind::Protocol =>
                {
                    return Err(TransportError::not_processed(Kind::Protocol));
                }
                Err(Failure { error, .. }) => return Err(error),
            }
        }
    }

    fn attempt(&mut self, state: &Mutex<State>) -> Result<Response<Bytes>, Failure> {
        let server = self.request.uri().authority().unwrap().to_string();
        let canceled = || Err(TransportError::not_processed(Kind::Cancelled).into());
        if state.lock().unwrap().dropped {
            return canceled();
        }
        let mut stream = match self.idle(&server) {
            Some(stream) => stream,
            None => self.connect()?,
        };
        if !state.lock().unwrap().uses(stream.wire.socket()) && !self.has(Flaw::ConnectsAfterDrop) {
            return canceled();
        }
        if self.time_left().is_none() {
            if self.has(Flaw::BeginsAfterDeadline) {
                drop(stream.wire.write_all(b"P"));
            }
            return Err(TransportError::not_processed(Kind::Timeout).into());
        }
        let reused = stream.reused;
        let lost = |error: io::Error, what: fn(Kind) -> TransportError| Failure {
            lost: (!is_timeout(&error)).then_some(reused),
            error: what(kind_of(&error)).with_source(error),
        };
        self.write(&mut stream).map_err(|error| lost(error, TransportError::unknown))?;
        let head = match self.head(&mut stream) {
            Ok(head) => head,
            Err(error) => {
                let garbage = error.kind() == ErrorKind::InvalidData;
                if garbage && self.has(Flaw::ReturnsGarbageAsResponse) {
                    return Ok(Response::new(Bytes::from(stream.unread)));
                }
                self.keep_if_flawed(&server, stream);
                let failure = lost(error, TransportError::unknown);
                return Err(if garbage { failure.error.into() } else { failure });
            }
        };
        let Some(framing) = self.framing(&head) else {
            if self.has(Flaw::PoolsBeforeItChecks) {
                stream.unread.clear();
                self.keep(&server, stream);
                thread::sleep(Duration::from_millis(5));
                self.shared.idle.lock().unwrap().clear();
                return Err(TransportError::unknown(Kind::Protocol).into());
            }
            self.keep_if_flawed(&server, stream);
            return Err(TransportError::unknown(Kind::Protocol).into());
        };
        let mut body = Vec::new();
        let read = self.body(&mut stream, &framing, &mut body);
        if self.has(Flaw::MixesUpResponses) && body.starts_with(b"charge-") && body.ends_with(b"7") {
            body = b"charge-00018".to_vec();
        }
        let is_clean = stream.unread.is_empty() || self.has(Flaw::TreatsUnreadBytesAsResponse);
        let keep = is_clean && self.may_keep(&head, &framing);
        let mut response = Response::new(Bytes::from(body));
        (*response.status_mut(), *response.headers_mut()) = (head.status, head.headers);
        if self.has(Flaw::UsesAlternativeServices) {
            let named = response.headers().get("alt-svc").and_then(|value| value.to_str().ok());
            let port = named.and_then(|services| services.split("http/1.1=\":").nth(1)?.split('"').next());
            *self.shared.alternative.lock().unwrap() = port.and_then(|port| port.parse().ok());
        }
        match read {
            Ok(()) if keep => self.keep(&server, stream),
            Ok(()) => {}
            Err(_) if self.has(Flaw::ForgetsTheStatus) => {
                return Err(TransportError::unknown(Kind::BodyTruncated).into());
            }
            Err(error) => {
                self.keep_if_flawed(&server, stream);
                let kind = match error.kind() {
                    ErrorKind::FileTooLarge => Kind::BodyTooLarge,
                    _ if is_timeout(&error) => Kind::Timeout,
                    _ => Kind::BodyTruncated,
                };
                self.was_reused = reused;
                return Err(TransportError::answered(kind, response).with_source(error).into());
            }
        }
        Ok(self.simplified(response))
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.shared.has(flaw)
    }

    /// RFC 6761 reserves this name for both loopback addresses, whatever the resolver returns.
    fn has_another_address(&self) -> bool {
        self.request.uri().host() == Some("localhost")
    }

    /// Whether the flaw retries after this response.
    fn retries_response(&self, response: &Response<Bytes>) -> bool {
        let status = response.status().as_u16();
        let is_lookup = self.request.method() == http::Method::GET;
        let closes = response.headers().get(CONNECTION).is_some_and(|value| value == "close");
        let is_temporary = [408, 425, 429, 502, 503, 504].contains(&status);
        self.has(Flaw::RetriesLookupsByStatus) && is_lookup && is_temporary
            || self.has(Flaw::RetriesGatewayErrors) && closes && is_temporary
    }

    fn retries_after(&self, error: &TransportError) -> bool {
        let is_answered = matches!(error.delivery(), Delivery::Answered(_));
        let is_bad_record = matches!(tls_error(error), Some(tls) if !is_alert(tls));
        self.has(Flaw::RetriesAfterBadRecord) && is_bad_record && !is_answered
            || self.has(Flaw::RetriesTruncatedBodies)
                && is_answered
                && self.was_reused
                && error.kind() == Kind::BodyTruncated
    }

    fn reports_as_not_processed(&self, error: &TransportError) -> bool {
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        let is_cut = source.is_some_and(|source| source.kind() == ErrorKind::UnexpectedEof);
        self.has(Flaw::ReportsAlertAsNotProcessed) && tls_error(error).is_some_and(is_alert)
            || self.has(Flaw::ReportsCutAsNotProcessed) && is_cut && error.delivery() == Delivery::Unknown
    }

    /// The time until the total deadline. `None` if it has passed.
    fn time_left(&self) -> Option<Duration> {
        let mut total = self.deadlines.total();
        if self.has(Flaw::TakesZeroForNoDeadline) && total.is_zero() {
            total = Deadlines::LONGEST;
        }
        let is_lookup = self.request.method() == http::Method::GET;
        if self.has(Flaw::IgnoresTheDeadline) || is_lookup && self.has(Flaw::LooksUpPastTheDeadline) {
            total += Duration::from_millis(2300);
        }
        let left = total.checked_sub(self.started.elapsed()).filter(|left| !left.is_zero());
        if self.has(Flaw::RestartsDeadlineOnEachRead) {
            Some(total).filter(|total| !total.is_zero())
        } else {
            left
        }
    }

    /// More time, if the process was stopped.
    fn grace(&self) -> Option<Duration> {
        let ends = self.started.checked_add(self.deadlines.total())?;
        if self.has(Flaw::EndsLateCallsUnread) { None } else { grace_after_stop(ends, Instant::now()) }
    }

    fn idle(&self, server: &str) -> Option<Stream> {
        let mut idle = self.shared.idle.lock().unwrap();
        loop {
            let any = self.has(Flaw::SharesConnectionsAcrossServers);
            let index = idle.iter().rposition(|(other, _)| any || other == server)?;
            let (_, stream) = idle.remove(index);
            if self.is_idle(&stream) {
                return Some(stream);
            }
        }
    }

    /// Whether the server has neither closed the connection nor sent anything.
    fn is_idle(&self, stream: &Stream) -> bool {
        if self.has(Flaw::SkipsIdleCheck) {
            return true;
        }
        let socket = stream.wire.socket();
        socket.set_nonblocking(true).unwrap();
        let peeked = socket.peek(&mut [0]);
        socket.set_nonblocking(false).unwrap();
        match peeked {
            Err(error) => error.kind() == ErrorKind::WouldBlock,
            Ok(arrived) => arrived > 0 && self.has(Flaw::TreatsUnreadBytesAsResponse),
        }
    }

    fn keep(&self, server: &str, mut stream: Stream) {
        if !self.has(Flaw::NeverReuses) {
            stream.reused = true;
            self.shared.idle.lock().unwrap().push((server.to_owned(), stream));
        }
    }

    fn keep_if_flawed(&self, server: &str, mut stream: Stream) {
        if self.has(Flaw::ReusesBrokenConnections) {
            stream.unread.clear();
            self.keep(server, stream);
        }
    }

    fn connect(&self) -> Result<Stream, TransportError> {
        let uri = self.request.uri();
        let secure = uri.scheme_str() == Some("https");
        let alternative = *self.shared.alternative.lock().unwrap();
        let port = alternative.or_else(|| uri.port_u16()).unwrap_or(if secure { 443 } else { 80 });
        let ends = self.started + self.deadlines.connect();
        let connect_ends = if self.has(Flaw::ConnectsWithoutDeadline) {
            self.started + self.deadlines.total().min(Duration::from_secs(5))
        } else if self.has(Flaw::ConnectsTooBriefly) {
            self.started + self.deadlines.connect() / 3
        } else {
            ends
        };
        let tcp = self.tcp(uri.host().unwrap(), port, connect_ends)?;
        let wire = if secure { self.tls(uri.host().unwrap(), port, tcp, ends)? } else { Wire::Plain(tcp) };
        let was_sent = matches!(&wire, Wire::Tls(tls) if tls.conn.is_early_data_accepted());
        let last = String::new();
        Ok(Stream { wire, unread: Vec::new(), reused: false, was_sent, last })
    }

    fn tcp(&self, host: &str, port: u16, ends: Instant) -> Result<TcpStream, TransportError> {
        let not_processed = |kind, error: io::Error| TransportError::not_processed(kind).with_source(error);
        let mut server = (host.to_owned(), port);
        if self.has(Flaw::UsesEnvironmentProxy)
            && let Ok(proxy) = std::env::var("http_proxy")
        {
            let proxy: Uri = proxy.parse().unwrap();
            server = (proxy.host().unwrap().to_owned(), proxy.port_u16().unwrap());
        }
        let addresses = server.to_socket_addrs().map_err(|error| {
            if self.has(Flaw::LooksUpWithoutDeadline) {
                thread::sleep(self.deadlines.connect() + Duration::from_millis(2500));
            }
            if self.has(Flaw::ReportsUnresolvedAsUnknown) {
                return TransportError::unknown(Kind::Resolve);
            }
            not_processed(Kind::Resolve, error)
        })?;
        let mut last = io::Error::other("no address");
        let addresses: Vec<_> = if self.tries == 2 && self.has(Flaw::RetriesAtNextAddress) {
            vec![(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()]
        } else {
            addresses.collect()
        };
        for address in addresses {
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TransportError::not_processed(Kind::Timeout));
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(tcp) => {
                    tcp.set_nodelay(true).unwrap();
                    return Ok(tcp);
                }
                Err(error) => last = error,
            }
        }
        if self.has(Flaw::ReportsRefusedAsUnknown) {
            return Err(TransportError::unknown(Kind::Connect));
        }
        Err(not_processed(Kind::Connect, last))
    }

    fn tls(&self, host: &str, port: u16, mut tcp: TcpStream, ends: Instant) -> Result<Wire, TransportError> {
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let mut client = ClientConnection::new(Arc::clone(&self.shared.tls), name.clone()).unwrap();
        if let Some(mut early) = client.early_data() {
            let (head, body) = self.serialized();
            early.write_all(&head).and_then(|()| early.write_all(&body)).unwrap();
        }
        let mut left = ends.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        if self.has(Flaw::HandshakeWithoutDeadline) {
            left = Duration::from_secs(4);
        }
        tcp.set_read_timeout(Some(left)).unwrap();
        tcp.set_write_timeout(Some(left)).unwrap();
        while client.is_handshaking() {
            if let Err(error) = client.complete_io(&mut tcp) {
                let kind = if is_timeout(&error) { Kind::Timeout } else { Kind::Tls };
                if self.has(Flaw::SendsAfterLateHandshake) && is_timeout(&error) {
                    let (head, body) = self.serialized();
                    thread::spawn(move || {
                        tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                        let mut stream = StreamOwned::new(client, tcp);
                        drop(stream.write_all(&head).and_then(|()| stream.write_all(&body)));
                        drop(stream.flush());
                    });
                    return Err(TransportError::not_processed(kind));
                }
                if self.has(Flaw::FallsBackToPlainHttp) && !is_timeout(&error) {
                    return Ok(Wire::Plain(self.tcp(host, port, ends)?));
                }
                if self.has(Flaw::RepeatsUnencrypted) && !is_timeout(&error) {
                    let (mut plain, (head, body)) = (self.tcp(host, port, ends)?, self.serialized());
                    drop(plain.write_all(&head).and_then(|()| plain.write_all(&body)));
                }
                if self.has(Flaw::RepeatsUnverified) && !is_timeout(&error) {
                    let client = ClientConnection::new(Arc::new(trusting_anybody()), name).unwrap();
                    let mut stream = StreamOwned::new(client, self.tcp(host, port, ends)?);
                    let (head, body) = self.serialized();
                    drop(stream.write_all(&head).and_then(|()| stream.write_all(&body)));
                    drop(stream.flush());
                    return Err(TransportError::unknown(kind));
                }
                if self.has(Flaw::ReportsFailedHandshakeAsUnknown) {
                    return Err(TransportError::unknown(kind));
                }
                return Err(TransportError::not_processed(kind).with_source(error));
            }
        }
        Ok(Wire::Tls(Box::new(StreamOwned::new(client, tcp))))
    }

    fn write(&self, stream: &mut Stream) -> io::Result<()> {
        if std::mem::take(&mut stream.was_sent) {
            return Ok(());
        }
        let (head, body) = self.serialized();
        if self.has(Flaw::LogsTheHead) {
            log::debug!("sending {}", String::from_utf8_lossy(&head));
        }
        if self.has(Flaw::TracesTheBody) {
            tracing::debug!(body = ?String::from_utf8_lossy(&body), "sending");
        }
        stream.last = String::from_utf8_lossy(&head).into_owned();
        for mut part in [head.as_slice(), &body] {
            while !part.is_empty() {
                let left = if self.has(Flaw::WritesWithoutDeadline) {
                    Duration::from_secs(20)
                } else if self.has(Flaw::WritesAfterDeadline) {
                    // A partial write before the timeout counts as a success.
                    self.time_left().unwrap_or(Duration::from_millis(1))
                } else if self.has(Flaw::WritesAfterAStop) {
                    self.time_left().or_else(|| self.grace()).ok_or(ErrorKind::TimedOut)?
                } else {
                    self.time_left().ok_or(ErrorKind::TimedOut)?
                };
                stream.wire.socket().set_write_timeout(Some(left))?;
                match stream.wire.write(&part[..part.len().min(64 * 1024)]) {
                    Ok(written) => part = &part[written..],
                    // By the signal that continues a stopped process.
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if self.has(Flaw::WritesAfterDeadline) && is_timeout(&error) => {
                        let (mut socket, rest) = (stream.wire.socket().try_clone()?, part.to_vec());
                        socket.set_write_timeout(None)?;
                        thread::spawn(move || drop(socket.write_all(&rest)));
                        return Err(error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        stream.wire.flush()
    }

    fn serialized(&self) -> (Vec<u8>, Vec<u8>) {
        let (request, uri) = (&self.request, self.request.uri());
        let mut target = uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        if self.has(Flaw::NormalizesTheTarget) {
            target = target.replace("%2F", "/").replace("%20", "+");
        }
        let mut head =
            format!("{} {target} HTTP/1.1\r\nHost: {}\r\n", request.method(), uri.authority().unwrap());
        let is_get = request.method() == http::Method::GET;
        let mut body = request.body().to_vec();
        if self.has(Flaw::TruncatesLargeBodies) {
            body.truncate(1024 * 1024);
        }
        let chunked =
            self.has(Flaw::SendsChunked) && !is_get || self.has(Flaw::SendsBodyWithLookups) && is_get;
        if chunked {
            let mut chunk = format!("{:x}\r\n", body.len()).into_bytes();
            chunk.extend(&body);
            chunk.extend(if is_get { b"\r\n".as_slice() } else { b"\r\n0\r\n\r\n" });
            body = chunk;
            head.push_str("Transfer-Encoding: chunked\r\n");
        } else if !is_get {
            write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        if self.has(Flaw::AddsAcceptEncoding) && !request.headers().contains_key("accept-encoding") {
            head.push_str("Accept-Encoding: gzip\r\n");
        }
        let mut head = head.into_bytes();
        for (name, value) in request.headers() {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend(part);
            }
        }
        head.extend(b"\r\n");
        (head, body)
    }

    /// Reads more bytes into `unread`. Returns 0 at the end.
    fn fill(&self, stream: &mut Stream) -> io::Result<usize> {
        if self.has(Flaw::ChecksDeadlineOnlyWhenIdle) {
            let mut buffer = [0; 16 * 1024];
            stream.wire.socket().set_nonblocking(true)?;
            let read = stream.wire.read(&mut buffer);
            stream.wire.socket().set_nonblocking(false)?;
            if let Ok(length) = read {
                stream.unread.extend(&buffer[..length]);
                return Ok(length);
            }
        }
        let mut left = self.time_left().or_else(|| self.grace()).ok_or(ErrorKind::TimedOut)?;
        if self.has(Flaw::UsesConnectDeadlineForReads) {
            left = left.min(self.deadlines.connect());
        }
        stream.wire.socket().set_read_timeout(Some(left))?;
        let mut buffer = [0; 16 * 1024];
        let length = match stream.wire.read(&mut buffer) {
            // By the signal that continues a stopped process.
            Err(error) if error.kind() == ErrorKind::Interrupted => return self.fill(stream),
            Err(error)
                if error.kind() == ErrorKind::UnexpectedEof && self.has(Flaw::TreatsCutAsEndOfBody) =>
            {
                0
            }
            Err(error) if self.has(Flaw::TreatsAlertAsEndOfBody) && tls_of(&error).is_some_and(is_alert) => 0,
            read => read?,
        };
        // The system may have read everything before this process could look at the clock.
        if self.has(Flaw::EndsLateCallsUnread) && self.time_left().is_none() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.unread.extend(&buffer[..length]);
        Ok(length)
    }

    fn head(&self, stream: &mut Stream) -> io::Result<Head> {
        loop {
            // With `HasNoHeadLimit`, a large head is parsed only once its end has arrived.
            let is_endless = self.has(Flaw::HasNoHeadLimit) && !stream.unread.ends_with(b"}");
            let parsed = if is_endless && stream.unread.len() > LARGEST_HEAD {
                None
            } else {
                self.parse(&stream.unread)?
            };
            match parsed {
                Some((head, length)) => {
                    stream.unread.drain(..length);
                    let is_final =
                        !head.status.is_informational() || head.status == StatusCode::SWITCHING_PROTOCOLS;
                    if is_final || self.has(Flaw::ReturnsInterimResponses) {
                        return Ok(head);
                    }
                    if !self.has(Flaw::ChecksDeadlineOnlyWhenIdle) {
                        self.time_left().ok_or(ErrorKind::TimedOut)?;
                    }
                }
                None if stream.unread.len() > LARGEST_HEAD && !self.has(Flaw::HasNoHeadLimit) => {
                    return Err(ErrorKind::InvalidData.into());
                }
                None => {
                    if self.fill(stream)? == 0 {
                        return Err(ErrorKind::ConnectionAborted.into());
                    }
                    if self.has(Flaw::ReadsHeadOnce) && self.parse(&stream.unread)?.is_none() {
                        return Err(ErrorKind::InvalidData.into());
                    }
                }
            }
        }
    }

    /// The head of a response and its length. `None` if more bytes are needed.
    fn parse(&self, bytes: &[u8]) -> io::Result<Option<(Head, usize)>> {
        let limit = if self.has(Flaw::LimitsHeadersToAHundred) { 100 } else { 1000 };
        let mut headers = vec![httparse::EMPTY_HEADER; limit];
        let mut response = httparse::Response::new(&mut headers);
        let mut parser = httparse::ParserConfig::default();
        parser.allow_obsolete_multiline_headers_in_responses(true);
        let length = match parser.parse_response(&mut response, bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(ErrorKind::InvalidData.into()),
        };
        let invalid = |_: &dyn Error| io::Error::from(ErrorKind::InvalidData);
        let status =
            StatusCode::from_u16(response.code.unwrap_or_default()).map_err(|error| invalid(&error))?;
        let mut map = HeaderMap::new();
        for header in response.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|error| invalid(&error))?;
            let lines = header.value.split(|byte| matches!(byte, b'\r' | b'\n'));
            let lines =
                if self.has(Flaw::CutsFoldedHeaders) { lines.take(1) } else { lines.take(usize::MAX) };
            let value = lines.collect::<Vec<_>>().join(&b' ');
            map.append(name, HeaderValue::from_bytes(value.trim_ascii()).map_err(|error| invalid(&error))?);
        }
        Ok(Some((Head { status, headers: map, http_1_1: response.version == Some(1) }, length)))
    }

    /// `None` if the framing is ambiguous.
    fn framing(&self, head: &Head) -> Option<Framing> {
        let no_body = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&head.status)
            || head.status.is_informational();
        if no_body && !(self.has(Flaw::WaitsForMissingBody) && head.headers.contains_key(CONTENT_LENGTH)) {
            return Some(Framing::None);
        }
        let lengths: Vec<_> = head.headers.get_all(CONTENT_LENGTH).iter().collect();
        let codings: Vec<_> = head.headers.get_all(TRANSFER_ENCODING).iter().collect();
        let trusting = self.has(Flaw::TrustsTheFirstLength);
        match (lengths.as_slice(), codings.as_slice()) {
            ([], []) => Some(Framing::Close),
            ([], [coding]) if *coding == "chunked" => Some(Framing::Chunked),
            (_, [_, ..]) if trusting => Some(Framing::Chunked),
            ([length], []) => number(length).map(Framing::Length),
            ([length, ..], []) if trusting => number(length).map(Framing::Length),
            _ => None,
        }
    }

    fn body(&self, stream: &mut Stream, framing: &Framing, body: &mut Vec<u8>) -> io::Result<()> {
        match framing {
            Framing::None => Ok(()),
            Framing::Length(length) => {
                if self.has(Flaw::ReservesAnnouncedLength) {
                    body.reserve(*length);
                }
                self.take(stream, *length, body)
            }
            Framing::Chunked if self.has(Flaw::DoesNotDecodeChunks) => {
                while !stream.unread.ends_with(b"0\r\n\r\n") && self.fill(stream)? > 0 {}
                body.append(&mut stream.unread);
                Ok(())
            }
            Framing::Chunked => self.chunks(stream, body),
            Framing::Close => loop {
                self.append(stream, usize::MAX, body)?;
                if self.fill(stream)? == 0 {
                    return Ok(());
                }
            },
        }
    }

    fn chunks(&self, stream: &mut Stream, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let line = self.line(stream)?;
            let digits: &str = line.split(';').next().unwrap_or_default();
            let size =
                if self.has(Flaw::ChunkSizesWrap) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    digits
                        .chars()
                        .filter_map(|digit| digit.to_digit(16))
                        .fold(0_u64, |size, digit| size.wrapping_mul(16).wrapping_add(u64::from(digit)))
                } else if digits.starts_with(|digit: char| digit.is_ascii_hexdigit()) {
                    u64::from_str_radix(digits, 16).map_err(|_| ErrorKind::InvalidData)?
                } else {
                    return Err(ErrorKind::InvalidData.into());
                };
            if size == 0 {
                while !self.line(stream)?.is_empty() {}
                return Ok(());
            }
            if self.has(Flaw::ChunkSizesOverflow) {
                size.checked_add(2).expect("the chunk and its line break have a length");
            }
            self.take(stream, usize::try_from(size).map_err(|_| ErrorKind::InvalidData)?, body)?;
            if self.has(Flaw::SkipsChunkEnds) {
                self.take(stream, 2, &mut Vec::new())?;
            } else if !self.line(stream)?.is_empty() {
                return Err(ErrorKind::InvalidData.into());
            }
        }
    }

    fn line(&self, stream: &mut Stream) -> io::Result<String> {
        loop {
            if let Some(at) = stream.unread.windows(2).position(|two| two == b"\r\n") {
                let line = stream.unread.drain(..at + 2).collect::<Vec<_>>();
                return String::from_utf8(line[..at].to_vec()).map_err(|_| ErrorKind::InvalidData.into());
            }
            if stream.unread.len() > LARGEST_HEAD {
                return Err(ErrorKind::InvalidData.into());
            }
            if self.fill(stream)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads this many bytes of the body.
    fn take(&self, stream: &mut Stream, mut length: usize, body: &mut Vec<u8>) -> io::Result<()> {
        while length > 0 {
            length -= self.append(stream, length, body)?;
            if length > 0 && self.fill(stream)? == 0 {
                return if self.has(Flaw::AcceptsTruncatedBodies) {
                    Ok(())
                } else {
                    Err(ErrorKind::UnexpectedEof.into())
                };
            }
        }
        Ok(())
    }

    /// Moves at most this many unread bytes into the body, as far as the cap allows.
    fn append(&self, stream: &mut Stream, length: usize, body: &mut Vec<u8>) -> io::Result<usize> {
        let cap = if self.has(Flaw::IgnoresTheCap) { usize::MAX } else { self.cap };
        let cap = if self.has(Flaw::CapIsExclusive) { cap.saturating_sub(1) } else { cap };
        let piece = stream.unread.len().min(length);
        let fits = piece.min(cap - body.len());
        body.extend(stream.unread.drain(..fits));
        if fits < piece { Err(ErrorKind::FileTooLarge.into()) } else { Ok(piece) }
    }

    fn may_keep(&self, head: &Head, framing: &Framing) -> bool {
        let closes = head
            .headers
            .get_all(CONNECTION)
            .iter()
            .any(|value| value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("close")));
        let closes = closes || !head.http_1_1;
        let ends = matches!(framing, Framing::Close) || head.status == StatusCode::SWITCHING_PROTOCOLS;
        !ends && (!closes || self.has(Flaw::IgnoresConnectionClose))
    }

    fn simplified(&self, mut response: Response<Bytes>) -> Response<Bytes> {
        if self.has(Flaw::RemovesContentEncoding) {
            response.headers_mut().remove(CONTENT_ENCODING);
        }
        if self.has(Flaw::DropsUnusualHeaders) {
            let headers = std::mem::take(response.headers_mut());
            for (name, value) in &headers {
                if value.to_str().is_ok() {
                    response.headers_mut().insert(name, value.clone());
                }
            }
        }
        response
    }
}

fn is_gateway_page(response: &Response<Bytes>) -> bool {
    response.status().is_server_error()
        && response.headers().get("content-type").is_some_and(|value| value == "text/html")
}

fn tls_error(error: &TransportError) -> Option<&rustls::Error> {
    tls_of(error.source()?.downcast_ref::<io::Error>()?)
}

fn tls_of(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn is_alert(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::AlertReceived(_))
}

fn number(value: &HeaderValue) -> Option<usize> {
    let text = value.to_str().ok()?;
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?
}

fn is_timeout(error: &io::Error) -> bool {
    [ErrorKind::TimedOut, ErrorKind::WouldBlock].contains(&error.kind())
}

fn kind_of(error: &io::Error) -> Kind {
    match error.kind() {
        _ if is_timeout(error) => Kind::Timeout,
        ErrorKind::InvalidData => Kind::Protocol,
        _ => Kind::Closed,
    }
}

const LARGEST_HEAD: usize = 64 * 1024;
