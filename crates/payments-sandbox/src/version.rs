/// The version of this crate, as the header `Sandbox-Version` and the command's first line say it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
