/// The interface as one OpenAPI 3.1 document in JSON, for client generators, validators and mock tools of any language.
///
/// It has the five operations with every field, both envelopes and every error, and says of each fact whether the
/// interface states it or this SDK chose it. Its server is the relative address `/api/v1/public`: give a tool the
/// [base address](crate::Sandbox::base_url) of a running sandbox. What an armed fault answers is not in it.
pub const OPENAPI: &str = include_str!("../openapi.json");
