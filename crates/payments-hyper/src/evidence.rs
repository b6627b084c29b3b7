use std::error::Error as StdError;
use std::io;

use hyper_util::client::legacy;
use payments_core::{TransportError, TransportErrorKind};

use crate::connector::NotConnected;

/// What hyper-util's error proves about a request that has no response.
///
/// Nothing was sent if there was no connection, if hyper returned the request unwritten, or if the server refused its HTTP/2
/// stream. Nothing else is proof: a server that read the whole request and then closed causes the same errors as one that
/// read none of it.
pub(crate) fn not_answered(error: legacy::Error) -> TransportError {
    let kind = kind_of(&error);
    let never_sent = error.is_connect()
        || error.connect_info().is_none()
        || causes(&error).any(|cause| {
            cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) || is_refused(cause)
        });
    let evidence =
        if never_sent { TransportError::not_processed(kind) } else { TransportError::unknown(kind) };
    match goaway(&error) {
        // The error's own text quotes what the peer wrote into the frame.
        Some(code) => {
            evidence.with_source(format!("the peer ended the HTTP/2 connection with GOAWAY: {code}"))
        }
        None => evidence.with_source(error),
    }
}

/// For people and logs. It decides nothing.
fn kind_of(error: &legacy::Error) -> TransportErrorKind {
    for this in causes(error) {
        if let Some(not_connected) = this.downcast_ref::<NotConnected>() {
            return not_connected.kind;
        }
        match this.downcast_ref::<hyper::Error>() {
            Some(error) if error.is_parse() => return TransportErrorKind::Protocol,
            // The connection's task is gone: it panicked, or its runtime was shut down.
            Some(error) if error.is_user() => return TransportErrorKind::Other,
            _ => {}
        }
        // An io::Error holds rustls' own error and does not name it as its source.
        let inner = this.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>) {
            return TransportErrorKind::Tls;
        }
    }
    TransportErrorKind::Closed
}

fn causes(error: &legacy::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// The code of the peer's `GOAWAY` frame.
#[cfg(feature = "http2")]
fn goaway(error: &legacy::Error) -> Option<h2::Reason> {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<h2::Error>())
        .find(|error| error.is_go_away() && error.is_remote())?
        .reason()
}

#[cfg(not(feature = "http2"))]
fn goaway(_: &legacy::Error) -> Option<&'static str> {
    None
}

/// Whether the server reset the stream with the one code by which it says that it did nothing (RFC 9113, 8.7).
#[cfg(feature = "http2")]
fn is_refused(cause: &(dyn StdError + 'static)) -> bool {
    cause.downcast_ref::<h2::Error>().is_some_and(|error| {
        error.is_remote() && error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM)
    })
}

#[cfg(not(feature = "http2"))]
fn is_refused(_: &(dyn StdError + 'static)) -> bool {
    false
}
