use std::fmt;

use crate::{Journal, Script};

/// What a new transport must be told before it can be put to the test.
pub struct Setup {
    pub(crate) authority_pem: String,
    pub(crate) authority_der: Vec<u8>,
    pub(crate) http2: bool,
    pub(crate) script: Option<Script>,
    pub(crate) journal: Journal,
}

impl Setup {
    /// The certificate authority of the kit's servers, as PEM text: the transport must trust it.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The same certificate as DER.
    pub fn authority_der(&self) -> &[u8] {
        &self.authority_der
    }

    /// Whether the transport is to offer HTTP/2: only ever true for a stack that has
    /// [`Ability::Http2`](crate::Ability::Http2).
    pub fn wants_http2(&self) -> bool {
        self.http2
    }

    /// What the server does, for a stack without [`Ability::Sockets`](crate::Ability::Sockets), which has to play it
    /// itself; `None` for all others, whose server is the kit's.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    /// Where a stack without [`Ability::Sockets`](crate::Ability::Sockets) writes down every request that reached its
    /// stand-in of a server.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("http2", &self.http2).finish_non_exhaustive()
    }
}
