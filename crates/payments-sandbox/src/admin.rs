//! The admin interface under `/_sandbox`: for tests in any language, what the fake's types are for tests in Rust.

mod request;
mod resources;

use std::sync::Arc;

use bytes::Bytes;
use http::header::ORIGIN;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use payments_fake::Fixtures;
use payments_fake::unversioned::ErrorEnvelope;

use self::request::AdminRequest;
use self::resources::ROUTES;
use crate::body::{Body, full};
use crate::page::{Event, Feed};
use crate::sandbox_info::SandboxInfo;
use crate::wall_clock::WallClock;

/// The prefix of every admin path. It is never under the base path of the service.
pub(crate) const PREFIX: &str = "/_sandbox";

/// The part of an admin path after the [`PREFIX`].
pub(crate) fn path(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The limit of a request's body, chosen by this SDK.
pub(crate) const LARGEST_BODY: usize = 1024 * 1024;

/// The state behind the admin interface.
pub(crate) struct Admin {
    pub(crate) info: Arc<SandboxInfo>,
    /// The sandbox's clock, unless the gateway has its own.
    pub(crate) clock: Option<WallClock>,
    pub(crate) fixtures: Fixtures,
    pub(crate) feed: Feed,
}

impl Admin {
    /// Responds to a request, of which the path may be another one if this port has no service.
    pub(crate) fn respond(&self, request: &Request<Bytes>) -> Response<Body> {
        self.handle(request)
            .unwrap_or_else(|refusal| refusal.response().map(|body| full([&*body, b"\n"].concat())))
    }

    fn handle(&self, request: &Request<Bytes>) -> Result<Response<Body>, ErrorEnvelope> {
        if request.body().len() > LARGEST_BODY {
            let message = "Request body is larger than 1 MiB";
            return Err(ErrorEnvelope::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        // A browser sends `Origin` with every request that changes something. Only the sandbox's own page may do so.
        let origin = request.headers().get(ORIGIN);
        if origin.is_some_and(|origin| !request::is_own_page(origin, self.info.scheme, request.headers())) {
            let message = "a web page cannot control the sandbox; use its own page, opened by IP address or as localhost";
            return Err(ErrorEnvelope::new(StatusCode::FORBIDDEN, message));
        }
        // On any other address, the sandbox cannot know its own names.
        if self.info.admin_address.ip().is_loopback() && !request::is_for_local_host(request.headers()) {
            let message = "use an IP address or localhost: another host name could be that of a web page";
            return Err(ErrorEnvelope::new(StatusCode::FORBIDDEN, message));
        }
        let Some(path) = path(request.uri().path()) else {
            let message = "Path not found: this port is for /_sandbox alone";
            return Err(ErrorEnvelope::new(StatusCode::NOT_FOUND, message));
        };
        let here = || ROUTES.iter().filter(|(_, own, ..)| *own == path);
        // hyper sends only the head of the response to a HEAD.
        let wanted = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let Some((method, _, parameters, handler)) = here().find(|(own, ..)| own == wanted) else {
            let allowed: Vec<_> = here().map(|(method, ..)| method.as_str()).collect();
            return Err(if allowed.is_empty() {
                let routes: Vec<_> =
                    ROUTES.iter().map(|(method, path, ..)| format!("{method} {path}")).collect();
                let message = format!(
                    "unknown path: open ui_url in a browser; under {PREFIX} there are {}",
                    routes.join(", ")
                );
                ErrorEnvelope::new(StatusCode::NOT_FOUND, message)
            } else {
                let allowed = allowed.join(", ");
                let message = format!("this path has only the methods {allowed}");
                let allow = HeaderValue::try_from(allowed).expect("methods are visible ASCII");
                ErrorEnvelope::wrong_method(message, allow)
            });
        };
        let response = handler(self, &AdminRequest::read(request, parameters)?)?;
        if method != Method::GET {
            self.feed.send(Event::Change);
        }
        Ok(response)
    }
}
