use crate::json_writer::encode_plain;

/// What the `msg` of a 400 answer begins with, in the interface's own words. What follows is the reason.
pub const BAD_REQUEST_PREFIX: &str = "bad request error: ";

/// The body of an error answer, for those who play the service: `status` `failed`, `status_code` the HTTP
/// status, and `msg`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEnvelope {
    status_code: u16,
    msg: String,
}

impl ErrorEnvelope {
    /// The interface's `msg` for an invalid API key, HTTP 401.
    pub const INVALID_API_KEY: &'static str = "Unauthorized: Invalid API Key";
    /// The interface's `msg` for an unknown transaction, HTTP 404.
    pub const TRANSACTION_NOT_FOUND: &'static str = "Transaction not found";
    /// The interface's `msg` for an unknown customer, HTTP 404.
    pub const CUSTOMER_NOT_FOUND: &'static str = "Customer not found";

    /// An error with this HTTP status and these words.
    pub fn new(status_code: u16, msg: impl Into<String>) -> Self {
        Self { status_code, msg: msg.into() }
    }

    /// HTTP 400 with the interface's prefix before the reason.
    pub fn bad_request(reason: &str) -> Self {
        Self::new(400, format!("{BAD_REQUEST_PREFIX}{reason}"))
    }

    /// The HTTP status, which the body repeats.
    pub const fn status_code(&self) -> u16 {
        self.status_code
    }

    /// The words.
    pub fn msg(&self) -> &str {
        &self.msg
    }

    /// The body as JSON.
    pub fn encode(&self) -> Vec<u8> {
        let Self { status_code, msg } = self;
        encode_plain(|out| {
            out.text("status", "failed");
            out.integer("status_code", *status_code);
            out.text("msg", msg);
        })
    }
}
