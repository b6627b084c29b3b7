use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Uri;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Stream};
use ureq::Error;
use ureq::config::Config;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

use crate::attempt::{Attempt, Stage};
use crate::socket::Socket;

/// Opens the connections that ureq asks for, each within the connect deadline of its attempt.
#[derive(Debug)]
pub(crate) struct Opener {
    pub(crate) tls: Arc<ClientConfig>,
}

impl Connector for Opener {
    type Out = Connection;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Connection>, Error> {
        let attempt = Attempt::current()?;
        let (host, port) = host_and_port(details.uri)
            .ok_or_else(|| Error::BadUri("the address has no usable scheme, host or port".to_owned()))?;
        let mut socket = Socket::connect(&attempt, host, port)?;
        let tls = if details.needs_tls() {
            attempt.enter(Stage::Handshaking);
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let mut tls = ClientConnection::new(Arc::clone(&self.tls), name).map_err(io::Error::other)?;
            tls.complete_io(&mut socket)?;
            Some(tls)
        } else {
            None
        };
        attempt.enter(Stage::Unsent);
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Connection { socket, tls, buffers, distrusted: Arc::default() }))
    }
}

/// `http` takes a port that it cannot read for none: it must not become the scheme's own.
fn host_and_port(uri: &Uri) -> Option<(&str, u16)> {
    let authority = uri.authority()?;
    let host = authority.host();
    let port = match (authority.as_str().strip_prefix(host)?, uri.scheme_str()?) {
        ("", "https") => 443,
        ("", "http") => 80,
        (port, "https" | "http") => {
            let digits = port.strip_prefix(':').filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
            digits?.parse().ok().filter(|port| *port > 0)?
        }
        _ => return None,
    };
    Some((host.trim_start_matches('[').trim_end_matches(']'), port))
}

/// A connection that tells the attempt which uses it before it writes.
///
/// All that ureq writes here is of a request: the TLS handshake was made before.
pub(crate) struct Connection {
    socket: Socket,
    tls: Option<ClientConnection>,
    buffers: LazyBuffers,
    /// Set by the call that uses it, where its response may belong to another request.
    distrusted: Arc<AtomicBool>,
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        Attempt::current()?.begin_write(&self.distrusted)?;
        let output = &self.buffers.output()[..amount];
        match &mut self.tls {
            Some(tls) => Stream::new(tls, &mut self.socket).write_all(output)?,
            None => self.socket.write_all(output)?,
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        let input = self.buffers.input_append_buf();
        let amount = match &mut self.tls {
            Some(tls) => Stream::new(tls, &mut self.socket).read(input),
            None => self.socket.read(input),
        };
        // ureq takes a reset, or TLS that ends without its close, for the end of a body without a length. It knows them by
        // the kind of the error.
        let amount = amount.map_err(io::Error::other)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Asked before a connection is kept for later, and again before it is used.
    fn is_open(&mut self) -> bool {
        // rustls wants nothing to read where it holds text that was not asked for, or the server's close.
        let tls_is_quiet = self.tls.as_ref().is_none_or(|tls| tls.wants_read());
        tls_is_quiet && self.socket.is_quiet() && !self.distrusted.load(Ordering::Relaxed)
    }

    fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("tls", &self.is_tls()).finish_non_exhaustive()
    }
}

/// [`Opener`] looks names up, for a new connection only. ureq asks its resolver before it looks for a connection to reuse.
#[derive(Debug)]
pub(crate) struct NoLookup;

impl Resolver for NoLookup {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}
