use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Lives as long as the future of a call.
pub(crate) struct Call {
    caller: Arc<()>,
    total_ends: Instant,
}

impl Call {
    pub(crate) fn new(total_ends: Instant) -> Self {
        Self { caller: Arc::new(()), total_ends }
    }

    /// The body of the call's request.
    pub(crate) fn body(&self, bytes: Bytes) -> CallBody {
        CallBody { rest: bytes, caller: Arc::downgrade(&self.caller), total_ends: self.total_ends }
    }
}

/// A body that is sent in pieces, fails once its call is dropped, and pauses at the deadline. With a plain body, reqwest would
/// continue to send it in the background.
///
/// Sending it consumes it, so that nothing in reqwest can send it again.
///
/// payments-hyper has the same. All that both crates share is payments-core, which does not depend on `http_body`.
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
        // A usize has at most 64 bits.
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::time::Duration;

    use super::*;

    fn next(body: &mut CallBody) -> Option<Result<usize, &'static str>> {
        match Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(frame) => frame.map(|frame| frame.map(|frame| frame.into_data().unwrap().len())),
            Poll::Pending => panic!("the body waits only after its deadline"),
        }
    }

    #[test]
    fn a_body_fails_once_its_call_is_dropped() {
        let call = Call::new(Instant::now() + Duration::from_mins(1));
        let [mut whole, mut dropped] =
            [(); 2].map(|()| call.body(vec![b'x'; CallBody::CHUNK_SIZE + 1].into()));
        assert_eq!(next(&mut whole), Some(Ok(CallBody::CHUNK_SIZE)));
        assert_eq!(next(&mut whole), Some(Ok(1)));
        assert!(whole.is_end_stream() && next(&mut whole).is_none());

        assert_eq!(next(&mut dropped), Some(Ok(CallBody::CHUNK_SIZE)));
        drop(call);
        assert_eq!(next(&mut dropped), Some(Err("the call was dropped")));
    }

    #[test]
    fn no_more_of_a_body_is_sent_after_its_deadline() {
        let call = Call::new(Instant::now());
        let [mut late, mut dropped] = [(); 2].map(|()| call.body(Bytes::from_static(b"x")));
        assert!(Pin::new(&mut late).poll_frame(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(call);
        assert_eq!(next(&mut dropped), Some(Err("the call was dropped")));
    }
}
