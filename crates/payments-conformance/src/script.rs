use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

/// What a server does with each request, as data.
///
/// The kit runs it on a real socket. A stack without [`Ability::Sockets`](crate::Ability::Sockets) runs it itself in place
/// of a server, and records each request that it receives in [`Setup::arrivals`](crate::Setup::arrivals).
#[derive(Clone, Debug)]
pub struct Script {
    acts: Vec<Act>,
}

/// What a server does with one request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Act {
    /// Reads the whole request and responds with 200 and the request's [id](crate::ID_HEADER) as the body.
    Echo,
    /// Reads the whole request and sends this response.
    Answer(Response<Bytes>),
    /// Reads the whole request and closes the connection.
    Close,
    /// Reads the whole request and resets the connection.
    Reset,
    /// Reads the whole request and sends nothing while the client waits.
    Silence,
    /// Reads the whole request, announces the full length of the response, and sends its body piece by piece until the
    /// client gives up. The last byte is never sent.
    Drip {
        /// The response that never ends.
        answer: Response<Bytes>,
        /// The number of bytes in each piece.
        bytes: usize,
        /// The time between two pieces.
        every: Duration,
    },
    /// Reads the whole request, announces the full length of the response, sends part of its body, and closes.
    Truncate {
        /// The response that is cut off.
        answer: Response<Bytes>,
        /// How many bytes of the body are sent.
        bytes: usize,
    },
    /// Reads the whole request and sends these bytes, which are not HTTP.
    Garbage(Bytes),
    /// Refuses the connection.
    Refuse,
}

impl Script {
    /// One act for each request in order. The last act repeats.
    pub(crate) fn in_turn(acts: impl Into<Vec<Act>>) -> Self {
        let acts = acts.into();
        assert!(!acts.is_empty(), "a script has an act");
        Self { acts }
    }

    /// What to do with this request, counted from 0 across all connections.
    pub fn act(&self, request: usize) -> &Act {
        &self.acts[request.min(self.acts.len() - 1)]
    }

    pub(crate) fn refuses_all(&self) -> bool {
        self.acts.iter().all(|act| matches!(act, Act::Refuse))
    }
}

pub(crate) fn response(status: StatusCode, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
}
