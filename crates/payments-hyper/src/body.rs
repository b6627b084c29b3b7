use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A call that somebody waits for, for as long as this is kept. Inside is whether hyper has taken the whole body.
pub(crate) struct Call(Arc<AtomicBool>);

impl Call {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn is_body_taken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The body of the call's request.
    pub(crate) fn body(&self, bytes: Bytes) -> CallBody {
        self.0.store(bytes.is_empty(), Ordering::Relaxed);
        CallBody { rest: bytes, call: Arc::downgrade(&self.0) }
    }
}

/// A request's body that ends with its call.
///
/// The connection's task would otherwise go on sending the request of a call that was dropped.
pub(crate) struct CallBody {
    rest: Bytes,
    call: Weak<AtomicBool>,
}

impl CallBody {
    const PIECE: usize = 16 * 1024;
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
        let length = self.rest.len().min(Self::PIECE);
        let piece = self.rest.split_to(length);
        call.store(self.rest.is_empty(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
