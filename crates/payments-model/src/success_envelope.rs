use crate::json_writer::{ObjectWriter, encode_plain};

/// The body of a successful answer, for those who play the service.
///
/// There are two shapes, and a client must not take one for the other: the POST operations answer with
/// `status` `success` and `status_code` 100, the GET operations with `status_code` 200 and no `status`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct SuccessEnvelope;

impl SuccessEnvelope {
    /// The interface's message for a card, ACH or token payment.
    pub const TRANSACTION_PROCESSED: &'static str = "Transaction Processed Successfully";
    /// The interface's message for a void.
    pub const TRANSACTION_VOIDED: &'static str = "Transaction Voided Successfully";
    /// The interface's message for a transaction look-up.
    pub const TRANSACTION_FOUND: &'static str = "Transaction Details found successfully";
    /// The interface's message for a customer look-up.
    pub const CUSTOMER_FOUND: &'static str = "Customer Details found successfully";

    /// The answer to a POST, with data that is JSON, such as [`TransactionRecord::to_json`](crate::TransactionRecord::to_json)
    /// gives it. It is copied as it is and not looked at.
    pub fn post(message: &str, data: &str) -> Vec<u8> {
        encode_plain(|out| {
            out.text("status", "success");
            write_rest(out, "100", message, data);
        })
    }

    /// The answer to a GET, with data as for [`post`](Self::post).
    pub fn get(message: &str, data: &str) -> Vec<u8> {
        encode_plain(|out| write_rest(out, "200", message, data))
    }
}

fn write_rest(out: &mut ObjectWriter<'_>, status_code: &str, message: &str, data: &str) {
    out.json("status_code", status_code);
    out.text("message", message);
    out.json("data", data);
}
