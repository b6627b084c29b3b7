//! A minimal hyper server as a baseline: it reads the whole body and responds with fixed bytes.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::Ipv4Addr;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime;

/// Serves until the process is killed, on the same kind of runtime as `payments sandbox`.
pub(crate) fn run() -> anyhow::Result<()> {
    runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve())
}

async fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, r#"{{"base_url":"http://{}/","api_key":"none"}}"#, listener.local_addr()?)?;
    stdout.flush()?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(respond));
        // The client ends every connection, so an error here does not matter.
        tokio::spawn(async { drop(connection.await) });
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // If the client is gone, nobody reads the response.
    if let Ok(body) = request.into_body().collect().await {
        drop(body.to_bytes());
    }
    let mut response = Response::new(Full::from(RESPONSE));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

/// A response of the sandbox, as long as real ones.
const RESPONSE: &str = concat!(
    r#"{"status":"success","status_code":100,"message":"Transaction Processed Successfully","data":{"#,
    r#""TransactionId":"txn_e220a8397b1dcdaf","BaseAmount":1249.50,"Amount":1249.50,"CardNumber":"************4242","#,
    r#""BillingEmail":"ada.lovelace@mail.example.com","BillingCustomerName":"Ada King, Countess of Lovelace","#,
    r#""BillingAddress":"12 St James's Square, 2nd floor","BillingCity":"London","BillingState":"Greater London","#,
    r#""BillingPostalCode":"SW1Y 4JH","BillingCountry":826,"BillingCountryCode":"+44","#,
    r#""BillingPhoneNumber":"020 7946 0958","TransactionType":1,"Status":"1"}}"#,
);
