use std::error::Error as StdError;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::Response;
use http::response::Parts;

use super::error::{TransportError, TransportErrorKind};
use super::response::TransportResponse;

/// Reads the body of a response to its end, to `cap` bytes or until `limit` ends. `poll_piece` returns the next piece of the body, of
/// any length.
///
/// What arrived is always kept: it may contain the transaction's id. After `limit`, at most one more piece is read, even if the server
/// always has one ready.
///
/// # Errors
///
/// A [`TransportError::answered`] of the kind `Timeout`, `BodyTruncated` or `BodyTooLarge`, with what arrived.
pub async fn read_body<E: Into<Box<dyn StdError + Send + Sync>>>(
    head: Parts,
    cap: usize,
    limit: impl Future<Output = ()>,
    mut poll_piece: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, E>>>,
) -> Result<TransportResponse, TransportError> {
    let (mut limit, mut is_over) = (pin!(limit), false);
    let mut read = Bytes::new();
    let failure = poll_fn(|context| {
        loop {
            let polled = poll_piece(context);
            let is_pending = polled.is_pending();
            match polled {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some((TransportErrorKind::BodyTruncated, Some(error))));
                }
                Poll::Ready(Some(Ok(mut piece))) => {
                    let room = cap - read.len();
                    let is_too_large = piece.len() > room;
                    piece.truncate(room);
                    append(&mut read, piece);
                    if is_too_large {
                        return Poll::Ready(Some((TransportErrorKind::BodyTooLarge, None)));
                    }
                }
                Poll::Pending => {}
            }
            let was_over = is_over;
            is_over = is_over || limit.as_mut().poll(context).is_ready();
            // A body that ends at the deadline is whole, so a piece that is there is read once more.
            if was_over || is_over && is_pending {
                return Poll::Ready(Some((TransportErrorKind::Timeout, None)));
            }
            if is_pending {
                return Poll::Pending;
            }
        }
    })
    .await;
    let response = Response::from_parts(head, read);
    Err(match failure {
        None => return Ok(TransportResponse::new(response)),
        Some((kind, None)) => TransportError::answered(kind, response),
        Some((kind, Some(source))) => TransportError::answered(kind, response).with_source(source),
    })
}

/// Nearly every body arrives in one piece, which is not copied.
fn append(read: &mut Bytes, piece: Bytes) {
    if read.is_empty() {
        *read = piece;
    } else {
        let mut joined =
            std::mem::take(read).try_into_mut().unwrap_or_else(|shared| BytesMut::from(&*shared));
        joined.extend_from_slice(&piece);
        *read = joined.freeze();
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::iter;

    use payments_fake::block_on;

    use super::*;
    use crate::transport::error::Delivery;

    type Piece = Poll<Option<Result<Bytes, &'static str>>>;

    fn piece(text: &'static str) -> Piece {
        Poll::Ready(Some(Ok(Bytes::from_static(text.as_bytes()))))
    }

    /// Reads up to four bytes of these pieces, and has this much time for it.
    fn read(
        limit: impl Future<Output = ()>,
        pieces: impl IntoIterator<Item = Piece>,
    ) -> (Option<TransportErrorKind>, Bytes) {
        let mut pieces = pieces.into_iter();
        let head = Response::new(()).into_parts().0;
        let read = block_on(read_body(head, 4, limit, |_| pieces.next().unwrap_or(Poll::Pending)));
        match read {
            Ok(response) => (None, response.body().clone()),
            Err(error) => {
                assert!(matches!(error.delivery(), Delivery::Answered(_)), "{error:?}");
                (Some(error.kind()), error.partial().expect("a response").body().clone())
            }
        }
    }

    #[test]
    fn what_arrived_is_kept_with_why_it_ends() {
        use TransportErrorKind::{BodyTooLarge, BodyTruncated, Timeout};

        let end = || Poll::Ready(None);
        let failed = || Poll::Ready(Some(Err("reset")));
        for (pieces, in_time, late) in [
            (vec![end()], (None, ""), (None, "")),
            (vec![piece("ab"), piece(""), piece("cd"), end()], (None, "abcd"), (Some(Timeout), "ab")),
            (vec![piece("ab"), end()], (None, "ab"), (None, "ab")),
            (vec![piece("ab"), failed()], (Some(BodyTruncated), "ab"), (Some(BodyTruncated), "ab")),
            (vec![piece("abcde")], (Some(BodyTooLarge), "abcd"), (Some(BodyTooLarge), "abcd")),
            (vec![piece("ab"), piece("cdef")], (Some(BodyTooLarge), "abcd"), (Some(BodyTooLarge), "abcd")),
        ] {
            for (is_late, (kind, body)) in [(false, in_time), (true, late)] {
                let limit = poll_fn(|_| if is_late { Poll::Ready(()) } else { Poll::Pending });
                let read = read(limit, pieces.clone());
                assert_eq!(read, (kind, Bytes::from(body)), "{pieces:?}, late: {is_late}");
            }
        }
        assert_eq!(read(ready(()), [Poll::Pending]), (Some(Timeout), Bytes::new()));
    }

    #[test]
    fn a_body_that_never_waits_ends_by_the_deadline_d23() {
        let mut left = 100;
        let limit = poll_fn(|_| {
            left -= 1;
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        let pieces = iter::repeat_with(|| piece("")).take(1_000).chain([Poll::Ready(None)]);
        assert_eq!(read(limit, pieces), (Some(TransportErrorKind::Timeout), Bytes::new()));
        assert_eq!(left, 0);
    }
}
