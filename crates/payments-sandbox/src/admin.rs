//! The interface under `/_sandbox`, for tests in any language: what the fake's own types offer to tests in Rust.

mod ask;
mod resources;

use bytes::Bytes;
use http::header::{ALLOW, ORIGIN};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use payments_fake::{FakeGateway, Fixtures};

use self::ask::{Ask, Refusal};
use self::resources::ROUTES;
use crate::body::{Body, json, whole};
use crate::page::{Feed, News};
use crate::wall_clock::WallClock;

/// The prefix of every path here. It is never under the base path of the service.
pub(crate) const PREFIX: &str = "/_sandbox";

/// What the interface reads and changes.
pub(crate) struct Admin {
    pub(crate) gateway: FakeGateway,
    /// The sandbox's clock, unless the gateway brought one of its own.
    pub(crate) clock: Option<WallClock>,
    pub(crate) fixtures: Fixtures,
    pub(crate) seed: Option<u64>,
    /// Whether only this machine can ask.
    pub(crate) is_on_loopback: bool,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// Where the service is, which may be on another port.
    pub(crate) base_url: String,
    pub(crate) feed: Feed,
}

impl Admin {
    /// Answers a request whose path begins with [`PREFIX`].
    pub(crate) async fn answer(&self, request: &Request<Bytes>) -> Response<Body> {
        self.carry_out(request).await.unwrap_or_else(|refusal| {
            let mut response = json(refusal.status, format!("{}\n", refusal.body)).map(whole);
            if let Some(allow) = refusal.allow {
                let allow = HeaderValue::try_from(allow).expect("methods are visible ASCII");
                response.headers_mut().insert(ALLOW, allow);
            }
            response
        })
    }

    /// What it changes or tells of is durable before it is answered.
    async fn carry_out(&self, request: &Request<Bytes>) -> Result<Response<Body>, Refusal> {
        // A browser sends it for every page that changes something; no page but the sandbox's own may arm faults.
        let origin = request.headers().get(ORIGIN);
        if origin.is_some_and(|origin| !ask::is_own_page(origin, self.scheme, request.headers())) {
            let message = "a web page cannot steer the sandbox; its own page can, opened under an address or \
                           localhost and no other name";
            return Err(Refusal::new(StatusCode::FORBIDDEN, message));
        }
        // On another address the sandbox does not know its names.
        if self.is_on_loopback && !ask::is_for_local_host(request.headers()) {
            let message = "ask for an address or localhost: any other name might be a web page's";
            return Err(Refusal::new(StatusCode::FORBIDDEN, message));
        }
        let path = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
        let here = || ROUTES.iter().filter(|(_, own, ..)| *own == path);
        let Some((method, _, parameters, handler)) = here().find(|(own, ..)| own == request.method()) else {
            let allowed: Vec<_> = here().map(|(method, ..)| method.as_str()).collect();
            return Err(if allowed.is_empty() {
                let mut paths: Vec<_> = ROUTES.iter().map(|(_, path, ..)| *path).collect();
                paths.dedup();
                let message = format!("there is nothing here; under {PREFIX} are {}", paths.join(" "));
                Refusal::new(StatusCode::NOT_FOUND, message)
            } else {
                let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path has other methods");
                Refusal { allow: Some(allowed.join(", ")), ..refusal }
            });
        };
        let response = handler(self, &Ask::read(request, parameters)?)?;
        self.gateway.responder().flushed().await?;
        if method != Method::GET {
            self.feed.tell(News::Change);
        }
        Ok(response)
    }
}
