#![expect(private_interfaces, reason = "no other crate calls or implements `AnyStack`")]

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use payments_core::{Transport, TransportError, TransportRequest, TransportResponse};

use crate::{Abilities, Setup, Stack};

/// A [`Stack`] of any type. Every stack is one: implement [`Stack`].
///
/// The contracts take this trait, so that they are compiled once and not again for each stack.
pub trait AnyStack: Send + Sync {
    #[doc(hidden)]
    fn transport<'a>(&'a self, setup: &Setup) -> Box<dyn AnyTransport + 'a>;
    #[doc(hidden)]
    fn run(&self, future: BoxFuture<'_, ()>);
    #[doc(hidden)]
    fn abilities(&self) -> Abilities;
    #[doc(hidden)]
    fn now(&self) -> Instant;
}

/// A transport of any type, with its stack.
pub(crate) trait AnyTransport: Send + Sync {
    fn send(&self, request: TransportRequest) -> BoxFuture<'_, Result<TransportResponse, TransportError>>;
    fn debug(&self) -> Option<String>;
}

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl<S: Stack> AnyStack for S {
    fn transport<'a>(&'a self, setup: &Setup) -> Box<dyn AnyTransport + 'a> {
        Box::new((self, Stack::transport(self, setup)))
    }

    fn run(&self, future: BoxFuture<'_, ()>) {
        Stack::block_on(self, future);
    }

    fn abilities(&self) -> Abilities {
        Stack::abilities(self)
    }

    fn now(&self) -> Instant {
        Stack::now(self)
    }
}

impl dyn AnyStack + '_ {
    pub(crate) fn block_on<T: Send>(&self, future: impl Future<Output = T> + Send) -> T {
        let mut output = None;
        self.run(Box::pin(async { output = Some(future.await) }));
        output.expect("a stack runs a future to its end")
    }
}

impl<S: Stack> AnyTransport for (&S, S::Transport) {
    fn send(&self, request: TransportRequest) -> BoxFuture<'_, Result<TransportResponse, TransportError>> {
        Box::pin(self.1.send(request))
    }

    fn debug(&self) -> Option<String> {
        self.0.debug(&self.1)
    }
}
