//! The server's side of HTTP/2, by the `h2` crate. A script can act on each stream, and can end the connection below `h2`.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderValue, Request as HttpRequest, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::arrivals::Received;
use crate::connection::Connection;
use crate::script::Act;

/// One HTTP/2 connection, from the server's side. It blocks its thread while it waits for the client.
pub(crate) struct Peer<'a> {
    connection: Rc<RefCell<&'a mut Connection>>,
    http2: server::Connection<Socket<'a>, Bytes>,
    pings: PingPong,
    streams: BTreeMap<u32, Stream>,
    events: VecDeque<Event>,
    gives_windows: bool,
}

/// What the client did.
pub(crate) enum Event {
    /// A request began; its body has not arrived.
    Begun(Request),
    /// A whole request arrived.
    Request(Request),
    /// The client reset a stream with this code.
    Reset { stream: u32, code: Reason },
}

/// A request and its stream.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) stream: u32,
    pub(crate) received: Received,
}

/// Kept until the connection ends, because `h2` resets a stream that is dropped.
struct Stream {
    received: Received,
    /// `None` once the body has ended.
    body: Option<RecvStream>,
    respond: SendResponse<Bytes>,
    /// `None` before the head of the response.
    response: Option<SendStream<Bytes>>,
    is_reset: bool,
}

