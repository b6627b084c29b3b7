/// The version of this crate, as in the header `Sandbox-Version` and the command's first line.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Every response has this header.
pub(crate) const VERSION_HEADER: &str = "sandbox-version";

/// The interface as one OpenAPI 3.1 document in JSON, for client generators, validators and mock tools of any language.
///
/// It has the five operations with every field, both envelopes and every error. It says for each fact whether the interface
/// states it or this SDK chose it. Its server is the relative address `/api/v1/public`: pass the
/// [base URL](crate::Sandbox::base_url) of a running sandbox to a tool. The responses of armed faults are not in it.
pub const OPENAPI: &str = include_str!("../openapi.json");
