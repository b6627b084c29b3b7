use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use payments_fake::FakeGateway;
use tokio::runtime;

use crate::sandbox::accessors;
use crate::sandbox_info::SandboxInfo;
use crate::{Sandbox, SandboxBuilder};

/// A [`Sandbox`] for programs and tests without a runtime: it runs on its own thread.
///
/// Dropping it shuts it down gracefully, as [`shutdown`](Self::shutdown) does, without its error. It waits at most one second
/// (chosen by this SDK) for a client that has not finished its request or read its response.
#[derive(Debug)]
pub struct BlockingSandbox {
    gateway: FakeGateway,
    info: Arc<SandboxInfo>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

accessors!(BlockingSandbox);

impl BlockingSandbox {
    /// Serves a fresh gateway on a free port of `127.0.0.1`. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If it cannot listen or cannot start a thread.
    pub fn start() -> io::Result<Self> {
        Sandbox::builder().start_blocking()
    }

    /// Opens every [gate](payments_fake::Gate) of the gateway, stops gracefully and saves the state, as [`Sandbox::shutdown`] does,
    /// and waits for the end.
    ///
    /// # Errors
    ///
    /// As for [`Sandbox::shutdown`].
    pub fn shutdown(mut self) -> io::Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> io::Result<()> {
        // The thread that waits here may be the one that holds a gate, and a request behind it would never end.
        self.gateway.open_gates();
        self.info.switch.send_replace(true);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_panic| Err(io::Error::other("the sandbox's thread panicked")))
    }
}

impl SandboxBuilder {
    /// Starts serving on its own thread, for programs and tests without a runtime. When this returns, connections are
    /// accepted.
    ///
    /// ```
    /// use payments_fake::FakeGateway;
    /// use payments_sandbox::Sandbox;
    ///
    /// let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    /// assert!(sandbox.base_url().starts_with("http://127.0.0.1:"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start), or if it cannot start a thread.
    pub fn start_blocking(self) -> io::Result<BlockingSandbox> {
        let (report, started) = mpsc::sync_channel(1);
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let serve = async move {
            let sandbox = match self.start().await {
                Ok(sandbox) => sandbox,
                Err(error) => {
                    // The receiver waits for exactly one report.
                    let _ = report.send(Err(error));
                    return Ok(());
                }
            };
            let mut switch = sandbox.info.switch.subscribe();
            let _ = report.send(Ok((sandbox.gateway.clone(), Arc::clone(&sandbox.info))));
            let _ = switch.wait_for(|stop| *stop).await;
            sandbox.shutdown().await
        };
        let thread = thread::Builder::new()
            .name("payments-sandbox".to_owned())
            .spawn(move || runtime.block_on(serve))?;
        let (gateway, info) = started
            .recv()
            .map_err(|_| io::Error::other("the sandbox's thread ended before it reported"))??;
        Ok(BlockingSandbox { gateway, info, thread: Some(thread) })
    }
}

impl Drop for BlockingSandbox {
    fn drop(&mut self) {
        // A drop cannot return the error.
        let _ = self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_thread_is_reported_by_the_shutdown() {
        let mut sandbox = BlockingSandbox::start().unwrap();
        sandbox.stop().unwrap();
        sandbox.thread = Some(thread::spawn(|| panic!("the thread broke")));
        assert_eq!(sandbox.shutdown().unwrap_err().to_string(), "the sandbox's thread panicked");
    }
}
