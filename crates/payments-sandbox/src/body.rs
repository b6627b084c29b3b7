use std::convert::Infallible;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::Frame;
use tokio::sync::mpsc;

use crate::shutdown::Shutdown;

/// What a response consists of.
pub(crate) enum Content {
    Whole(Bytes),
    /// Pieces that are sent as they come, until their sender is dropped or the sandbox stops.
    Pieces(mpsc::Receiver<Bytes>),
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

/// A [`Content`] as hyper reads it.
pub(crate) type ContentBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;

impl Content {
    pub(crate) fn until(self, shutdown: &Shutdown) -> ContentBody {
        match self {
            Self::Whole(bytes) => Either::Left(Full::new(bytes)),
            Self::Pieces(mut pieces) => {
                let pieces = poll_fn(move |context| pieces.poll_recv(context)).take_until(shutdown.begun());
                Either::Right(StreamBody::new(pieces.map(Frame::data).map(Ok)).boxed_unsync())
            }
        }
    }
}

/// A response of the sandbox itself; the service's come from the gateway.
pub(crate) fn json<B: From<Bytes>>(status: StatusCode, json: impl Into<Bytes>) -> Response<B> {
    let mut response = Response::new(B::from(json.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use payments_fake::block_on;

    use super::*;

    #[test]
    fn pieces_come_until_the_sandbox_stops() {
        let (switch, shutdown) = Shutdown::new();
        let (sender, pieces) = mpsc::channel(1);
        let mut body = Content::Pieces(pieces).until(&shutdown);
        sender.try_send(Bytes::from_static(b"one")).unwrap();
        let piece = block_on(body.frame()).unwrap().unwrap();
        assert_eq!(piece.into_data().unwrap(), "one");
        switch.begin();
        assert!(block_on(body.frame()).is_none(), "the sender is still there");
    }

    #[test]
    fn pieces_end_with_their_sender() {
        let (_switch, shutdown) = Shutdown::new();
        let (sender, pieces) = mpsc::channel(1);
        let mut body = Content::Pieces(pieces).until(&shutdown);
        drop(sender);
        assert!(block_on(body.frame()).is_none());
    }
}
