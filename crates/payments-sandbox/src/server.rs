use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper_util::server::graceful::GracefulShutdown;
use payments_core::{Sleep, Timer};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::ClientConnection;
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

/// The signal to stop the server.
///
/// As a timer it uses the runtime's clock, and a shutdown ends every sleep.
#[derive(Clone)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// The shutdown begins when the sender is set to true, or dropped.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (switch, receiver) = watch::channel(false);
        (switch, Self(receiver))
    }

    /// Waits until the shutdown begins.
    pub(crate) fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.0.clone();
        // An error means that the sender was dropped with the server's owner.
        async move { drop(receiver.wait_for(|begun| *begun).await) }
    }
}

impl Timer for Shutdown {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let begun = self.begun();
        Box::pin(async move { drop(timeout(duration, begun).await) })
    }
}
