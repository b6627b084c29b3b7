//! The interface under `/_sandbox`, for tests in any language: what the fake's own types offer to tests in Rust.

mod ask;
mod resources;

use bytes::Bytes;
use http::header::{ALLOW, ORIGIN};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use payments_fake::{FakeGateway, Fixtures};

use self::ask::{Ask, Refusal};
use crate::body::{Content, json};
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

/// Does what is asked. The response's changes are flushed before it is sent.
type Handler = fn(&Admin, &Ask<'_>) -> Result<Response<Content>, Refusal>;

type Methods = &'static [(Method, Handler)];

/// Each path, the names that its query may have, and its methods.
const RESOURCES: &[(&str, &[&str], Methods)] = &[
    ("/health", &[], &[(Method::GET, Admin::health)]),
    ("/reset", &[], &[(Method::POST, Admin::reset)]),
    ("/state", &["api_key"], &[(Method::GET, Admin::state)]),
    ("/customers", &["api_key"], &[(Method::POST, Admin::add_customer)]),
    ("/tokens", &["api_key"], &[(Method::POST, Admin::add_token)]),
    (
        "/requests",
        &["operation", "limit"],
        &[(Method::GET, Admin::requests), (Method::DELETE, Admin::clear_requests)],
    ),
    (
        "/faults",
        &["id"],
        &[(Method::GET, Admin::faults), (Method::POST, Admin::arm), (Method::DELETE, Admin::disarm)],
    ),
    ("/deliver-late", &[], &[(Method::POST, Admin::deliver_late)]),
    ("/magic", &[], &[(Method::GET, Admin::magic)]),
    ("/openapi.json", &[], &[(Method::GET, Admin::openapi)]),
    ("/clock", &[], &[(Method::GET, Admin::show_clock), (Method::POST, Admin::set_clock)]),
    ("/ui", &[], &[(Method::GET, Admin::ui)]),
    ("/events", &[], &[(Method::GET, Admin::events)]),
];

impl Admin {
    /// Answers a request whose path begins with [`PREFIX`]. What it changes or tells of is durable before it is answered.
    pub(crate) async fn answer(&self, request: &Request<Bytes>) -> Response<Content> {
        let answered = match self.carry_out(request) {
            Ok(answer) => self.gateway.responder().flushed().await.map(|()| answer).map_err(Refusal::from),
            refused => refused,
        };
        if answered.is_ok() && request.method() != Method::GET {
            self.feed.tell(News::Change);
        }
        answered.unwrap_or_else(|refusal| {
            let mut answer = json(refusal.status, refusal.to_json() + "\n");
            if let Some(allow) = refusal.allow {
                let allow = HeaderValue::try_from(allow).expect("methods are visible ASCII");
                answer.headers_mut().insert(ALLOW, allow);
            }
            answer
        })
    }

    fn carry_out(&self, request: &Request<Bytes>) -> Result<Response<Content>, Refusal> {
        // A browser sends it for every page that changes something; no page but the sandbox's own may arm faults.
        let origin = request.headers().get(ORIGIN);
        if origin.is_some_and(|origin| !ask::is_own_page(origin, self.scheme, request.headers())) {
            let message = "a web page cannot steer the sandbox; its own page can, opened under an address or \
                           localhost and no other name";
            return Err(Refusal::new(StatusCode::FORBIDDEN, message));
        }
        // On another address the sandbox does not know its names.
        if self.is_on_loopback && !ask::is_for_local_host(request.headers()) {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "ask for an address or localhost: any other name might be a web page's",
            ));
        }
        let path = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
        let resource = RESOURCES.iter().find(|(own, ..)| *own == path);
        let (_, parameters, methods) = resource.ok_or_else(|| {
            let paths: Vec<_> = RESOURCES.iter().map(|(path, ..)| *path).collect();
            let message = format!("there is nothing here; under {PREFIX} are {}", paths.join(" "));
            Refusal::new(StatusCode::NOT_FOUND, message)
        })?;
        let (_, handler) =
            methods.iter().find(|(method, _)| method == request.method()).ok_or_else(|| {
                let allowed: Vec<_> = methods.iter().map(|(method, _)| method.as_str()).collect();
                Refusal::method_not_allowed(allowed.join(", "))
            })?;
        handler(self, &Ask::read(request, parameters)?)
    }
}
