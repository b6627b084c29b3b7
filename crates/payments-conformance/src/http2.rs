//! The server's side of HTTP/2, frame by frame, so that it can do what a server library would not.

mod frame;

use std::collections::{HashMap, VecDeque};
use std::thread;

use http::Response;
use loona_hpack::Decoder;

use self::frame::Windows;
pub(crate) use self::frame::{LARGEST, code, flag, frame, header_block, kind, literal, setting};
use crate::connection::Connection;
use crate::journal::Received;
use crate::script::Act;

/// One HTTP/2 connection, from the server's side.
///
/// It automatically acknowledges settings and pings, sends window updates, respects the client's windows, and writes the
/// journal. The script does everything else.
pub(crate) struct Peer<'a> {
    pub(crate) connection: &'a mut Connection,
    decoder: Decoder<'a>,
    /// Requests whose stream has not ended.
    arriving: HashMap<u32, Received>,
    events: VecDeque<Event>,
    windows: Windows,
    gives_windows: bool,
}

/// What the client did.
pub(crate) enum Event {
    /// A request began; its body has not arrived.
    Begun(Request),
    /// A whole request arrived.
    Request(Request),
    /// The client reset a stream with this code.
    Reset { stream: u32, code: u32 },
}

/// A request and its stream.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) stream: u32,
    pub(crate) received: Received,
}

impl<'a> Peer<'a> {
    /// Reads the client's preface and sends these settings. `None` if the client does not speak HTTP/2.
    pub(crate) fn start(connection: &'a mut Connection, settings: &[(u16, u32)]) -> Option<Self> {
        let mut peer = Self::accept(connection)?;
        let each = settings.iter().flat_map(|(name, value)| {
            let (name, value) = (name.to_be_bytes(), value.to_be_bytes());
            name.into_iter().chain(value)
        });
        peer.frame(kind::SETTINGS, 0, 0, &each.collect::<Vec<_>>());
        Some(peer)
    }

    /// Reads the client's preface and sends nothing, which violates the protocol.
    pub(crate) fn accept(connection: &'a mut Connection) -> Option<Self> {
        if connection.read_exact(PREFACE.len())? != PREFACE {
            connection.note("the client offered HTTP/2 and did not speak it");
            return None;
        }
        let (arriving, events) = (HashMap::new(), VecDeque::new());
        let (decoder, windows) = (Decoder::new(), Windows::default());
        Some(Self { connection, decoder, arriving, events, windows, gives_windows: true })
    }

    /// Stops sending window updates for request bodies.
    pub(crate) fn give_no_windows(&mut self) {
        self.gives_windows = false;
    }