impl<'a> Peer<'a> {
    /// Exchanges the prefaces. `None` if the client does not speak HTTP/2.
    pub(crate) fn start(connection: &'a mut Connection) -> Option<Self> {
        if !connection.handshake() {
            return None;
        }
        let connection = Rc::new(RefCell::new(connection));
        let mut handshake = pin!(server::Builder::new().handshake(Socket(Rc::clone(&connection))));
        let mut http2 = loop {
            match handshake.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(http2)) => break http2,
                Poll::Pending if connection.borrow().wait_for_input() => {}
                Poll::Ready(Err(_)) | Poll::Pending => {
                    connection.borrow().note("the client offered HTTP/2 and did not speak it");
                    return None;
                }
            }
        };
        let pings = http2.ping_pong()?;
        let (streams, events) = (BTreeMap::new(), VecDeque::new());
        Some(Self { connection, http2, pings, streams, events, gives_windows: true })
    }

    /// The connection below HTTP/2.
    pub(crate) fn connection(&mut self) -> RefMut<'_, &'a mut Connection> {
        self.connection.borrow_mut()
    }

    /// The index of this connection on its server, from 0.
    pub(crate) fn index(&self) -> usize {
        self.connection.borrow().index
    }

    /// Stops sending window updates for request bodies.
    pub(crate) fn give_no_windows(&mut self) {
        self.gives_windows = false;
    }

    /// The client's next event. `None` if the connection has ended.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let is_open = self.advance();
            if self.events.is_empty() && !(is_open && self.connection.borrow().wait_for_input()) {
                return None;
            }
        }
    }

    /// The next whole request that has already arrived. `None` if there is none yet.
    pub(crate) fn next_request_if_pending(&mut self) -> Option<Request> {
        self.advance();
        while let Some(event) = self.events.pop_front() {
            if let Event::Request(request) = event {
                return Some(request);
            }
        }
        None
    }

    /// The next whole request. `None` if the connection has ended.
    pub(crate) fn next_request(&mut self) -> Option<Request> {
        loop {
            if let Event::Request(request) = self.next()? {
                return Some(request);
            }
        }
    }

    /// Reads everything until the client closes the connection.
    pub(crate) fn wait_for_close(&mut self) {
        while self.next().is_some() {}
    }

    /// Echoes one request.
    pub(crate) fn serve_one(&mut self) {
        if let Some(request) = self.next_request() {
            self.echo(&request);
        }
    }

    /// Echoes every request until the client closes the connection.
    pub(crate) fn serve(&mut self) {
        while let Some(request) = self.next_request() {
            if !self.echo(&request) {
                return;
            }
        }
    }

    /// Responds with the id of the request, so that a caller can recognize its own response.
    pub(crate) fn echo(&mut self, request: &Request) -> bool {
        self.respond(request.stream, &Response::new(request.received.id()))
    }

    /// Performs one act for the request that was just read. Returns `false` if the connection is no longer usable.
    pub(crate) fn play(&mut self, act: &Act, request: &Request) -> bool {
        let stream = request.stream;
        match act {
            Act::Echo => return self.echo(request),
            Act::Answer(answer) => return self.respond(stream, answer),
            // Other streams on the connection continue.
            Act::Silence => return true,
            Act::Drip { answer, bytes, every } => {
                let last = answer.body().len().saturating_sub(1);
                return self.head(stream, answer)
                    && answer.body()[..last].chunks(*bytes).all(|piece| {
                        thread::sleep(*every);
                        self.data(stream, piece, false)
                    });
            }
            Act::Truncate { answer, bytes } => {
                self.head(stream, answer);
                self.data(stream, &answer.body()[..*bytes], false);
                self.wait_until_read();
                self.connection().close();
            }
            Act::Garbage(garbage) => {
                self.connection().write(garbage);
                self.wait_for_close();
            }
            Act::Reset => self.connection().reset(),
            // A script that refuses has no listener, so `Refuse` does not get here.
            Act::Close | Act::Refuse => self.connection().close(),
        }
        false
    }

    /// Sends a whole response with `content-length`. Returns `false` once the client accepts no more of it.
    pub(crate) fn respond(&mut self, stream: u32, response: &Response<impl AsRef<[u8]>>) -> bool {
        self.head(stream, response) && self.data(stream, response.body().as_ref(), true)
    }

    /// Sends the head of a response, with the length of the body. Send the body with [`data`](Self::data).
    pub(crate) fn head(&mut self, stream: u32, response: &Response<impl AsRef<[u8]>>) -> bool {
        let mut head = Response::new(());
        *head.status_mut() = response.status();
        *head.headers_mut() = response.headers().clone();
        if ![204, 304].contains(&response.status().as_u16()) {
            let length = HeaderValue::from(response.body().as_ref().len());
            head.headers_mut().insert(CONTENT_LENGTH, length);
        }
        self.unannounced(stream, head)
    }

    /// Sends the head of a response, without the length of the body.
    pub(crate) fn unannounced(&mut self, stream: u32, head: Response<()>) -> bool {
        let Some(stream) = self.streams.get_mut(&stream) else { return false };
        stream.response = stream.respond.send_response(head, false).ok();
        stream.response.is_some() && self.advance()
    }

    /// Sends part of a body, as the client's windows allow. Returns `false` once the client accepts no more of it.
    pub(crate) fn data(&mut self, stream: u32, bytes: &[u8], is_last: bool) -> bool {
        let Some(stream) = self.streams.get_mut(&stream) else { return false };
        let sent =
            stream.response.as_mut().map(|body| body.send_data(Bytes::copy_from_slice(bytes), is_last));
        matches!(sent, Some(Ok(()))) && self.advance()
    }

    /// Waits until the client has read everything that was sent.
    ///
    /// Call it before the connection ends, if the client must know what was sent. Without it, a client that is about to
    /// acknowledge the settings can find the connection broken before it reads.
    pub(crate) fn wait_until_read(&mut self) {
        if self.pings.send_ping(Ping::opaque()).is_err() {
            return;
        }
        loop {
            let is_open = self.advance();
            let pong = self.pings.poll_pong(&mut Context::from_waker(Waker::noop()));
            if pong.is_ready() || !is_open || !self.connection.borrow().wait_for_input() {
                return;
            }
        }
    }

    /// Resets one stream.
    pub(crate) fn reset(&mut self, stream: u32, code: Reason) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.is_reset = true;
            match &mut stream.response {
                Some(response) => response.send_reset(code),
                None => stream.respond.send_reset(code),
            }
            self.advance();
        }
    }

    /// Resets a request's stream with `REFUSED_STREAM`, the only code that proves it was not processed.
    pub(crate) fn refuse(&mut self, request: &Request) {
        {
            let connection = self.connection.borrow();
            connection.arrivals.add_refused(connection.index, &request.received.id());
        }
        self.reset(request.stream, Reason::REFUSED_STREAM);
    }

    /// Announces the end of the connection, and that no stream above `last` was or will be processed.
    ///
    /// `h2` never excludes a stream that it has read, so the frame is written below it.
    pub(crate) fn goaway(&mut self, last: u32, code: Reason) {
        let mut frame = vec![0, 0, 8, GOAWAY, 0, 0, 0, 0, 0];
        frame.extend(last.to_be_bytes().into_iter().chain(u32::from(code).to_be_bytes()));
        self.connection().write(frame);
    }

    /// Reads and writes everything that is possible without waiting. Returns `false` once the connection has ended.
    fn advance(&mut self) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        let mut is_open = true;
        loop {
            match self.http2.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    self.begin(request, respond);
                    continue;
                }
                Poll::Ready(Some(Err(_)) | None) => is_open = false,
                Poll::Pending => {}
            }
            // A released window is sent by the next round.
            if !self.read_bodies(context) {
                return is_open;
            }
        }
    }

    fn begin(&mut self, request: HttpRequest<RecvStream>, respond: SendResponse<Bytes>) {
        let connection = self.connection.borrow();
        let (head, body) = request.into_parts();
        let mut received =
            Received::of(connection.index, &HttpRequest::from_parts(head.clone(), Bytes::new()));
        if let Some(authority) = head.uri.authority() {
            // The name of this header in HTTP/1.1.
            received.headers.push((HOST.to_string(), authority.as_str().into()));
        }
        let stream = respond.stream_id().as_u32();
        if !body.is_end_stream() {
            connection.arrivals.add_started(connection.index, &received.id());
            self.events.push_back(Event::Begun(Request { stream, received: received.clone() }));
        }
        let begun = Stream { received, body: Some(body), respond, response: None, is_reset: false };
        self.streams.insert(stream, begun);
    }

    /// Reads what has arrived of the bodies, and which streams were reset. Returns whether there was anything.
    fn read_bodies(&mut self, context: &mut Context<'_>) -> bool {
        let connection = self.connection.borrow();
        let mut found = false;
        for (&number, stream) in &mut self.streams {
            while let Some(body) = &mut stream.body
                && let Poll::Ready(piece) = body.poll_data(context)
            {
                found = true;
                match piece {
                    Some(Ok(piece)) => {
                        stream.received.body.extend_from_slice(&piece);
                        if self.gives_windows {
                            // Fails only if the stream has been reset.
                            let _ = body.flow_control().release_capacity(piece.len());
                        }
                    }
                    Some(Err(_)) => stream.body = None,
                    None => {
                        stream.body = None;
                        let received = stream.received.clone();
                        connection.arrivals.add(connection.index, received.clone());
                        self.events.push_back(Event::Request(Request { stream: number, received }));
                    }
                }
            }
            let reset = match &mut stream.response {
                _ if stream.is_reset => Poll::Pending,
                Some(response) => response.poll_reset(context),
                None => stream.respond.poll_reset(context),
            };
            if let Poll::Ready(Ok(code)) = reset {
                (found, stream.is_reset) = (true, true);
                self.events.push_back(Event::Reset { stream: number, code });
            }
        }
        found
    }
}

/// The connection in the form that `h2` needs: it reads what has arrived, and blocks when it writes.
struct Socket<'a>(Rc<RefCell<&'a mut Connection>>);

impl AsyncRead for Socket<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0.borrow_mut().read_arrived(buffer.initialize_unfilled()) {
            Ok(length) => {
                buffer.advance(length);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Socket<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let is_written = self.0.borrow_mut().write(bytes);
        Poll::Ready(is_written.then_some(bytes.len()).ok_or_else(|| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The type of a frame, from RFC 9113 §6.8.
const GOAWAY: u8 = 7;
