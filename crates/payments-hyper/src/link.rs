use bytes::Bytes;
use hyper::body::{Frame, Incoming};

use crate::connection::{Connection, Exchange};
#[cfg(feature = "http2")]
use crate::multiplexed::Multiplexed;
use crate::origin::Origin;
use crate::outgoing::Outgoing;

/// What carries a request: a connection of its own, or its part of a shared one.
pub(crate) enum Link {
    Exclusive(Box<Connection>),
    #[cfg(feature = "http2")]
    Multiplexed(Multiplexed),
}

impl Link {
    /// Whether other requests went this way before.
    pub(crate) fn is_reused(&self) -> bool {
        match self {
            Self::Exclusive(connection) => connection.is_reused(),
            #[cfg(feature = "http2")]
            Self::Multiplexed(connection) => connection.is_reused(),
        }
    }

    /// Sends `request` and waits for the head of its answer.
    #[cfg_attr(
        not(feature = "http2"),
        allow(unused_variables, reason = "HTTP/1.1 names it in the Host header")
    )]
    pub(crate) async fn exchange(&mut self, request: &mut Outgoing, origin: &Origin) -> Exchange {
        match self {
            Self::Exclusive(connection) => connection.exchange(request).await,
            #[cfg(feature = "http2")]
            Self::Multiplexed(connection) => connection.exchange(request, origin).await,
        }
    }

    /// The next piece of the answer's body; `None` at its end.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        match self {
            Self::Exclusive(connection) => connection.frame(body).await,
            #[cfg(feature = "http2")]
            Self::Multiplexed(connection) => connection.frame(body).await,
        }
    }

    /// Whether a body at whose end hyper saw no error is whole.
    #[cfg_attr(not(feature = "http2"), allow(unused_variables, reason = "HTTP/1.1 has no end that is none"))]
    pub(crate) fn has_brought_all_of(&self, body: &Incoming) -> bool {
        match self {
            Self::Exclusive(_) => true,
            #[cfg(feature = "http2")]
            Self::Multiplexed(_) => Multiplexed::has_brought_all_of(body),
        }
    }
}
