use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Instant;

use futures_channel::oneshot;
use futures_timer::Delay;
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};

use super::exchange::exchange;
use super::line::Line;

/// HTTP/1.1 over a socket of the standard library, a connection and a thread for each call.
#[derive(Clone, Copy, Debug)]
pub struct StdTransport;

impl Transport for StdTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        // Both deadlines begin here, at the first poll, and the total one is the future's own.
        let connect_by = Instant::now() + request.deadlines().connect();
        let mut deadline = Delay::new(request.deadlines().total());

        let line = Arc::new(Line::default());
        let (answer, mut answered) = oneshot::channel();
        let call = {
            let line = Arc::clone(&line);
            // Nobody is told if the call was dropped meanwhile.
            move || drop(answer.send(exchange(&line, request, connect_by)))
        };
        thread::Builder::new()
            .spawn(call)
            .map_err(|error| TransportError::not_processed(TransportErrorKind::Other).with_source(error))?;

        let _cut = CutOnDrop(&line);
        let in_time = poll_fn(|cx| match Pin::new(&mut answered).poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => Pin::new(&mut deadline).poll(cx).map(|()| None),
        });
        let ended = if let Some(ended) = in_time.await {
            ended
        } else {
            line.cut(TransportErrorKind::Timeout);
            // The cut has freed the thread, and it alone knows how far the request got.
            answered.await
        };
        ended.unwrap_or_else(|_| {
            Err(TransportError::unknown(TransportErrorKind::Other).with_source("it panicked"))
        })
    }
}

/// Dropping the call's future drops this, and with it goes the connection.
struct CutOnDrop<'a>(&'a Line);

impl Drop for CutOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cut(TransportErrorKind::Cancelled);
    }
}
