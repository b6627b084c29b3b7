use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::shutdown::Shutdown;

/// What a response consists of.
pub(crate) enum Content {
    Whole(Bytes),
    /// Pieces that are sent as they come, until their sender is dropped or the sandbox stops.
    #[allow(dead_code, reason = "for streams of events")]
    Pieces(mpsc::Receiver<Bytes>),
}

impl Content {
    pub(crate) fn until(self, mut shutdown: Shutdown) -> ContentBody {
        match self {
            Self::Whole(bytes) => ContentBody::Whole(Full::new(bytes)),
            Self::Pieces(pieces) => {
                ContentBody::Pieces(pieces, Box::pin(async move { shutdown.begun().await }))
            }
        }
    }
}

/// A [`Content`] as hyper reads it.
pub(crate) enum ContentBody {
    Whole(Full<Bytes>),
    Pieces(mpsc::Receiver<Bytes>, Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl Body for ContentBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(whole) => Pin::new(whole).poll_frame(context),
            Self::Pieces(pieces, shutdown) => match shutdown.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => pieces.poll_recv(context).map(|piece| Some(Ok(Frame::data(piece?)))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(whole) if whole.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Pieces(..) => SizeHint::default(),
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

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use payments_fake::block_on;

    use super::*;

    #[test]
    fn pieces_come_until_the_sandbox_stops() {
        let (switch, shutdown) = Shutdown::new();
        let (sender, pieces) = mpsc::channel(1);
        let mut body = Content::Pieces(pieces).until(shutdown);
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
        let mut body = Content::Pieces(pieces).until(shutdown);
        drop(sender);
        assert!(block_on(body.frame()).is_none());
    }
}
