use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::test_request::ID_HEADER;

/// What reached the server: every whole request, and of any other what came of it, connection by connection.
///
/// Clones share the same pages.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<ConnectionRecord>>>);

/// What is known of one connection.
#[derive(Default)]
struct ConnectionRecord {
    requests: Vec<Received>,
    /// The beginning of what came and is no whole request yet.
    beginning: Vec<u8>,
    /// How long all of that is.
    unfinished: usize,
    /// The ids of requests that came on streams of which the end has not come.
    started: Vec<String>,
    /// The ids of requests with which the server did nothing, and said so in a way that is proof.
    refused: Vec<String>,
    events: Vec<&'static str>,
}

impl Journal {
    /// Writes down a request that reached a stand-in of a server, on a connection of its own.
    ///
    /// For stacks without [`Ability::Sockets`](crate::Ability::Sockets) alone: the kit's server keeps its journal
    /// itself.
    pub fn record(&self, request: &http::Request<Bytes>) {
        let connection = self.open();
        self.add(connection, Received::of(connection, request));
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.lock().len()
    }

    /// How many whole requests arrived, over all connections.
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

    /// Replaces what is known of the request that has begun to arrive.
    pub(crate) fn set_unfinished(&self, connection: usize, bytes: &[u8]) {
        let mut connections = self.lock();
        let connection = &mut connections[connection];
        connection.beginning.clear();
        connection.beginning.extend_from_slice(&bytes[..bytes.len().min(BEGINNING)]);
        connection.unfinished = bytes.len();
    }

    /// Writes down that a request began to arrive on one of the connection's streams.
    pub(crate) fn add_started(&self, connection: usize, id: &str) {
        self.lock()[connection].started.push(id.to_owned());
    }

    /// Writes down that the server does nothing with a request and proves it to the client, who may then say so.
    pub(crate) fn add_refused(&self, connection: usize, id: &str) {
        self.lock()[connection].refused.push(id.to_owned());
    }

    pub(crate) fn note(&self, connection: usize, event: &'static str) {
        self.lock()[connection].events.push(event);
    }

    /// Every whole request, connection by connection.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.lock().iter().flat_map(|connection| connection.requests.iter().cloned()).collect()
    }

    /// On which connections a request of this id arrived whole.
    pub(crate) fn carriers_of(&self, id: &str) -> Vec<usize> {
        let connections = self.lock();
        let requests = connections.iter().flat_map(|connection| &connection.requests);
        requests.filter(|request| request.has_id(id)).map(|request| request.connection).collect()
    }

    /// On which connections, counted from 1, the whole of a request of this id came or a part of it.
    pub(crate) fn connections_of(&self, id: &str) -> Vec<usize> {
        let connections = self.lock();
        let carries = |connection: &ConnectionRecord| {
            connection.requests.iter().any(|request| request.has_id(id))
                || connection.started.iter().any(|started| started == id)
                || id_in(&connection.beginning).is_some_and(|started| started == id)
        };
        let numbered = connections.iter().enumerate().filter(|(_, connection)| carries(connection));
        numbered.map(|(index, _)| index + 1).collect()
    }

    /// What came of requests that did not arrive whole, and on which connection.
    pub(crate) fn unfinished(&self) -> Vec<(usize, Vec<u8>)> {
        let connections = self.lock();
        let unfinished = connections.iter().enumerate().filter(|(_, connection)| connection.unfinished > 0);
        unfinished.map(|(index, connection)| (index, connection.beginning.clone())).collect()
    }

    /// The ids of requests that began to arrive on streams of which the end has not come, with their connections.
    pub(crate) fn started(&self) -> Vec<(usize, String)> {
        let connections = self.lock();
        let started = connections.iter().enumerate();
        started
            .flat_map(|(index, connection)| connection.started.iter().map(move |id| (index, id.clone())))
            .collect()
    }

    /// Whether the server proved to the client that it did nothing with the request.
    pub(crate) fn was_refused(&self, id: &str) -> bool {
        self.lock().iter().any(|connection| connection.refused.iter().any(|refused| refused == id))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ConnectionRecord>> {
        // Each change is whole, so a poisoned journal can still be read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A whole request as it reached the server, byte for byte.
#[derive(Clone)]
pub(crate) struct Received {
    /// On which connection, counted from 0.
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

    /// Every value of a header, in order.
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
        write!(f, "{method} of {}, whole, body {} bytes", self.id(), body.len())
    }
}

/// So many of these, in the singular where it is one.
pub(crate) fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

/// The id in the beginning of a request, if it has come.
pub(crate) fn id_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let (_, rest) = text.split_once(&format!("{ID_HEADER}:"))?;
    let (id, _) = rest.split_once("\r\n")?;
    Some(id.trim().to_owned())
}

/// More than this tells a reader nothing: what a breach is about names its connections itself.
const SHOWN_CONNECTIONS: usize = 8;
const SHOWN_REQUESTS: usize = 3;

/// Longer than any head that the kit sends.
const BEGINNING: usize = 8 * 1024;

/// One line for each of the first connections.
impl fmt::Display for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self.lock();
        if connections.is_empty() {
            return f.write_str("nothing: no connection was made");
        }
        for (index, connection) in connections.iter().enumerate().take(SHOWN_CONNECTIONS) {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}connection {}:", index + 1)?;
            for request in connection.requests.iter().take(SHOWN_REQUESTS) {
                write!(f, " {request};")?;
            }
            if connection.requests.len() > SHOWN_REQUESTS {
                write!(f, " and {} more whole requests;", connection.requests.len() - SHOWN_REQUESTS)?;
            }
            for id in connection.started.iter().take(5) {
                write!(f, " a part of {id};")?;
            }
            if connection.unfinished > 0 {
                write!(f, " {} bytes of a request that did not arrive whole;", connection.unfinished)?;
            } else if connection.requests.is_empty() && connection.started.is_empty() {
                f.write_str(" nothing of a request;")?;
            }
            for id in connection.refused.iter().take(5) {
                write!(f, " {id} refused without being processed;")?;
            }
            for event in &connection.events {
                write!(f, " {event};")?;
            }
        }
        if connections.len() > SHOWN_CONNECTIONS {
            write!(f, "\nand {} more", counted(connections.len() - SHOWN_CONNECTIONS, "connection"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("connections", &self.connections())
            .field("requests", &self.requests())
            .finish_non_exhaustive()
    }
}
