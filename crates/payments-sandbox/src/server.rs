use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_rustls::TlsAcceptor;

use crate::activity::{Activities, Activity, IdleClose};
use crate::connection::ClientConnection;
use crate::last_response::LastResponse;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::socket::Socket;

/// Accepts connections, at most `max_connections` at once, and serves each on its own task. When the shutdown begins, it
/// finishes the open connections. Fails if the task of a connection panicked. Dropping the future drops the connections.
pub(crate) async fn run(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    max_connections: usize,
    shutdown: Shutdown,
) -> Result<(), JoinError> {
    let site = Arc::new(site);
    let permits = Arc::new(Semaphore::new(max_connections));
    let mut activities = Activities::default();
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut served = Ok(());
    loop {
        let accepted = async {
            let accepted = listener.accept().await;
            // A client that waits is accepted, because only it needs the place of an idle one.
            (accepted, permit(&permits, &activities).await)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accepted => accepted,
            () = shutdown.begun() => break,
        };
        // Finished tasks would accumulate otherwise.
        while let Some(ended) = connections.try_join_next() {
            served = served.and(ended);
        }
        let Ok((stream, client)) = accepted else {
            // The client left before it was accepted, or the process has no free file descriptor and must wait for one.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let activity = activities.add();
        let serving = serve_client(
            (stream, client),
            tls.clone(),
            Arc::clone(&site),
            Arc::clone(&activity),
            shutdown.clone(),
            graceful.watcher(),
        );
        let site = Arc::clone(&site);
        connections.spawn(async move {
            let _permit = permit;
            tokio::select! {
                biased;
                () = serving => {}
                (idle, needs_room) = activity.idle_for_too_long() => {
                    let reached_limit = needs_room.then_some(max_connections);
                    if let Some(tell) = &site.on_idle_close {
                        tell(&IdleClose { client, idle, reached_limit });
                    }
                }
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
    while let Some(ended) = connections.join_next().await {
        served = served.and(ended);
    }
    served
}

/// A permit for one more connection. If there is none, the connections that are idle are closed, the oldest first, until there is.
async fn permit(permits: &Arc<Semaphore>, activities: &Activities) -> OwnedSemaphorePermit {
    loop {
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            return permit;
        }
        let look_again = activities.close_oldest_idle().unwrap_or_else(|| Instant::now() + ACCEPT_PAUSE);
        // The semaphore is never closed, so an error is the end of the pause.
        if let Ok(Ok(permit)) = timeout_at(look_again, Arc::clone(permits).acquire_owned()).await {
            return permit;
        }
    }
}

async fn serve_client(
    (stream, client): (TcpStream, SocketAddr),
    tls: Option<TlsAcceptor>,
    site: Arc<Site>,
    activity: Arc<Activity>,
    shutdown: Shutdown,
    watcher: Watcher,
) {
    // A response is one small write, which Nagle's algorithm would only delay. An error means that the client is
    // gone, which the next read reports.
    let _ = stream.set_nodelay(true);
    let socket: io::Result<_> = match tls {
        None => Ok(Socket::new(stream, Arc::clone(&activity))),
        Some(tls) => tokio::select! {
            accepted = tls.accept(stream) => accepted.map(|stream| Socket::new(stream, Arc::clone(&activity))),
            // A client that is still in its TLS handshake has sent no request.
            () = shutdown.begun() => return,
        },
    };
    if let Ok(socket) = socket {
        let last = LastResponse::new(Arc::clone(&site), socket.clone());
        let processing = Mutex::default();
        ClientConnection { client, socket, activity, site, shutdown, processing, last }.run(watcher).await;
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
