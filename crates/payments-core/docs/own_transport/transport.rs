use std::sync::Arc;
use std::thread;

use futures_channel::oneshot;
use payments_core::transport::{before, grace_after_stop};
use payments_core::{
    SystemTimer, Timer as _, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};

use super::call_state::CallState;
use super::exchange::exchange;

/// HTTP/1.1 over a socket of the standard library, with one connection and one thread per call.
#[derive(Clone, Copy, Debug)]
pub struct StdTransport;

impl Transport for StdTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        // Both deadlines begin here, at the first poll. The future enforces the total deadline.
        let (timer, deadlines) = (SystemTimer::new(), request.deadlines());
        let started = timer.now();
        let (ends, on_time) = (started + deadlines.total(), timer.sleep(deadlines.total()));
        let deadline = async {
            on_time.await;
            // If this process was stopped meanwhile, the thread may not have read yet what has arrived.
            if let Some(grace) = grace_after_stop(ends, timer.now()) {
                timer.sleep(grace).await;
            }
        };

        let call = Arc::new(CallState::default());
        let (sender, mut result) = oneshot::channel();
        let run = {
            let call = Arc::clone(&call);
            // Sending fails if the future was dropped meanwhile.
            move || drop(sender.send(exchange(&call, request, started)))
        };
        thread::Builder::new()
            .spawn(run)
            .map_err(|error| TransportError::not_processed(TransportErrorKind::Other).with_source(error))?;

        let _end = EndOnDrop(&call);
        let ended = if let Some(ended) = before(deadline, &mut result).await {
            ended
        } else {
            call.end(TransportErrorKind::Timeout);
            // This wakes the thread, and only the thread knows how far the request got.
            result.await
        };
        ended.unwrap_or_else(|_| {
            Err(TransportError::unknown(TransportErrorKind::Other).with_source("the thread panicked"))
        })
    }
}

/// Ends the call, and closes its connection, when the future is dropped.
struct EndOnDrop<'a>(&'a CallState);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end(TransportErrorKind::Cancelled);
    }
}
