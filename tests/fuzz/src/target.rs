use crate::targets::{amounts, endpoints, faults, fixtures, gateway, masking, path_ids, records};
use crate::targets::{requests, responses, retry_after};

/// A function that takes any bytes and panics if a property does not hold.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The name of its program and of its corpus folder.
    pub name: &'static str,
    /// Checks the properties for these bytes.
    pub run: fn(&[u8]),
    /// Other corpus folders whose inputs it also uses.
    pub also: &'static [&'static str],
}

impl Target {
    /// Every target.
    pub const ALL: [Self; 19] = [
        Self { name: "decode_ach_answer", run: responses::decode_ach_answer, also: RESPONSES },
        Self { name: "decode_card_answer", run: responses::decode_card_answer, also: RESPONSES },
        Self { name: "decode_customer_answer", run: responses::decode_customer_answer, also: RESPONSES },
        Self { name: "decode_token_answer", run: responses::decode_token_answer, also: RESPONSES },
        Self {
            name: "decode_transaction_answer",
            run: responses::decode_transaction_answer,
            also: RESPONSES,
        },
        Self { name: "decode_void_answer", run: responses::decode_void_answer, also: RESPONSES },
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

/// Whole responses, and JSON documents of every form.
const RESPONSES: &[&str] = &["answers", "json"];
const JSON: &[&str] = &["json"];
