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
use zeroize::Zeroize as _;

use crate::attempt::{Attempt, Progress};
use crate::socket::Socket;

/// Opens connections for ureq, each within the connect deadline of its attempt.
#[derive(Debug)]
pub(crate) struct Opener {
    pub(crate) tls: Arc<ClientConfig>,
}

impl Connector for Opener {
    type Out = Connection;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Connection>, Error> {
        let attempt = Attempt::current()?;
        let host = attempt.server.host().trim_matches(['[', ']']);
        let name = details.needs_tls().then(|| ServerName::try_from(host.to_owned()));
        let name = name.transpose().map_err(|_| io::Error::other(UnusableName))?;
        let mut socket = Socket::connect(&attempt, host, attempt.server.port())?;
        let tls = if let Some(name) = name {
            attempt.set_progress(Progress::Handshaking);
            let mut tls = ClientConnection::new(Arc::clone(&self.tls), name).map_err(io::Error::other)?;
            tls.complete_io(&mut socket)?;
            Some(tls)
        } else {
            None
        };
        attempt.connected()?;
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Connection { socket, tls, buffers, may_be_reused: Arc::default() }))
    }
}

/// No certificate can be checked for the host.
#[derive(Debug, thiserror::Error)]
#[error("the host is not a name that a certificate can have: fix the base URL")]
pub(crate) struct UnusableName;

/// A connection that records every write in the attempt that uses it, before it writes.
///
/// Everything that ureq writes here belongs to a request, because the TLS handshake is already complete.
pub(crate) struct Connection {
    socket: Socket,
    tls: Option<ClientConnection>,
    buffers: LazyBuffers,
    /// Set by the call that uses the connection once its response cannot belong to another request.
    may_be_reused: Arc<AtomicBool>,
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let written = self.write_output(amount);
        wipe(&mut self.buffers, amount);
        written
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        let input = self.buffers.input_append_buf();
        let amount = match &mut self.tls {
            Some(tls) => Stream::new(tls, &mut self.socket).read(input),
            None => self.socket.read(input),
        };
        // ureq takes a reset, or TLS that ends without `close_notify`, for the end of a body without a length, and recognizes both by
        // the kind of the error. So this changes the kind.
        let amount = amount.map_err(io::Error::other)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// ureq calls this before it keeps a connection, and again before it reuses it.
    fn is_open(&mut self) -> bool {
        if Attempt::current().is_err() {
            return false;
        }
        // rustls does not want to read if it holds unrequested data or the server's `close_notify`.
        let tls_is_quiet = self.tls.as_ref().is_none_or(|tls| tls.wants_read());
        tls_is_quiet && self.socket.is_quiet() && self.may_be_reused.load(Ordering::Relaxed)
    }

    fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl Connection {
    fn write_output(&mut self, amount: usize) -> Result<(), Error> {
        Attempt::current()?.begin_write(&self.may_be_reused)?;
        let output = &self.buffers.output()[..amount];
        match &mut self.tls {
            Some(tls) => Stream::new(tls, &mut self.socket).write_all(output)?,
            None => self.socket.write_all(output)?,
        }
        Ok(())
    }
}

/// Sets this many bytes that were written to zero, because an idle connection keeps its buffers: card, security code and API key.
/// ureq reads the body into the free part of the input buffer and copies it from there.
fn wipe(buffers: &mut impl Buffers, amount: usize) {
    let (read, output) = buffers.tmp_and_output();
    let copied = read.len().min(amount);
    read[..copied].zeroize();
    output[..amount].zeroize();
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("tls", &self.is_tls()).finish_non_exhaustive()
    }
}

/// Resolves nothing. [`Opener`] looks names up, for a new connection only; ureq would do so even before it reuses one.
#[derive(Debug)]
pub(crate) struct NoLookup;

impl Resolver for NoLookup {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_wiped_from_both_buffers_s5() {
        let mut buffers = LazyBuffers::new(32, 32);
        let (read, output) = buffers.tmp_and_output();
        read[..4].copy_from_slice(b"4242");
        output[..8].copy_from_slice(b"key 4242");
        wipe(&mut buffers, 8);
        let (read, output) = buffers.tmp_and_output();
        assert!(read.iter().chain(&*output).all(|byte| *byte == 0));
    }
}
