use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::shutdown::Shutdown;

/// Waits as a fault asks, but no longer than until the shutdown begins. `departure` is ready when the client has closed its
/// side of the connection.
///
/// A client that has may still read, and there is but one way to know: to write to it. So the pause is over soon then.
///
/// # Errors
///
/// `departure`'s: the connection is broken.
pub(crate) async fn pause(
    length: Duration,
    shutdown: &mut Shutdown,
    departure: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let end = Instant::now() + length;
    tokio::select! {
        () = sleep_until(end) => return Ok(()),
        () = shutdown.begun() => return Ok(()),
        departed = departure => departed?,
    }
    tokio::select! {
        () = sleep_until(end.min(Instant::now() + AFTER_DEPARTURE)) => {}
        () = shutdown.begun() => {}
    }
    Ok(())
}

/// Chosen by this SDK: as long as a client may take for anything else.
const AFTER_DEPARTURE: Duration = Duration::from_secs(10);
