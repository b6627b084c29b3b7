use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tokio::time::Instant;

use crate::socket::Closer;

/// One call whose caller still waits. If it is dropped before it is complete, nothing more of its request is written, and its
/// HTTP/1.1 connection is not reused, because more could arrive on it. Over HTTP/2 hyper resets the call's stream.
pub(crate) struct Call {
    /// The connection that the request is assigned to, once there is one. Until then nothing was sent.
    pub(crate) connection: CaptureConnection,
    /// The request's body ends when this is dropped.
    caller: Arc<()>,
    pub(crate) response: Arrived,
}

/// How much of a response was read.
#[derive(PartialEq, Eq)]
pub(crate) enum Arrived {
    Nothing,
    /// Its length is unambiguous.
    Head,
    Whole,
}

impl Call {
    /// Starts a call of this request.
    pub(crate) fn new(request: Request<Bytes>, total_ends: Instant) -> (Self, Request<CallBody>) {
        let caller = Arc::new(());
        let mut request = request.map(|rest| CallBody { rest, caller: Arc::downgrade(&caller), total_ends });
        let connection = capture_connection(&mut request);
        (Self { connection, caller, response: Arrived::Nothing }, request)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // hyper drops the body once it has taken the last of it.
        let is_sent = Arc::weak_count(&self.caller) == 0;
        if self.response == Arrived::Whole && is_sent {
            return;
        }
        if let Some(connected) = &*self.connection.connection_metadata()
            && !connected.is_negotiated_h2()
        {
            connected.poison();
            // Once the request is sent and the head was read, the pool may already have assigned the connection to another call.
            // hyper closes the connection itself if the rest of the body is not read.
            if self.response == Arrived::Nothing || !is_sent {
                Closer::close(connected);
            }
        }
    }
}

/// A request body that fails once its call is dropped, and pauses at the deadline. Otherwise the connection's task would continue to
/// send it.
///
/// payments-reqwest has the same. All that both crates share is payments-core, which does not depend on `http_body`.
pub(crate) struct CallBody {
    rest: Bytes,
    caller: Weak<()>,
    total_ends: Instant,
}

impl CallBody {
    const CHUNK_SIZE: usize = 16 * 1024;
}

impl Body for CallBody {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        if self.caller.strong_count() == 0 {
            return Poll::Ready(Some(Err("the call was dropped")));
        }
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        // If the process was stopped, the call still waits for what has arrived, and ends soon.
        if Instant::now() >= self.total_ends {
            return Poll::Pending;
        }
        let length = self.rest.len().min(Self::CHUNK_SIZE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
