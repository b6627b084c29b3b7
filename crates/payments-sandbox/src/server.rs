use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use crate::connection::ClientConnection;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::socket::Socket;

/// Accepts connections, at most `max_connections` at once, and serves each on its own task. When the shutdown begins, it
/// finishes the open connections. Dropping the future drops them.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    max_connections: usize,
    shutdown: Shutdown,
) {
    let site = Arc::new(site);
    let permits = Arc::new(Semaphore::new(max_connections));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit.expect("the semaphore is never closed"), listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            accepted = accepted => accepted,
            // Removes finished tasks, which would accumulate otherwise.
            Some(_) = connections.join_next() => continue,
            () = shutdown.begun() => break,
        };
        let Ok((stream, client)) = accepted else {
            // The client left before it was accepted, or the process has no free file descriptor and must wait for one.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (tls, site, shutdown, watcher) =
            (tls.clone(), Arc::clone(&site), shutdown.clone(), graceful.watcher());
        connections.spawn(async move {
            let _permit = permit;
            // A response is one small write, which Nagle's algorithm would only delay. An error means that the client is
            // gone, which the next read reports.
            let _ = stream.set_nodelay(true);
            let socket: io::Result<_> = match tls {
                None => Ok(Socket::new(stream)),
                Some(tls) => tokio::select! {
                    accepted = tls.accept(stream) => accepted.map(Socket::new),
                    // A client that is still in its TLS handshake has sent no request.
                    () = shutdown.begun() => return,
                },
            };
            if let Ok(socket) = socket {
                let processing = Mutex::default();
                ClientConnection { client, socket, site, shutdown, processing }.serve(watcher).await;
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
    while connections.join_next().await.is_some() {}
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
