use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A call whose caller still waits. Dropping it ends the request's body. The flag is set once hyper has taken the whole body.
pub(crate) struct Call(Arc<AtomicBool>);

impl Call {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn is_body_taken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Creates the body of this call's request.
    pub(crate) fn body(&self, bytes: Bytes) -> CallBody {
        self.0.store(bytes.is_empty(), Ordering::Relaxed);
        CallBody { rest: bytes, call: Arc::downgrade(&self.0) }
    }
}

/// A request body that fails once its call is dropped.
///
/// Otherwise the connection's task would continue to send the request of a dropped call.
pub(crate) struct CallBody {
    rest: Bytes,
    call: Weak<AtomicBool>,
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
        let Some(call) = self.call.upgrade() else {
            return Poll::Ready(Some(Err("the call was dropped")));
        };
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(Self::CHUNK_SIZE);
        let chunk = self.rest.split_to(length);
        call.store(self.rest.is_empty(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
