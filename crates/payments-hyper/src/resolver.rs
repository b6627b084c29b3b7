use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use tower_service::Service;

/// The operating system's resolver, its failures marked so that they are not taken for a refused connection.
#[derive(Clone)]
pub(crate) struct Resolver(GaiResolver);

/// The host name did not resolve.
#[derive(Debug)]
pub(crate) struct Unresolved(io::Error);

impl Resolver {
    pub(crate) fn new() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = Unresolved;
    type Future = Pin<Box<dyn Future<Output = Result<GaiAddrs, Unresolved>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        self.0.poll_ready(cx).map_err(Unresolved)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.0.call(name);
        Box::pin(async move { addresses.await.map_err(Unresolved) })
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the host name did not resolve")
    }
}

impl StdError for Unresolved {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}
