use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Uri, Version};
use http_body_util::Full;
use payments_core::TransportRequest;

use crate::origin::Origin;

/// A request on its way: it is taken once, and once more each time that it was put back.
///
/// It stays in one place, because a copy of it in each future that it passes through would double what a waiting call holds.
pub(crate) struct Outgoing(Option<Request<Full<Bytes>>>);

impl Outgoing {
    /// The request as HTTP/1.1 wants it: the path alone as target, `Host`, and `Content-Length` as long as the body is.
    pub(crate) fn new(request: TransportRequest, origin: &Origin) -> Self {
        let (mut head, body) = request.into_http().into_parts();
        let target = head.uri.into_parts().path_and_query;
        head.uri = Uri::from(target.unwrap_or_else(|| PathAndQuery::from_static("/")));
        head.version = Version::HTTP_11;
        head.headers.insert(HOST, origin.host_header());
        head.headers.remove(TRANSFER_ENCODING);
        if body.is_empty() && head.method.is_safe() {
            head.headers.remove(CONTENT_LENGTH);
        } else {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        Self(Some(Request::from_parts(head, Full::new(body))))
    }

    pub(crate) fn take(&mut self) -> Request<Full<Bytes>> {
        self.0.take().expect("it is tried again only when it was put back")
    }

    pub(crate) fn put_back(&mut self, request: Request<Full<Bytes>>) {
        self.0 = Some(request);
    }
}
