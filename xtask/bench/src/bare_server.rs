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

use crate::responses;

/// Serves until the process is killed, on the same kind of runtime as `payments sandbox`.
pub(crate) fn run() -> anyhow::Result<()> {
    runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve())
}

async fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, r#"{{"base_url":"http://{}/","api_key":"none"}}"#, listener.local_addr()?)?;
    stdout.flush()?;
    let [(_, body), ..] = responses::all();
    let body = Bytes::from(body);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let body = body.clone();
        let service = service_fn(move |request| respond(request, body.clone()));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
        // The client ends every connection, so an error here does not matter.
        tokio::spawn(async { drop(connection.await) });
    }
}

async fn respond(request: Request<Incoming>, body: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    // If the client is gone, nobody reads the response.
    if let Ok(body) = request.into_body().collect().await {
        drop(body.to_bytes());
    }
    let mut response = Response::new(Full::from(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}
