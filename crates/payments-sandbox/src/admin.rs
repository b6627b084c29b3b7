//! The interface under `/_sandbox`, for tests in any language: what the fake's own types offer to tests in Rust.

#![allow(clippy::unnecessary_wraps, reason = "every handler may refuse, though some never do")]

mod ask;
mod clock;
mod customers;
mod faults;
mod health;
mod host;
mod late;
mod magic;
mod openapi;
mod refusal;
mod requests;
mod reset;
mod state;
mod tokens;

use bytes::Bytes;
use http::header::{ALLOW, ORIGIN};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use payments_fake::{FakeGateway, Fixtures};

use self::ask::Ask;
use self::refusal::Refusal;
use crate::json_answer::json_answer;
use crate::wall_clock::WallClock;

/// The prefix of every path here. It is never under the base path of the service.
pub(crate) const PREFIX: &str = "/_sandbox";

/// What is steered.
pub(crate) struct Admin {
    pub(crate) gateway: FakeGateway,
    /// The sandbox's clock, unless the gateway brought one of its own.
    pub(crate) clock: Option<WallClock>,
    pub(crate) fixtures: Fixtures,
    pub(crate) seed: Option<u64>,
    /// Whether only this machine can ask.
    pub(crate) is_on_loopback: bool,
}

/// Does what is asked and says the answer in JSON.
type Handler = fn(&Admin, &Ask<'_>) -> Result<String, Refusal>;

/// What can be done with one path.
struct Resource {
    path: &'static str,
    /// The names that its query may have.
    parameters: &'static [&'static str],
    methods: &'static [(Method, Handler)],
}

const RESOURCES: &[Resource] = &[
    Resource { path: "/health", parameters: &[], methods: &[(Method::GET, health::get)] },
    Resource { path: "/reset", parameters: &[], methods: &[(Method::POST, reset::post)] },
    Resource { path: "/state", parameters: &["api_key"], methods: &[(Method::GET, state::get)] },
    Resource { path: "/customers", parameters: &["api_key"], methods: &[(Method::POST, customers::post)] },
    Resource { path: "/tokens", parameters: &["api_key"], methods: &[(Method::POST, tokens::post)] },
    Resource {
        path: "/requests",
        parameters: &["operation", "limit"],
        methods: &[(Method::GET, requests::get), (Method::DELETE, requests::delete)],
    },
    Resource {
        path: "/faults",
        parameters: &["id"],
        methods: &[
            (Method::GET, faults::get),
            (Method::POST, faults::post),
            (Method::DELETE, faults::delete),
        ],
    },
    Resource { path: "/deliver-late", parameters: &[], methods: &[(Method::POST, late::post)] },
    Resource { path: "/magic", parameters: &[], methods: &[(Method::GET, magic::get)] },
    Resource { path: "/openapi.json", parameters: &[], methods: &[(Method::GET, openapi::get)] },
    Resource {
        path: "/clock",
        parameters: &[],
        methods: &[(Method::GET, clock::get), (Method::POST, clock::post)],
    },
];

impl Admin {
    /// Answers a request whose path begins with [`PREFIX`]. What it changes or tells of is durable before it is answered.
    pub(crate) async fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let answered = match self.carry_out(request) {
            Ok(json) => self.gateway.responder().flushed().await.map(|()| json).map_err(Refusal::from),
            refused => refused,
        };
        match answered {
            Ok(json) => json_answer(StatusCode::OK, line(json)),
            Err(refusal) => {
                let mut answer = json_answer(refusal.status, line(refusal.to_json()));
                if let Some(allow) = refusal.allow {
                    let allow = HeaderValue::try_from(allow).expect("methods are visible ASCII");
                    answer.headers_mut().insert(ALLOW, allow);
                }
                answer
            }
        }
    }

    fn carry_out(&self, request: &Request<Bytes>) -> Result<String, Refusal> {
        // A browser says so when a page of somebody else's asks; no page may arm faults in a developer's sandbox.
        if request.headers().contains_key(ORIGIN) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "a web page cannot steer the sandbox"));
        }
        // On another address the sandbox does not know its names.
        if self.is_on_loopback && !host::is_local(request.headers()) {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "ask for an address or localhost: any other name might be a web page's",
            ));
        }
        let path = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
        let resource = RESOURCES.iter().find(|resource| resource.path == path).ok_or_else(|| {
            let paths: Vec<_> = RESOURCES.iter().map(|resource| resource.path).collect();
            Refusal::new(
                StatusCode::NOT_FOUND,
                format!("there is nothing here; under {PREFIX} are {}", paths.join(" ")),
            )
        })?;
        let (_, handler) =
            resource.methods.iter().find(|(method, _)| method == request.method()).ok_or_else(|| {
                let allowed: Vec<_> = resource.methods.iter().map(|(method, _)| method.as_str()).collect();
                Refusal::method_not_allowed(allowed.join(", "))
            })?;
        handler(self, &Ask::read(request, resource.parameters)?)
    }
}

/// For whoever asks from a shell.
fn line(mut json: String) -> String {
    if !json.ends_with('\n') {
        json.push('\n');
    }
    json
}
