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

/// Does to the socket what the reply says, and ends the connection. Of HTTP only a response's head is written here. Whole
/// responses are hyper's, but for one to what hyper cannot read.
///
/// An error means that the client went first, which is its right.
pub(crate) async fn show(reply: Reply, mut socket: Socket, shutdown: &Shutdown) -> io::Result<()> {
    match reply {
        Reply::Answer(response) => {
            socket.write_all(&[&head(&response), &**response.body()].concat()).await?;
            socket.shutdown().await?;
            // A connection that is closed while bytes of its client are unread is reset, and the response lost.
            let _ = timeout(LINGER, until_closed(&mut socket, shutdown)).await;
            return Ok(());
        }
        Reply::Stalled => {
            until_closed(&mut socket, shutdown).await;
            return Ok(());
        }
        // A connection that stands can no longer be refused; a reset without an effect is the nearest to it.
        Reply::Reset | Reply::Refused => return socket.reset(),
        Reply::Garbage(bytes) => socket.write_all(&bytes).await?,
        Reply::Truncated { answer: response, bytes } => {
            socket.write_all(&[&head(&response), &response.body()[..bytes]].concat()).await?;
        }
        Reply::Drip { answer: response, bytes, every, complete } => {
            socket.write_all(&head(&response)).await?;
            let withheld = usize::from(!complete);
            let body = &response.body()[..response.body().len().saturating_sub(withheld)];
            for piece in body.chunks(bytes) {
                // A shutdown lets the rest come at once.
                shutdown.sleep(every).await;
                socket.write_all(piece).await?;
                socket.flush().await?;
            }
            if !complete {
                until_closed(&mut socket, shutdown).await;
                return Ok(());
            }
        }
        // `Closed`, and what never comes here because hyper writes it.
        _ => {}
    }
    socket.shutdown().await
}

/// Chosen by this SDK: how long a client whose request could not be read has to read why.
const LINGER: Duration = Duration::from_secs(1);

/// Keeps the connection open until the client closes its side or the server stops. What the client still sends is read and
/// forgotten.
async fn until_closed(socket: &mut Socket, shutdown: &Shutdown) {
    let mut ignored = sink();
    tokio::select! {
        _ = copy(socket, &mut ignored) => {}
        () = shutdown.begun() => {}
    }
}

/// The head of a response, which promises its whole body.
fn head(response: &Response<Bytes>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {}\r\n", response.status()).into_bytes();
    for (name, value) in response.headers() {
        head.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let length = response.body().len();
    head.extend_from_slice(format!("{CONTENT_LENGTH}: {length}\r\n{CONNECTION}: close\r\n\r\n").as_bytes());
    head
}
