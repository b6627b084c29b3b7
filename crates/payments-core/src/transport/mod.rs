//! What an implementation of [`Transport`](crate::Transport) needs in addition to the types at the root of this crate.

mod body;
mod build_error;
pub(crate) mod deadlines;
pub(crate) mod error;
mod evidence;
mod process_id;
pub(crate) mod request;
pub(crate) mod response;
mod server_address;
mod system_sleep;
pub(crate) mod timer;
pub(crate) mod transport_trait;

pub use body::read_body;
pub use build_error::{BuildError, BuildErrorKind};
pub use deadlines::{before, grace_after_stop};
pub use evidence::{ClientCertificateAlert, causes, has_ambiguous_length};
pub use process_id::ProcessId;
pub use server_address::{InvalidServerAddress, ServerAddress};
