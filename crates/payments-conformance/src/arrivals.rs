use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::test_request::ID_HEADER;

/// What reached the server: every request, whole or in part, by connection.
///
/// Clones share their contents.
#[derive(Clone, Default)]
pub struct Arrivals(Arc<Mutex<Vec<ConnectionRecord>>>);

/// The record of one connection.
#[derive(Default)]
struct ConnectionRecord {
    /// The first byte from the client, once it has arrived.
    first_byte: Option<u8>,
    requests: Vec<Received>,
    /// The beginning of the bytes that are not yet a whole request.
    beginning: Vec<u8>,
    /// The number of those bytes.
    unfinished: usize,
    /// The ids of requests on HTTP/2 streams that have not ended.
    started: Vec<String>,
    /// The ids of requests that the server refused in a way that proves they were not processed.
    refused: Vec<String>,
    events: Vec<String>,
}

impl Arrivals {
    /// Records a received request, on a new connection.
    ///
    /// Only for stacks without [`Ability::Sockets`](crate::Ability::Sockets). Otherwise the kit's server records the
    /// requests.
    pub fn record(&self, request: &http::Request<Bytes>) {
        let connection = self.open();
        self.add(connection, Received::of(connection, request));
    }

    /// The number of accepted connections.
    pub fn connections(&self) -> usize {
        self.lock().len()
    }

    /// The number of whole requests on all connections.
    pub fn requests(&self) -> usize {
        self.lock().iter().map(|connection| connection.requests.len()).sum()
    }

    pub(crate) fn open(&self) -> usize {
        let mut connections = self.lock();
        connections.push(ConnectionRecord::default());
        connections.len() - 1
    }

    pub(crate) fn add(&self, connection: usize, request: Received) {
        let mut connections = self.lock();
        let connection = &mut connections[connection];
        if let Some(at) = connection.started.iter().position(|id| request.has_id(id)) {
            connection.started.swap_remove(at);
        }
        connection.requests.push(request);
        connection.beginning.clear();
        connection.unfinished = 0;
    }

    /// Replaces the record of the request that is arriving.
    pub(crate) fn set_unfinished(&self, connection: usize, bytes: &[u8]) {
        let mut connections = self.lock();
        let connection = &mut connections[connection];
        connection.beginning.clear();
        connection.beginning.extend_from_slice(&bytes[..bytes.len().min(BEGINNING)]);
        connection.unfinished = bytes.len();
    }

    /// Records the first byte of a connection, before TLS. Returns whether it begins a request.
    pub(crate) fn begin(&self, connection: usize, first_byte: u8) -> bool {
        self.lock()[connection].first_byte = Some(first_byte);
        begins_request(first_byte)
    }

    /// The connections, counted from 1, on which something was sent without TLS.
    pub(crate) fn unencrypted(&self) -> Vec<usize> {
        let connections = self.lock();
        let is_plain = |connection: &ConnectionRecord| connection.first_byte.is_some_and(begins_request);
        connections.iter().zip(1..).filter(|(one, _)| is_plain(one)).map(|(_, number)| number).collect()
    }

    /// Records that a request began to arrive on an HTTP/2 stream.
    pub(crate) fn add_started(&self, connection: usize, id: &str) {
        self.lock()[connection].started.push(id.to_owned());
    }

    /// Records that the server refuses a request with proof, so that the client may report it as not processed.
    pub(crate) fn add_refused(&self, connection: usize, id: &str) {
        self.lock()[connection].refused.push(id.to_owned());
    }

    pub(crate) fn note(&self, connection: usize, event: impl Into<String>) {
        self.lock()[connection].events.push(event.into());
    }

