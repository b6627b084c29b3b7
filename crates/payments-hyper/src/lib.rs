//! The HTTP stack of the payments SDK: [`HyperTransport`], over hyper, rustls and tokio.

mod body;
mod build_error;
mod builder;
mod connection;
mod connector;
mod deadline;
mod origin;
mod pool;
mod resolver;
mod stream;
mod timer;
mod tls;
mod tls_provider;
mod transport;
mod trusted_roots;

pub use build_error::BuildError;
pub use builder::HyperTransportBuilder;
pub use timer::TokioTimer;
pub use tls_provider::TlsProvider;
pub use transport::HyperTransport;
pub use trusted_roots::TrustedRoots;
