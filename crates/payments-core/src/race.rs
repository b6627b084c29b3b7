use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// The future's result, or `None` if the limit ends first. If both are ready, the result wins, so the future is polled
/// first: evidence that is here is never thrown away.
pub(crate) async fn race<T>(future: impl Future<Output = T>, limit: impl Future<Output = ()>) -> Option<T> {
    let mut future = pin!(future);
    let mut limit = pin!(limit);
    poll_fn(|context| {
        if let Poll::Ready(result) = future.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        limit.as_mut().poll(context).map(|()| None)
    })
    .await
}
