use std::fmt;

use http::StatusCode;
use payments_model::unversioned::BAD_REQUEST_PREFIX;

use crate::response::{BodyForm, Found, Meaning, Metadata, Received, RefusedBy};

/// A response that is not a success, complete or not.
pub(crate) struct FailedResponse {
    pub(super) refused_by: Option<RefusedBy>,
    pub(super) form: BodyForm,
    pub(super) metadata: Metadata,
    pub(super) found: Found,
}

impl FailedResponse {
    pub(crate) fn boxed(received: Received<'_>, meaning: Meaning) -> Box<Self> {
        let refused_by = match meaning {
            Meaning::Refused(by) => Some(by),
            Meaning::Processed | Meaning::Unclear => None,
        };
        let found = received.found(refused_by);
        let metadata = Metadata::new(&received, &found);
        Box::new(Self { refused_by, form: received.form, metadata, found })
    }

    /// Whether the words are not the service's. A 2xx can be the service's in a form that this version does not know, unless it is a
    /// web page.
    pub(super) fn is_foreign(&self) -> bool {
        let Self { form, metadata, .. } = self;
        *form == BodyForm::Foreign && (!metadata.http_status.is_success() || metadata.snippet.is_page())
    }

    /// Of a payment or a void: see [`FailedCall::is_foreign_forbidden`](super::FailedCall::is_foreign_forbidden).
    pub(super) fn is_foreign_forbidden(&self) -> bool {
        self.is_foreign() && self.refused_by.is_none() && self.metadata.http_status == StatusCode::FORBIDDEN
    }

    /// See [`FailedCall::reason`](super::FailedCall::reason).
    pub(super) fn reason(&self) -> Option<&str> {
        let message = self.metadata.message.as_deref();
        let message = message.map(|message| message.strip_prefix(BAD_REQUEST_PREFIX).unwrap_or(message));
        message
            .filter(|message| !message.trim().is_empty())
            .or_else(|| self.metadata.http_status.canonical_reason())
    }

    /// What happened, for a message. `moves_money`: the request does.
    pub(super) fn write(&self, moves_money: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { refused_by, form, metadata, found } = self;
        let (status, is_success) = (metadata.http_status.as_u16(), metadata.http_status.is_success());
        let phrase = metadata.http_status.canonical_reason().filter(|_| !is_success);
        let phrase = phrase.map(|phrase| format!(": {phrase}")).unwrap_or_default();
        match form {
            BodyForm::Encoded(coding) => {
                return write!(
                    f,
                    "the response is {coding}-encoded although identity was asked for, HTTP {status}{phrase}"
                );
            }
            BodyForm::Cut => return write!(f, "the response was truncated, HTTP {status}{phrase}"),
            BodyForm::Service | BodyForm::Foreign | BodyForm::Ambiguous => {}
        }
        f.write_str(match refused_by {
            Some(RefusedBy::Service) => "the service returned ",
            Some(RefusedBy::Intermediary) => "something in front of the service returned ",
            None if moves_money && self.is_foreign_forbidden() => {
                "before or after the service acted, something between here and the service returned "
            }
            None => "the response is unclear, ",
        })?;
        write!(f, "HTTP {status}")?;
        let is_refusal = *refused_by == Some(RefusedBy::Service);
        let is_near_success = refused_by.is_none() && moves_money && is_success;
        let is_telling = |code: &&str| is_near_success || *code != metadata.http_status.as_str();
        let status_code = metadata.status_code.as_deref().filter(is_telling);
        if let Some(code) = status_code {
            write!(f, " with status_code {code}")?;
        }
        if is_success {
            f.write_str(match (status_code, found.transaction_id.is_some()) {
                (None, _) if is_refusal => " with an error body",
                (Some(_), _) if is_refusal => " and an error body",
                (None, _) if !moves_money => " without the requested record",
                (Some(_), _) if !moves_money => ", without the requested record",
                (None, false) => " without status_code 100 and a TransactionId",
                (None, true) => " without status_code 100",
                (Some(_), false) => ", without a TransactionId",
                (Some(_), true) => "",
            })?;
        }
        // The phrase of a 2xx, such as OK, does not explain a refusal or an unclear response.
        match self.reason().filter(|_| !is_success || metadata.message.is_some()) {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for FailedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { refused_by, form, metadata, found } = self;
        f.debug_struct("FailedResponse")
            .field("refused_by", refused_by)
            .field("form", form)
            .field("metadata", metadata)
            .field("found", &metadata.shown(found))
            .finish()
    }
}
