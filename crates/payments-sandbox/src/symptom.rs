use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CONNECTION, CONTENT_LENGTH};
use payments_core::Timer as _;
use payments_fake::Reply;
use tokio::io::{AsyncWriteExt as _, copy, sink};
use tokio::time::timeout;

use crate::shutdown::Shutdown;
use crate::socket::Socket;

/// Shows the reply on the socket and ends the connection. hyper writes all complete responses, except those to bytes that it
/// cannot read as a request. Without `has_body`, only the head of a response is written.
///
/// An error means that the client left first.
pub(crate) async fn show(
    reply: Reply,
    has_body: bool,
    mut socket: Socket,
    shutdown: &Shutdown,
) -> io::Result<()> {
    match reply {
        Reply::Response(response) => {
            socket.write_all(&[&head(&response), &**response.body()].concat()).await?;
            socket.shutdown().await?;
            // Closing a connection with unread bytes resets it, and the client would lose the response.
            let _ = timeout(LINGER, until_closed(&mut socket, shutdown)).await;
            return Ok(());
        }
        Reply::Stalled => {
            until_closed(&mut socket, shutdown).await;
            return Ok(());
        }
        // An accepted connection can no longer be refused; a reset without an effect is the closest to it.
        Reply::Reset | Reply::Refused => return socket.reset(),
        Reply::Garbage(bytes) => socket.write_all(&bytes).await?,
        Reply::Truncated { response, .. } | Reply::Drip { response, .. } if !has_body => {
            socket.write_all(&head(&response)).await?;
        }
        Reply::Truncated { response, bytes } => {
            socket.write_all(&[&head(&response), &response.body()[..bytes]].concat()).await?;
        }
        Reply::Drip { response, bytes, every, complete } => {
            socket.write_all(&head(&response)).await?;
            let withheld = usize::from(!complete);
            let body = &response.body()[..response.body().len().saturating_sub(withheld)];
            for piece in body.chunks(bytes) {
                // A shutdown ends the pauses.
                shutdown.sleep(every).await;
                socket.write_all(piece).await?;
                socket.flush().await?;
            }
            if !complete {
                until_closed(&mut socket, shutdown).await;
                return Ok(());
            }
        }
        // `Closed`. The other replies never get here, because hyper writes them.
        _ => {}
    }
    socket.shutdown().await
}

/// How long a client whose request could not be read has to read the response, chosen by this SDK.
const LINGER: Duration = Duration::from_secs(1);

/// Keeps the connection open until the client closes its side or the server stops. Data from the client is read and
/// discarded.
async fn until_closed(socket: &mut Socket, shutdown: &Shutdown) {
    let mut ignored = sink();
    tokio::select! {
        _ = copy(socket, &mut ignored) => {}
        () = shutdown.begun() => {}
    }
}

/// The head of a response, with the length of its whole body.
fn head(response: &Response<Bytes>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {}\r\n", response.status()).into_bytes();
    for (name, value) in response.headers() {
        head.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let length = response.body().len();
    head.extend_from_slice(format!("{CONTENT_LENGTH}: {length}\r\n{CONNECTION}: close\r\n\r\n").as_bytes());
    head
}
