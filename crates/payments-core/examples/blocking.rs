//! A payment over a bare socket, without an HTTP library or a runtime.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use bytes::Bytes;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{Operation, TransportError, TransportErrorKind};

fn main() -> Result<(), Box<dyn Error>> {
    let sandbox = payments_sandbox::BlockingSandbox::start()?;
    let endpoint = sandbox.endpoint(); // the real service needs TLS: use a transport

    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
    let receipt = match send(&payment.request(&endpoint)?) {
        Ok(response) => payment.read(&endpoint, response)?,
        Err(evidence) => return Err(payment.error_from_transport(&endpoint, evidence).into()),
    };
    let ledger = sandbox.gateway().ledger();
    assert_eq!(ledger.assert_charged_once(amount).transaction_id(), &receipt.transaction_id);
    Ok(())
}

/// Sends one request over one connection. Without proof that nothing was sent, the error is `unknown`.
fn send(request: &http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
    if request.uri().scheme_str() != Some("http") {
        // Without TLS it would show the card and the API key to everybody on the way.
        return Err(TransportError::not_processed(TransportErrorKind::Configuration));
    }
    let host = request.uri().authority().expect("an operation's URL is absolute").as_str();
    let mut socket = TcpStream::connect(host)
        .map_err(|error| TransportError::not_processed(TransportErrorKind::Connect).with_source(error))?;
    exchange(&mut socket, host, request)
        .map_err(|error| TransportError::unknown(TransportErrorKind::Closed).with_source(error))
}

fn exchange(
    socket: &mut TcpStream,
    host: &str,
    request: &http::Request<Bytes>,
) -> Result<http::Response<Bytes>, Box<dyn Error + Send + Sync>> {
    let target = request.uri().path_and_query().expect("an operation's URL has a path");
    write!(socket, "{} {target} HTTP/1.1\r\nHost: {host}\r\n", request.method())?;
    for (name, value) in request.headers() {
        write!(socket, "{name}: {}\r\n", value.to_str()?)?;
    }
    write!(socket, "Content-Length: {}\r\nConnection: close\r\n\r\n", request.body().len())?;
    socket.write_all(request.body())?;

    let mut response = Vec::new();
    socket.read_to_end(&mut response)?;
    let head_end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or("no response")?;
    let head = std::str::from_utf8(&response[..head_end])?;
    let status: u16 = head.split(' ').nth(1).ok_or("no status")?.parse()?;
    let body = Bytes::copy_from_slice(&response[head_end + 4..]);
    Ok(http::Response::builder().status(status).body(body)?)
}
