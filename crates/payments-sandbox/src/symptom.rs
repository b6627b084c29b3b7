use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CONNECTION, CONTENT_LENGTH};
use payments_fake::Reply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::pause::pause;
use crate::shutdown::Shutdown;
use crate::socket::Socket;

/// Does to the socket what the reply says, and ends the connection. Of HTTP only an answer's head is written here. Whole
/// answers are hyper's, but for one to what hyper cannot read.
///
/// An error means that the client went first, which is its right.
pub(crate) async fn show(reply: Reply, mut socket: impl Socket, shutdown: &mut Shutdown) -> io::Result<()> {
    match reply {
        Reply::Answer(answer) => {
            let mut whole = head(&answer);
            whole.extend_from_slice(answer.body());
            socket.write_all(&whole).await?;
            socket.shutdown().await?;
            // A connection that is closed while bytes of its client are unread is reset, and the answer lost.
            let _ = timeout(LINGER, until_closed(&mut socket, shutdown)).await;
            Ok(())
        }
        Reply::Stalled => {
            until_closed(&mut socket, shutdown).await;
            Ok(())
        }
        Reply::Garbage(bytes) => {
            socket.write_all(&bytes).await?;
            socket.shutdown().await
        }
        Reply::Truncated { answer, bytes } => {
            let mut cut = head(&answer);
            cut.extend_from_slice(&answer.body()[..bytes]);
            socket.write_all(&cut).await?;
            socket.shutdown().await
        }
        Reply::Drip { answer, bytes, every, complete: true } => {
            socket.write_all(&head(&answer)).await?;
            drip(&mut socket, answer.body(), bytes, every, shutdown).await?;
            socket.shutdown().await
        }
        Reply::Drip { answer, bytes, every, complete: false } => {
            socket.write_all(&head(&answer)).await?;
            let all_but_the_last = answer.body().len().saturating_sub(1);
            drip(&mut socket, &answer.body()[..all_but_the_last], bytes, every, shutdown).await?;
            until_closed(&mut socket, shutdown).await;
            Ok(())
        }
        // A connection that stands can no longer be refused; a reset without an effect is the nearest to it.
        Reply::Reset | Reply::Refused => socket.tcp().set_zero_linger(),
        // `Closed`, and what never comes here because hyper answers it.
        _ => socket.shutdown().await,
    }
}

/// Chosen by this SDK: how long a client whose request could not be read has to read why.
const LINGER: Duration = Duration::from_secs(1);

/// A shutdown lets the rest come at once.
async fn drip(
    socket: &mut impl Socket,
    body: &[u8],
    bytes: usize,
    every: Duration,
    shutdown: &mut Shutdown,
) -> io::Result<()> {
    for piece in body.chunks(bytes) {
        pause(every, shutdown, departure(socket)).await?;
        socket.write_all(piece).await?;
        socket.flush().await?;
    }
    Ok(())
}

/// Waits until the client has closed its side; what it still sends is read and forgotten.
async fn departure(socket: &mut impl Socket) -> io::Result<()> {
    let mut ignored = [0; 1024];
    while socket.read(&mut ignored).await? > 0 {}
    Ok(())
}

/// Keeps the connection open until the client closes it or the server stops.
async fn until_closed(socket: &mut impl Socket, shutdown: &mut Shutdown) {
    tokio::select! {
        _ = departure(socket) => {}
        () = shutdown.begun() => {}
    }
}

/// The head of an answer, which promises its whole body.
fn head(answer: &Response<Bytes>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {}\r\n", answer.status()).into_bytes();
    for (name, value) in answer.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    let length = answer.body().len();
    head.extend_from_slice(format!("{CONTENT_LENGTH}: {length}\r\n{CONNECTION}: close\r\n\r\n").as_bytes());
    head
}
