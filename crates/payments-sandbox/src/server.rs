use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::connection::serve;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::tls::Tls;

/// What accepts connections and serves each on a task of its own.
pub(crate) struct Server {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<Tls>,
    pub(crate) site: Arc<Site>,
    /// How many connections may be open at once.
    pub(crate) places: usize,
}

impl Server {
    /// Serves until the shutdown begins, then finishes the connections that are open. Dropping the future drops them.
    pub(crate) async fn run(self, mut shutdown: Shutdown) {
        let Self { listener, tls, site, places } = self;
        let places = Arc::new(Semaphore::new(places));
        let mut connections = JoinSet::new();
        loop {
            let (place, socket) = tokio::select! {
                accepted = accept(&listener, &places) => accepted,
                // Tasks that ended are forgotten as they end, or they would pile up.
                Some(_) = connections.join_next() => continue,
                () = shutdown.begun() => break,
            };
            let (tls, site, mut shutdown) = (tls.clone(), Arc::clone(&site), shutdown.clone());
            connections.spawn(async move {
                let _place = place;
                match tls {
                    None => serve(socket, site, shutdown).await,
                    Some(tls) => {
                        let accepted = tokio::select! {
                            accepted = tls.accept(socket) => accepted,
                            // A client that is still shaking hands has asked for nothing.
                            () = shutdown.begun() => None,
                        };
                        if let Some(socket) = accepted {
                            serve(socket, site, shutdown).await;
                        }
                    }
                }
            });
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }
}

/// The next connection, once there is a place for it.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (OwnedSemaphorePermit, TcpStream) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                // An answer is one small write; waiting for more of it would only make it late. A client that is gone
                // already makes this fail, and is noticed when it is read from.
                let _ = socket.set_nodelay(true);
                return (place, socket);
            }
            // The client went before it was accepted, or the process has no file descriptor left and must wait for one.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
