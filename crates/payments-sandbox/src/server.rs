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

/// Accepts connections, at most so many at once, and serves each on a task of its own until the shutdown begins; then
/// finishes those that are open. Dropping the future drops them.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    max_connections: usize,
    shutdown: Shutdown,
) {
    let site = Arc::new(site);
    let places = Arc::new(Semaphore::new(max_connections));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place.expect("the semaphore is never closed"), listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            // Tasks that ended are forgotten as they end, or they would pile up.
            Some(_) = connections.join_next() => continue,
            () = shutdown.begun() => break,
        };
        let Ok((stream, client)) = accepted else {
            // The client went before it was accepted, or the process has no file descriptor left and must wait for one.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (tls, site, shutdown, watcher) =
            (tls.clone(), Arc::clone(&site), shutdown.clone(), graceful.watcher());
        connections.spawn(async move {
            let _place = place;
            // A response is one small write; waiting for more of it would only make it late. A client that is gone
            // already makes this fail, and is noticed when it is read from.
            let _ = stream.set_nodelay(true);
            let socket: io::Result<_> = match tls {
                None => Ok(Socket::new(stream)),
                Some(tls) => tokio::select! {
                    accepted = tls.accept(stream) => accepted.map(Socket::new),
                    // A client that is still shaking hands has asked for nothing.
                    () = shutdown.begun() => return,
                },
            };
            if let Ok(socket) = socket {
                let answering = Mutex::default();
                ClientConnection { client, socket, site, shutdown, answering }.serve(watcher).await;
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
    while connections.join_next().await.is_some() {}
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
