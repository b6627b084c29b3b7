use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use payments_model::unversioned::{
    Envelope, Status, begins_with_json_object, claims_success, is_truncated_json,
};

use super::Secrets;

/// Whether a body can be read, and whose words it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// A JSON object with the service's `status`.
    Service,
    /// Anything else that was read whole, or no body: a proxy's page, for example.
    Foreign,
    /// A JSON object that readers may read differently, or foreign words that claim success.
    Ambiguous,
    /// The end is missing.
    Cut,
    /// Encoded with this coding although the request accepts only `identity`. It is not decoded, so that no decoder must be trusted.
    Encoded(String),
}

impl BodyForm {
    /// The form of a whole response, as the transport reports it, and its body as far as it can be read.
    pub(crate) fn read<'a>(
        response: &'a http::Response<Bytes>,
        secrets: &Secrets<'_>,
    ) -> (Self, Option<Envelope<'a>>) {
        let encoded = |coding: &str| (Self::Encoded(secrets.mask(coding, MAX_CODING_BYTES)), None);
        if let Some(coding) = declared_coding(response.headers()) {
            return encoded(&coding);
        }
        let envelope = Envelope::read(response.body());
        // JSON has none of these bytes, so a body that can be read is not searched.
        if envelope.is_none() && response.body().iter().copied().any(is_of_no_text) {
            return encoded("unknown");
        }
        let form = if has_service_status(envelope.as_ref()) { Self::Service } else { Self::Foreign };
        // A success and a failure with HTTP 2xx are whole JSON, so only a refusal is searched further.
        let bytes = response.body();
        let form = match form {
            _ if !response.status().is_client_error() => form,
            _ if is_short(response) || is_truncated_json(bytes) => Self::Cut,
            Self::Foreign if claims_success(bytes) => Self::Ambiguous,
            Self::Foreign if envelope.is_none() && begins_with_json_object(bytes) => Self::Ambiguous,
            form => form,
        };
        (form, envelope)
    }

    /// Whether everything in the body was seen.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Service | Self::Foreign)
    }
}

/// Whether the body has a `status` that the service may have written.
pub(super) fn has_service_status(envelope: Option<&Envelope<'_>>) -> bool {
    let status = envelope.map(Envelope::status);
    matches!(status, Some(Status::Success | Status::Failure | Status::Other))
}

/// The first coding in the headers that changes the bytes.
fn declared_coding(headers: &HeaderMap) -> Option<String> {
    let unchanged = [(CONTENT_ENCODING, &["identity"][..]), (TRANSFER_ENCODING, &["identity", "chunked"])];
    unchanged.into_iter().find_map(|(header, unchanged)| {
        headers.get_all(header).iter().find_map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            let mut codings = text.split(',').map(str::trim).filter(|coding| !coding.is_empty());
            let changes = |coding: &&str| !unchanged.iter().any(|name| coding.eq_ignore_ascii_case(name));
            codings.find(changes).map(str::to_ascii_lowercase)
        })
    })
}

/// Some proxies encode a body and drop the header that says so. No text needs these bytes, and of codings only one that writes
/// text, such as base64, does without them.
fn is_of_no_text(byte: u8) -> bool {
    byte.is_ascii_control() && !b"\t\n\x0c\r\x7f".contains(&byte)
}

/// Whether the body is shorter than its header says.
fn is_short(response: &http::Response<Bytes>) -> bool {
    let announced = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let is_number = |length: &&str| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    // A number that does not fit is longer than any body.
    announced
        .map(str::trim)
        .filter(is_number)
        .is_some_and(|length| length.parse().unwrap_or(u64::MAX) > response.body().len() as u64)
}

/// Enough for the name of any coding.
const MAX_CODING_BYTES: usize = 40;
