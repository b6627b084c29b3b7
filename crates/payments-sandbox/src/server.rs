use std::sync::Arc;
use std::time::Duration;

use payments_fake::Responder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::connection::serve;
use crate::shutdown::Shutdown;
use crate::tls::Tls;

/// Accepts and serves connections until the shutdown begins, then finishes those that are open.
///
/// Dropping the future drops every connection.
pub(crate) async fn run(
    listener: TcpListener,
    tls: Option<Tls>,
    responder: Responder,
    mut shutdown: Shutdown,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            Some(_) = connections.join_next() => continue,
            () = shutdown.begun() => break,
        };
        let (place, socket) = accepted;
        let (tls, responder, shutdown) = (tls.clone(), responder.clone(), shutdown.clone());
        connections.spawn(async move {
            match tls {
                None => serve(socket, responder, shutdown).await,
                Some(tls) => {
                    if let Some(socket) = tls.accept(socket).await {
                        serve(socket, responder, shutdown).await;
                    }
                }
            }
            drop(place);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Chosen by this SDK: how many connections are served at once. Further ones wait in the system's queue.
const MAX_CONNECTIONS: usize = 1024;

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (tokio::sync::OwnedSemaphorePermit, TcpStream) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                // An answer is one small write; waiting for more of it would only make it late.
                let _ = socket.set_nodelay(true);
                return (place, socket);
            }
            // The client was gone already, or the process has no file descriptors left and needs some to be closed.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}
