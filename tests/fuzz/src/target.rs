use crate::targets::{amounts, answers, endpoints, faults, fixtures, gateway, masking, path_ids, records};
use crate::targets::{requests, retry_after};

/// A function that takes any bytes, and panics if what must hold does not.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The name of its program, and of its folder in the corpus.
    pub name: &'static str,
    /// What must hold for any bytes.
    pub run: fn(&[u8]),
    /// Folders of the corpus whose inputs it takes too.
    pub also: &'static [&'static str],
}

impl Target {
    /// Every target there is.
    pub const ALL: [Self; 19] = [
        Self { name: "decode_ach_answer", run: answers::decode_ach_answer, also: ANSWERS },
        Self { name: "decode_card_answer", run: answers::decode_card_answer, also: ANSWERS },
        Self { name: "decode_customer_answer", run: answers::decode_customer_answer, also: ANSWERS },
        Self { name: "decode_token_answer", run: answers::decode_token_answer, also: ANSWERS },
        Self { name: "decode_transaction_answer", run: answers::decode_transaction_answer, also: ANSWERS },
        Self { name: "decode_void_answer", run: answers::decode_void_answer, also: ANSWERS },
        Self { name: "handle_requests", run: gateway::handle_requests, also: &[] },
        Self { name: "load_fixtures", run: fixtures::load_fixtures, also: JSON },
        Self { name: "mask_text", run: masking::mask_text, also: JSON },
        Self { name: "parse_ach_request", run: requests::parse_ach_request, also: JSON },
        Self { name: "parse_card_request", run: requests::parse_card_request, also: JSON },
        Self { name: "parse_token_request", run: requests::parse_token_request, also: JSON },
        Self { name: "parse_void_request", run: requests::parse_void_request, also: JSON },
        Self { name: "read_amount", run: amounts::read_amount, also: &[] },
        Self { name: "read_endpoint", run: endpoints::read_endpoint, also: &[] },
        Self { name: "read_fault", run: faults::read_fault, also: JSON },
        Self { name: "read_path_id", run: path_ids::read_path_id, also: &[] },
        Self { name: "read_record", run: records::read_record, also: JSON },
        Self { name: "read_retry_after", run: retry_after::read_retry_after, also: &[] },
    ];
}

/// Whole answers, and what JSON can look like.
const ANSWERS: &[&str] = &["answers", "json"];
const JSON: &[&str] = &["json"];