    /// Every whole request, by connection.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.lock().iter().flat_map(|connection| connection.requests.iter().cloned()).collect()
    }

    /// The connections on which a whole request with this id arrived.
    pub(crate) fn carriers_of(&self, id: &str) -> Vec<usize> {
        let connections = self.lock();
        let requests = connections.iter().flat_map(|connection| &connection.requests);
        requests.filter(|request| request.has_id(id)).map(|request| request.connection).collect()
    }

    /// For each id the connections, counted from 1, on which its request arrived, whole or in part.
    pub(crate) fn transmissions(&self) -> HashMap<String, Vec<usize>> {
        let connections = self.lock();
        let numbered = || connections.iter().zip(1..);
        let whole = numbered()
            .flat_map(|(connection, number)| connection.requests.iter().map(move |one| (one.id(), number)));
        let unfinished =
            numbered().filter_map(|(connection, number)| Some((id_in(&connection.beginning)?, number)));
        let started = numbered()
            .flat_map(|(connection, number)| connection.started.iter().map(move |id| (id.clone(), number)));
        let mut transmissions: HashMap<String, Vec<usize>> = HashMap::new();
        for (id, number) in whole.chain(unfinished).chain(started) {
            transmissions.entry(id).or_default().push(number);
        }
        transmissions
    }

    /// The beginnings of the incomplete requests.
    pub(crate) fn unfinished(&self) -> Vec<Vec<u8>> {
        let connections = self.lock();
        let unfinished = connections.iter().filter(|connection| connection.unfinished > 0);
        unfinished.map(|connection| connection.beginning.clone()).collect()
    }

    /// How many requests were cut off before their ids.
    pub(crate) fn nameless(&self) -> usize {
        let is_nameless = |bytes: &Vec<u8>| {
            bytes.first().is_some_and(|first| begins_request(*first)) && id_in(bytes).is_none()
        };
        self.unfinished().iter().filter(|bytes| is_nameless(bytes)).count()
    }

    /// How many bytes of incomplete requests have arrived.
    pub(crate) fn unfinished_bytes(&self) -> usize {
        self.lock().iter().map(|connection| connection.unfinished).sum()
    }

    /// Whether the server refused the request with proof that it was not processed.
    pub(crate) fn was_refused(&self, id: &str) -> bool {
        self.lock().iter().any(|connection| connection.refused.iter().any(|refused| refused == id))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ConnectionRecord>> {
        // Each change is complete, so a poisoned arrivals can still be read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A whole request as the server received it, byte for byte.
#[derive(Clone, Default)]
pub(crate) struct Received {
    /// The index of the connection, from 0.
    pub(crate) connection: usize,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn of(connection: usize, request: &http::Request<Bytes>) -> Self {
        let target = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let headers = request.headers().iter();
        Self {
            connection,
            method: request.method().to_string(),
            target: target.to_owned(),
            headers: headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
            body: request.body().to_vec(),
        }
    }

    /// All values of a header, in order.
    pub(crate) fn header(&self, name: &str) -> Vec<&[u8]> {
        let fields = self.headers.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        fields.map(|(_, value)| value.as_slice()).collect()
    }

    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.header(ID_HEADER).first() == Some(&id.as_bytes())
    }

    /// The unique id that the kit gave the request.
    pub(crate) fn id(&self) -> String {
        self.header(ID_HEADER).first().map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default()
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, body, .. } = self;
        write!(f, "{method} of {}, complete, body {} bytes", self.id(), body.len())
    }
}

/// A count with its noun, such as "2 requests".
pub(crate) fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

/// A request begins with a letter, a TLS handshake does not.
fn begins_request(first_byte: u8) -> bool {
    first_byte.is_ascii_alphabetic()
}

/// The id in the beginning of a request, if it has arrived.
fn id_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let (_, rest) = text.split_once(&format!("{ID_HEADER}:"))?;
    let (id, _) = rest.split_once("\r\n")?;
    Some(id.trim().to_owned())
}

/// More lines do not help: a violation names the connections that it is about.
const SHOWN_CONNECTIONS: usize = 8;
const SHOWN_REQUESTS: usize = 3;

/// Longer than the head of any of the kit's requests.
const BEGINNING: usize = 8 * 1024;

/// One line for each of the first connections.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self.lock();
        if connections.is_empty() {
            return f.write_str("nothing: no connection was opened");
        }
        for (index, connection) in connections.iter().enumerate().take(SHOWN_CONNECTIONS) {
            let mut seen: Vec<String> =
                connection.requests.iter().take(SHOWN_REQUESTS).map(ToString::to_string).collect();
            if connection.requests.len() > SHOWN_REQUESTS {
                let more = connection.requests.len() - SHOWN_REQUESTS;
                seen.push(format!("and {more} more complete requests"));
            }
            seen.extend(connection.started.iter().take(5).map(|id| format!("part of {id}")));
            if connection.unfinished > 0 {
                seen.push(format!("{} bytes of an incomplete request", connection.unfinished));
            } else if seen.is_empty() {
                seen.push("no part of a request".to_owned());
            }
            let refused = connection.refused.iter().take(5);
            seen.extend(refused.map(|id| format!("{id} refused without being processed")));
            seen.extend(connection.events.iter().cloned());
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}connection {}: {};", index + 1, seen.join("; "))?;
        }
        if connections.len() > SHOWN_CONNECTIONS {
            write!(f, "\nand {}", counted(connections.len() - SHOWN_CONNECTIONS, "more connection"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrivals")
            .field("connections", &self.connections())
            .field("requests", &self.requests())
            .finish_non_exhaustive()
    }
}