    /// The client's next event. `None` if the client closed the connection.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            self.read_frame()?;
        }
    }

    /// The next whole request among the bytes that have arrived. `None` if there is none yet.
    pub(crate) fn next_request_if_pending(&mut self) -> Option<Request> {
        loop {
            match self.events.pop_front() {
                Some(Event::Request(request)) => return Some(request),
                Some(_) => {}
                None if self.connection.is_caught_up() => return None,
                None => self.read_frame()?,
            }
        }
    }

    /// The next whole request. `None` if the client closed the connection.
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
                return self.head(stream, answer, 0)
                    && answer.body()[..last].chunks(*bytes).all(|piece| {
                        thread::sleep(*every);
                        self.data(stream, piece, false)
                    });
            }
            Act::Truncate { answer, bytes } => {
                self.head(stream, answer, 0);
                self.data(stream, &answer.body()[..*bytes], false);
                self.connection.close();
            }
            Act::Garbage(garbage) => {
                self.connection.write(garbage);
                self.wait_for_close();
            }
            Act::Reset => self.connection.reset(),
            // A script that refuses has no listener, so `Refuse` does not get here.
            Act::Close | Act::Refuse => self.connection.close(),
        }
        false
    }

    /// Sends a whole response with `content-length`. Returns `false` once the client accepts no more of it.
    pub(crate) fn respond(&mut self, stream: u32, response: &Response<impl AsRef<[u8]>>) -> bool {
        let body = response.body().as_ref();
        if body.is_empty() {
            return self.head(stream, response, flag::END_STREAM);
        }
        self.head(stream, response, 0) && self.data(stream, body, true)
    }

    /// Sends the head of a response, with the length of the body. Send the body with [`data`](Self::data).
    pub(crate) fn head(&mut self, stream: u32, response: &Response<impl AsRef<[u8]>>, flags: u8) -> bool {
        let length = response.body().as_ref().len().to_string();
        let has_body = ![204, 304].contains(&response.status().as_u16());
        let length = has_body.then_some((b"content-length".as_slice(), length.as_bytes()));
        let headers =
            response.headers().iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
        let block = header_block(response.status().as_str(), headers.chain(length));
        self.frame(kind::HEADERS, flag::END_HEADERS | flags, stream, &block)
    }

    /// Sends part of a body as the client's windows allow. Returns `false` once the client accepts no more of it.
    pub(crate) fn data(&mut self, stream: u32, mut bytes: &[u8], is_last: bool) -> bool {
        loop {
            let room = self.windows.room(stream).min(LARGEST);
            if room == 0 && !bytes.is_empty() {
                if self.read_frame().is_none() || self.was_reset(stream) {
                    return false;
                }
                continue;
            }
            let (piece, rest) = bytes.split_at(bytes.len().min(room));
            let ends = is_last && rest.is_empty();
            self.windows.spend(stream, piece.len());
            if !self.frame(kind::DATA, if ends { flag::END_STREAM } else { 0 }, stream, piece) {
                return false;
            }
            if rest.is_empty() {
                return true;
            }
            bytes = rest;
        }
    }

    /// Resets one stream.
    pub(crate) fn reset(&mut self, stream: u32, code: u32) -> bool {
        self.frame(kind::RST_STREAM, 0, stream, &code.to_be_bytes())
    }

    /// Resets a request's stream with `REFUSED_STREAM`, the only code that proves it was not processed.
    pub(crate) fn refuse(&mut self, request: &Request) -> bool {
        self.connection.journal.add_refused(self.connection.index, &request.received.id());
        self.reset(request.stream, code::REFUSED_STREAM)
    }

    /// Announces the end of the connection, and that no stream above `last` was or will be processed.
    pub(crate) fn goaway(&mut self, last: u32, code: u32) -> bool {
        let payload: Vec<u8> = last.to_be_bytes().into_iter().chain(code.to_be_bytes()).collect();
        self.frame(kind::GOAWAY, 0, 0, &payload)
    }

    /// Extends a window by this many bytes. Stream 0 is the whole connection.
    pub(crate) fn give_window(&mut self, stream: u32, bytes: u32) -> bool {
        self.frame(kind::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
    }

    /// Sends any frame. Returns `false` once the client no longer reads.
    pub(crate) fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        self.connection.write(frame(kind, flags, stream, payload))
    }

    fn was_reset(&self, which: u32) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Reset { stream, .. } if *stream == which))
    }

    /// Reads one frame and responds to it as the protocol requires.
    fn read_frame(&mut self) -> Option<()> {
        let head = self.connection.read_exact(9)?;
        let length = usize::try_from(u32::from_be_bytes([0, head[0], head[1], head[2]])).ok()?;
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        if length > LARGEST {
            self.connection.note("the client sent a frame larger than allowed");
            return None;
        }
        let payload = self.connection.read_exact(length)?;
        let (kind, flags) = (head[3], head[4]);
        match kind {
            kind::DATA => self.take_data(stream, flags, &payload),
            kind::HEADERS => self.take_head(stream, flags, &payload)?,
            kind::RST_STREAM => {
                let event = Event::Reset { stream, code: number(&payload)? };
                self.events.push_back(event);
            }
            kind::SETTINGS if flags & flag::ACK == 0 => {
                for setting in payload.chunks_exact(6) {
                    if u16::from_be_bytes([setting[0], setting[1]]) == setting::INITIAL_WINDOW_SIZE {
                        self.windows.set_initial(number(&setting[2..])?);
                    }
                }
                self.frame(kind::SETTINGS, flag::ACK, 0, &[]);
            }
            kind::PING if flags & flag::ACK == 0 => _ = self.frame(kind::PING, flag::ACK, 0, &payload),
            kind::WINDOW_UPDATE => self.windows.widen(stream, number(&payload)?),
            _ => {}
        }
        Some(())
    }

    fn take_data(&mut self, stream: u32, flags: u8, payload: &[u8]) {
        if let Some(received) = self.arriving.get_mut(&stream) {
            received.body.extend(unpadded(flags, payload));
        }
        let ends = flags & flag::END_STREAM != 0;
        if self.gives_windows && !payload.is_empty() {
            let length = u32::try_from(payload.len()).expect("no frame is larger than 16 KiB");
            self.give_window(0, length);
            if !ends {
                self.give_window(stream, length);
            }
        }
        if ends {
            self.take_end(stream);
        }
    }

    fn take_head(&mut self, stream: u32, flags: u8, payload: &[u8]) -> Option<()> {
        let mut block = unpadded(flags, payload).to_vec();
        if flags & flag::PRIORITY != 0 {
            block.drain(..5);
        }
        let mut ends_head = flags & flag::END_HEADERS != 0;
        while !ends_head {
            let head = self.connection.read_exact(9)?;
            let length = usize::try_from(u32::from_be_bytes([0, head[0], head[1], head[2]])).ok()?;
            block.extend(self.connection.read_exact(length)?);
            ends_head = head[4] & flag::END_HEADERS != 0;
        }
        let Ok(fields) = self.decoder.decode(&block) else {
            self.connection.note("the client sent a header block that cannot be decoded");
            return None;
        };
        // A later header block on the same stream is trailers, which the kit never sends.
        if !self.arriving.contains_key(&stream) {
            let received = received(self.connection.index, fields);
            if flags & flag::END_STREAM == 0 {
                self.connection.journal.add_started(self.connection.index, &received.id());
                self.events.push_back(Event::Begun(Request { stream, received: received.clone() }));
            }
            self.arriving.insert(stream, received);
        }
        if flags & flag::END_STREAM != 0 {
            self.take_end(stream);
        }
        Some(())
    }

    fn take_end(&mut self, stream: u32) {
        if let Some(received) = self.arriving.remove(&stream) {
            self.connection.journal.add(self.connection.index, received.clone());
            self.events.push_back(Event::Request(Request { stream, received }));
        }
    }
}

fn received(connection: usize, fields: Vec<(Vec<u8>, Vec<u8>)>) -> Received {
    let mut received = Received { connection, ..Received::default() };
    for (name, value) in fields {
        let text = || String::from_utf8_lossy(&value).into_owned();
        match name.as_slice() {
            b":method" => received.method = text(),
            b":path" => received.target = text(),
            b":scheme" => {}
            // The name of this header in HTTP/1.1.
            b":authority" => received.headers.push(("host".to_owned(), value)),
            _ => received.headers.push((String::from_utf8_lossy(&name).into_owned(), value)),
        }
    }
    received
}

fn unpadded(flags: u8, payload: &[u8]) -> &[u8] {
    match payload.split_first() {
        Some((padding, rest)) if flags & flag::PADDED != 0 => {
            &rest[..rest.len().saturating_sub(usize::from(*padding))]
        }
        _ => payload,
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
