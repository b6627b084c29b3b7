use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

/// What a server does with the requests that reach it, as data.
///
/// The kit plays it on a real socket. A stack without [`Ability::Sockets`](crate::Ability::Sockets) plays it itself, in
/// whatever stands for the server there, and writes each request that it takes into
/// [`Setup::journal`](crate::Setup::journal).
#[derive(Clone, Debug)]
pub struct Script {
    acts: Vec<Act>,
}

/// What a server does with one request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Act {
    /// Reads the whole request and answers 200 with its [id](crate::ID_HEADER) as the body.
    Echo,
    /// Reads the whole request and answers.
    Answer(Response<Bytes>),
    /// Reads the whole request and closes the connection.
    Close,
    /// Reads the whole request and resets the connection.
    Reset,
    /// Reads the whole request and says nothing for as long as the client waits.
    Silence,
    /// Reads the whole request, announces the whole answer, and sends a piece of its body at a time until the client
    /// gives up. The last byte never comes.
    Drip {
        /// The answer that never ends.
        answer: Response<Bytes>,
        /// How many bytes make a piece.
        bytes: usize,
        /// The time between two pieces.
        every: Duration,
    },
    /// Reads the whole request, announces the whole answer, sends so many bytes of its body, and closes.
    Truncate {
        /// The answer that is cut off.
        answer: Response<Bytes>,
        /// How many bytes of its body are sent.
        bytes: usize,
    },
    /// Reads the whole request and sends these bytes, which are no HTTP.
    Garbage(Bytes),
    /// There is nobody to connect to.
    Refuse,
}

impl Script {
    /// The first act for the first request, and so on; the last one for every further request.
    pub(crate) fn in_turn(acts: impl Into<Vec<Act>>) -> Self {
        let acts = acts.into();
        assert!(!acts.is_empty(), "a script has an act");
        Self { acts }
    }

    /// What to do with the request of this number, counted from 0 over all connections.
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
