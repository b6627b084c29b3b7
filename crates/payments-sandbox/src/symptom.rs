use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CONNECTION, CONTENT_LENGTH};
use payments_core::Timer as _;
use payments_fake::Reply;
use tokio::io::{copy, sink};
use tokio::time::timeout;

use crate::shutdown::Shutdown;
use crate::socket::Socket;

/// Writes what the reply has of a response, and returns what the client saw: less than the reply if it left first. Without
/// `has_body`, only the head is written. hyper writes all complete responses, except those to bytes that it cannot read as a
/// request.
pub(crate) async fn write(reply: Reply, has_body: bool, socket: &mut Socket, shutdown: &Shutdown) -> Reply {
    let part = |bytes| if has_body { bytes } else { 0 };
    let written = match &reply {
        Reply::Response(response) => socket.send(&[&head(response), &**response.body()].concat()).await,
        Reply::Garbage(bytes) => socket.send(bytes).await,
        Reply::Truncated { response, bytes } => {
            socket.send(&[&head(response), &response.body()[..part(*bytes)]].concat()).await
        }
        Reply::Drip { response, .. } => socket.send(&head(response)).await,
        Reply::Refused | Reply::Closed | Reply::Reset | Reply::Stalled => Ok(()),
        // `Reply` may get other variants, but this crate is published together with its gateway.
        _ => unreachable!("{NO_SYMPTOM}"),
    };
    match reply {
        _ if written.is_err() => Reply::Closed,
        Reply::Drip { response, bytes, every, complete } => {
            let end = part(response.body().len().saturating_sub(usize::from(!complete)));
            for start in (0..end).step_by(bytes.get()) {
                // A shutdown ends the pauses.
                shutdown.sleep(every).await;
                let piece = start..end.min(start.saturating_add(bytes.get()));
                if socket.send(&response.body()[piece]).await.is_err() {
                    return Reply::Truncated { response, bytes: start };
                }
            }
            Reply::Drip { response, bytes, every, complete }
        }
        reply => reply,
    }
}

/// Ends the connection as the reply says. An error means that the client left first.
pub(crate) async fn end(
    reply: &Reply,
    has_body: bool,
    mut socket: Socket,
    shutdown: &Shutdown,
) -> io::Result<()> {
    match reply {
        Reply::Response(_) => {
            socket.close().await?;
            // Closing a connection with unread bytes resets it, and the client would lose the response.
            let _ = timeout(LINGER, until_closed(&mut socket, shutdown)).await;
            Ok(())
        }
        // An accepted connection can no longer be refused; a reset without an effect is the closest to it.
        Reply::Reset | Reply::Refused => socket.reset(),
        Reply::Stalled => {
            until_closed(&mut socket, shutdown).await;
            Ok(())
        }
        Reply::Drip { complete: false, .. } if has_body => {
            until_closed(&mut socket, shutdown).await;
            Ok(())
        }
        Reply::Drip { .. } | Reply::Truncated { .. } | Reply::Garbage(_) | Reply::Closed => {
            socket.close().await
        }
        _ => unreachable!("{NO_SYMPTOM}"),
    }
}

const NO_SYMPTOM: &str = "the gateway has waited for the end of a delay, and has no other reply";

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
