use http::StatusCode;
use payments_fake::{DocumentError, NotDurable};
use serde_json::json;

/// Why something was not done. Nothing was changed.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// The methods that the path does have.
    pub(super) allow: Option<String>,
    message: String,
    problems: Vec<String>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, allow: None, message: message.into(), problems: Vec::new() }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn method_not_allowed(allow: String) -> Self {
        Self {
            allow: Some(allow),
            ..Self::new(StatusCode::METHOD_NOT_ALLOWED, "this path has other methods")
        }
    }

    /// The service's error body, and all problems of a document one by one.
    pub(super) fn to_json(&self) -> String {
        let Self { status, allow: _, message, problems } = self;
        let mut body = json!({"status": "failed", "status_code": status.as_u16(), "msg": message});
        if !problems.is_empty() {
            body["problems"] = json!(problems);
        }
        body.to_string()
    }
}

impl From<DocumentError> for Refusal {
    fn from(error: DocumentError) -> Self {
        Self { problems: error.problems().to_vec(), ..Self::bad_request(error.to_string()) }
    }
}

impl From<NotDurable> for Refusal {
    fn from(error: NotDurable) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{error}; see the sandbox's own output"))
    }
}
