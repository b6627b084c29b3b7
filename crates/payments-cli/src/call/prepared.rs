//! What stands before every call: its settings and its request.

use payments_core::ClientBuilder;
use payments_hyper::{HyperTransport, TokioTimer};
use tokio::task::spawn_blocking;

use crate::args::ClientOptions;
use crate::call::trace::{self, Trace};
use crate::failure::{Abandoned, Failure};
use crate::process::Interrupt;
use crate::settings::Settings;
use crate::stderr;

/// Everything that a call needs. Nothing has been sent yet.
pub(crate) struct Prepared<C> {
    pub(crate) settings: Settings,
    pub(crate) client: ClientBuilder<HyperTransport, TokioTimer>,
    pub(crate) call: C,
}

impl<C: Send + 'static> Prepared<C> {
    /// Resolves the settings and reads the request.
    pub(crate) async fn new(
        options: ClientOptions,
        interrupt: &mut Interrupt,
        read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let is_verbose = options.verbose;
        // Reading files or stdin may block, so it happens on another thread and signals are still handled.
        let prepared = spawn_blocking(move || {
            let settings = Settings::resolve(&options)?;
            if let Some(warning) = &settings.warning {
                stderr::warn(warning);
            }
            if is_verbose {
                trace::settings(&settings);
            }
            let call = read()?;
            Ok::<_, Failure>((settings.client()?, settings, call))
        });
        let prepared = async { prepared.await.unwrap_or_else(|_| Err(Abandoned::Panic.before_sending())) };
        let (client, settings, call) = interrupt.unless_arrived(prepared).await?;
        if let Some(signal) = interrupt.has_arrived().await {
            return Err(Abandoned::Signal(signal).before_sending());
        }
        let client = if is_verbose { client.observer(Trace) } else { client };
        Ok(Self { settings, client, call })
    }
}
