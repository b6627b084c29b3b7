//! Responses are read as an independent parser reads the same bytes.

use payments_model::unversioned::{
    BAD_REQUEST_PREFIX, Code, Envelope, Status, begins_with_json_object, claims_success, is_truncated_json,
    salvage_transaction_id,
};
use payments_model::{CustomerRecord, RawJson, TransactionReceipt, TransactionRecord, mask};
use proptest::prelude::*;
use serde_json::{Value, json};

#[track_caller]
fn envelope(body: &[u8]) -> Envelope<'_> {
    Envelope::read(body).unwrap()
}

fn is_read(body: &[u8]) -> bool {
    Envelope::read(body).is_some()
}

#[test]
fn bodies_without_an_envelope_are_not_read_d08() {
    for body in [
        &b""[..],
        b" \r\n\t",
        b"\xef\xbb\xbf",
        b"null",
        b"[]",
        b"[\"success\",100]",
        b" 1 ",
        b"\"x\"",
        b"<html></html>",
        b"{",
        b"{}x",
        b"{}{}",
        b"[",
        b"nul",
        b"{'a':1}",
        b"{\"a\":1,}",
        b"\x1f\x8b\x08\0",
        b"\xc2\xa0{}",
    ] {
        assert!(!is_read(body), "{body:?}");
    }
    assert!(is_read(b"{}") && is_read(b" {} \n"));
}

#[test]
fn whole_body_must_be_utf8_and_one_byte_order_mark_is_skipped_d65() {
    assert!(is_read(b"\xef\xbb\xbf{\"status\":\"success\"}"));
    assert!(!is_read(b"\xef\xbb\xbf\xef\xbb\xbf{}"));
    assert!(!is_read(b"{\"ignored\":\"\xff\"}"));
    assert!(!is_read(b"{\"data\":{\"x\":[\"\xed\xa0\x80\"]}}"));
    assert!(!is_read(b"\xff\xfe{\0}\0"));
}

#[test]
fn only_repeated_envelope_members_make_the_body_unreadable_d08() {
    for name in ["status", "status_code", "message", "msg", "error", "data"] {
        assert!(!is_read(format!(r#"{{"{name}":null,"{name}":null}}"#).as_bytes()), "{name}");
        let escaped = format!(r#"{{"{name}":1,"\u00{:x}{}":1}}"#, name.as_bytes()[0], &name[1..]);
        assert!(!is_read(escaped.as_bytes()), "{escaped}");
    }
    assert!(is_read(br#"{"x":1,"x":2,"Status":1}"#));
}

#[test]
fn status_is_compared_whole_and_without_case_d06() {
    for (status, expected) in [
        (r#""success""#, Status::Success),
        (r#""SUCCESS""#, Status::Success),
        (r#""failed""#, Status::Failure),
        (r#""Failure""#, Status::Failure),
        (r#""error""#, Status::Failure),
        (r#""Declined""#, Status::Failure),
        (r#""rejected""#, Status::Failure),
        ("null", Status::Absent),
        (r#""""#, Status::Unreadable),
        (r#"" success""#, Status::Other),
        (r#""successful""#, Status::Other),
        (r#""unsuccessful""#, Status::Other),
        (r#""pending""#, Status::Other),
        (r#""failed_x""#, Status::Other),
        (r#""errors""#, Status::Other),
        (r#""not declined""#, Status::Other),
        ("1", Status::Unreadable),
        ("true", Status::Unreadable),
        (r#"["success"]"#, Status::Unreadable),
        (r#""\u0073uccess""#, Status::Success),
        (r#""\ud800""#, Status::Other),
        (r#""ſuccess""#, Status::Other),
    ] {
        assert_eq!(envelope(format!(r#"{{"status":{status}}}"#).as_bytes()).status(), expected, "{status}");
    }
    assert_eq!(envelope(b"{}").status(), Status::Absent);
    assert_eq!(envelope(br#"{"Status":"success"}"#).status(), Status::Absent);
}

#[test]
fn status_code_is_an_integer_or_a_string_of_one_d07() {
    for (code, expected) in [
        ("100", Code::Number(100)),
        (r#""100""#, Code::Number(100)),
        ("-1", Code::Number(-1)),
        ("0", Code::Number(0)),
        ("200", Code::Number(200)),
        ("null", Code::Absent),
        ("100.0", Code::Unreadable),
        ("1e2", Code::Unreadable),
        (r#""""#, Code::Unreadable),
        (r#"" 100""#, Code::Unreadable),
        (r#""0100""#, Code::Unreadable),
        (r#""+100""#, Code::Unreadable),
        (r#""1e2""#, Code::Unreadable),
        ("[100]", Code::Unreadable),
        ("true", Code::Unreadable),
        ("99999999999999999999", Code::Unreadable),
        (r#""\u0031""#, Code::Number(1)),
    ] {
        let body = format!(r#"{{"status_code": {code} }}"#);
        let envelope = envelope(body.as_bytes());
        assert_eq!((envelope.status_code(), envelope.status_code_text()), (expected, Some(code)));
    }
    assert_eq!((envelope(b"{}").status_code(), envelope(b"{}").status_code_text()), (Code::Absent, None));
}

#[test]
fn identifier_is_a_string_or_the_digits_of_an_integer_d05() {
    for (id, expected) in [
        (r#""t_1""#, Some("t_1")),
        ("17", Some("17")),
        ("123456789012345678901234567890", Some("123456789012345678901234567890")),
        (r#""a/b c""#, Some("a/b c")),
        (r#""""#, None),
        (r#"" ""#, Some(" ")),
        ("null", None),
        ("1.5", None),
        ("1e3", None),
        ("true", None),
        ("[1]", None),
        (r#""\ud800""#, None),
        (r#""\u0074""#, Some("t")),
    ] {
        let body = format!(r#"{{"data":{{"TransactionId":{id},"Status":5}}}}"#);
        let envelope = envelope(body.as_bytes());
        let found = envelope.transaction_id();
        assert_eq!(found.as_ref().map(payments_model::TransactionId::as_str), expected, "{id}");
        assert_eq!(envelope.transaction_record().map(|record| record.transaction_id), found);
        assert_eq!(envelope.transaction_receipt().map(|receipt| receipt.transaction_id), found);
        assert_eq!(envelope.data_status().as_deref(), Some("5"));
    }
    for body in [
        r#"{"TransactionId":"t"}"#,
        r#"{"data":null}"#,
        r#"{"data":[{"TransactionId":"t"}]}"#,
        r#"{"data":"{\"TransactionId\":\"t\"}"}"#,
        r#"{"data":{"transactionid":"t"}}"#,
        r#"{"data":{"x":{"TransactionId":"t"}}}"#,
        r#"{"data":{"TransactionId":"t","TransactionId":"t"}}"#,
    ] {
        assert_eq!(envelope(body.as_bytes()).transaction_id(), None, "{body}");
    }
}

#[test]
fn data_that_is_no_object_is_no_record_d08() {
    for body in ["{}", r#"{"data":null}"#, r#"{"data":[]}"#, r#"{"data":"x"}"#, r#"{"data":1}"#] {
        assert_eq!(envelope(body.as_bytes()).customer_record(), None, "{body}");
    }
    assert_eq!(envelope(br#"{"data":{}}"#).customer_record(), Some(CustomerRecord::new()));
}

#[test]
fn invalid_unicode_name_in_data_makes_only_data_unreadable_d07() {
    let body =
        br#"{"status":"failed","message":"no","data":{"TransactionId":"t","\ud800":1},"status_code":7}"#;
    let envelope = envelope(body);
    assert_eq!((envelope.status(), envelope.status_code()), (Status::Failure, Code::Number(7)));
    assert_eq!(envelope.message().unwrap().text, "no");
    assert_eq!((envelope.transaction_id(), envelope.transaction_record()), (None, None));
}

#[test]
fn message_is_the_first_text_that_is_not_blank_d63() {
    for (body, expected) in [
        (r#"{"error":"d","message":"b","msg":"a"}"#, Some("a")),
        (r#"{"error":{"message":"c"},"message":"b"}"#, Some("b")),
        (r#"{"error":{"message":"c"}}"#, Some("c")),
        (r#"{"error":"d"}"#, Some("d")),
        (r#"{"msg":null,"message":"b"}"#, Some("b")),
        (r#"{"msg":5,"message":["b"],"error":{"message":"c"}}"#, Some("c")),
        (r#"{"msg":""}"#, None),
        (r#"{"msg":" \n\u00a0\u200b","message":"b"}"#, Some("b")),
        (r#"{"msg":"bad request error: ","message":"b"}"#, Some("b")),
        (r#"{"msg":"bad request error:\u00a0","errors":["bad request error: ","f"]}"#, Some("f")),
        (r#"{"msg":"bad request error: a","message":"b"}"#, Some("bad request error: a")),
        (r#"{"msg":"\u00ad\u3164\u2800\ufe0f\udb40\udc20","message":"b"}"#, Some("b")),
        (r#"{"msg":"","message":" ","error":"\t"}"#, None),
        (r#"{"msg":"","error":{"message":" ","description":"e"}}"#, Some("e")),
        (r#"{"error":{"description":"e"},"errors":["f"]}"#, Some("e")),
        (r#"{"errors":"f"}"#, Some("f")),
        (r#"{"errors":["f","g"]}"#, Some("f; g")),
        (r#"{"errors":[" ",null,{"field":"amount","text":["f",7]}]}"#, Some("amount; f")),
        (r#"{"errors":{"amount":["f","g"],"token":"h"}}"#, Some("f; g; h")),
        (r#"{"msg":["a","b"]}"#, Some("a; b")),
        (r#"{"msg":{"x":"a"},"message":""}"#, Some("a")),
        (r#"{"msg":["a"],"message":"b"}"#, Some("b")),
        (r#"{"msg":["a"],"errors":["f"]}"#, Some("f")),
        (r#"{"msg":["a"],"errors":[" "]}"#, Some("a")),
        (r#"{"errors":["f"],"errors":["g"]}"#, None),
        (r#"{"errors":[],"msg":{}}"#, None),
        (r#"{"error":{"message":1}}"#, None),
        (r#"{"error":{"message":"c","message":"d"}}"#, None),
        ("{}", None),
        (r#"{"msg":"\u00e4\n"}"#, Some("ä\n")),
    ] {
        let message = envelope(body.as_bytes()).message().map(|message| message.text);
        assert_eq!(message.as_deref(), expected, "{body}");
    }
    assert_eq!(BAD_REQUEST_PREFIX, "bad request error: ");
}

#[test]
fn joined_messages_are_cut_at_500_characters_d63() {
    let long = json!({"errors": vec!["ä".repeat(99); 6]}).to_string();
    let message = envelope(long.as_bytes()).message().map(|message| message.text.chars().count());
    assert_eq!(message, Some(500));
    // One text is kept whole: the caller cuts it.
    let one = json!({"msg": "x".repeat(2000)}).to_string();
    assert_eq!(envelope(one.as_bytes()).message().map(|message| message.text.len()), Some(2000));
    let deep = format!(r#"{{"errors":{}"a"{}}}"#, "[".repeat(100), "]".repeat(100));
    assert!(envelope(deep.as_bytes()).message().is_none());
}

#[test]
fn json_that_ends_too_early_is_truncated_d10() {
    for body in [
        &br#"{"status":"failed","#[..],
        b"\xef\xbb\xbf {",
        b"{\"msg\":\"caf\xc3",
        b"{\"msg\":\"caf\xe9",
        b"[",
        br#""Not found"#,
        br#"{"a":1} {"b":"#,
        br#"{"a":{"b":[1,2"#,
        br#"{"a":-"#,
        br#"{"a":10."#,
        br#"{"a":[0.5,1e"#,
        br#"{"a":1E+"#,
    ] {
        assert!(is_truncated_json(body), "{}", String::from_utf8_lossy(body));
    }
    for body in [
        &b""[..],
        b" ",
        b"{}",
        b"[]",
        b"<html>",
        b"Not found",
        b"true",
        b"{}x",
        b"{'a':",
        b"{\"a\":1,}",
        b"[1]]",
        b"{} 10.",
        b"-",
    ] {
        assert!(!is_truncated_json(body), "{}", String::from_utf8_lossy(body));
    }
}

#[test]
fn json_object_is_found_in_any_encoding_and_with_any_members_d09() {
    for body in [&b"{}"[..], b"\xef\xbb\xbf {\"a\":\"caf\xe9\"}", br#"{"a":1,"a":2}"#, b"{}{}", b"{} x"] {
        assert!(begins_with_json_object(body), "{}", String::from_utf8_lossy(body));
    }
    for body in [&b""[..], b"[{}]", b"1", b"{", b"{'a':1}", b"{\"a\":1,}", b"x{}"] {
        assert!(!begins_with_json_object(body), "{}", String::from_utf8_lossy(body));
    }
}

#[test]
fn claim_of_success_is_found_in_any_bytes_d09() {
    for body in [
        &br#"{"status":"success","#[..],
        br#"{"status" : "Success"}"#,
        br#"{"status_code":100,}"#,
        br#"{"status_code":"100"}"#,
        br#"{"status":"\u0073uccess"}"#,
        b"{'status': 'success'}",
        b"\xff<pre>{&quot;status&quot;:&quot;success&quot;}</pre>",
        br#"{"upstream":"{\"status_code\":100}"}"#,
        br#"{"upstream":"{\"status_code\": 100\n}"}"#,
        br#"{"detail":"{\u0022status\u0022:\u0022success\u0022}"}"#,
        br#"{"detail":"{\u0022status_code\u0022:100}"}"#,
        br#"{"detail":"{\\u0022status\\u0022:\\u0022success\\u0022}"}"#,
        br#"{"errors":"{\"detail\":\"{\\\"status\\\":\\\"success\\\"}\"}"}"#,
        b"<p>{&#39;status&#39;: &#39;success&#39;}</p>",
        b"<p>{&amp;quot;status&amp;quot;:&amp;quot;success&amp;quot;}</p>",
        br#"{"status":"failed","status":"success"}"#,
    ] {
        assert!(claims_success(body), "{}", String::from_utf8_lossy(body));
    }
    for body in [
        &br#"{"status":"failed","status_code":400}"#[..],
        br#"{"status":"successful"}"#,
        br#"{"status":"succ"#,
        br#"{"status_code":1000}"#,
        br#"{"message":"success"}"#,
        br#"{"Status":"success"}"#,
        b"<html>success 100",
    ] {
        assert!(!claims_success(body), "{}", String::from_utf8_lossy(body));
    }
}

#[test]
fn complete_identifier_is_salvaged_from_any_bytes_d08() {
    for (body, expected) in [
        (&br#"{"data":{"TransactionId":"t_1","Amo"#[..], Some("t_1")),
        (br#"{"data":{"TransactionId": "t_1""#, Some("t_1")),
        (br#"{"data":{"TransactionId":"t_1"#, None),
        (br#"{"TransactionId":17,"#, Some("17")),
        (br#"{"TransactionId":17}"#, Some("17")),
        (br#"{"TransactionId":17"#, None),
        (br#"<pre>{"TransactionId" : "t_1"}</pre>"#, Some("t_1")),
        (br#"{"TransactionId":"a"}{"TransactionId":"b"}"#, None),
        (br#"{"TransactionId":"a"}{"TransactionId":"a"}"#, Some("a")),
        (b"\xff\xfe\"TransactionId\":\"t_1\"\xff", Some("t_1")),
        (b"\"TransactionId\":\"t\xff\"", None),
        (br#""TransactionId":"a\"b""#, Some("a\"b")),
        (br#""TransactionId":null,"TransactionId":"a""#, Some("a")),
        (br#""ParentTransactionId":"a""#, None),
        (b"", None),
        (br#""Note":"TransactionId","x":"a""#, None),
        (br#""TransactionId":1.5,"#, None),
        (br#""TransactionId":"a\"#, None),
        (br#"{"upstream":"{\"TransactionId\":\"t_1\"}"}"#, Some("t_1")),
        (br#"{"upstream":"{\"TransactionId\":17}"}"#, Some("17")),
        (br#"{"upstream":"{\"TransactionId\":\"t_1"#, None),
        (br#"{"upstream":"{\"TransactionId\": 17\n}"}"#, Some("17")),
        (b"<pre>\"TransactionId\":17</pre>", Some("17")),
        (br#"["TransactionId":17]"#, Some("17")),
        (br#""TransactionId":17e3,"#, None),
        (br#""TransactionId":17abc,"#, None),
        (br#"{"detail":"{\u0022TransactionId\u0022:\u0022t_1\u0022}"}"#, Some("t_1")),
        (br#"{"detail":"{\u0022TransactionId\u0022:\u0022t_1"#, None),
        (br#"{"errors":"{\"detail\":\"{\\\"TransactionId\\\":\\\"t_1\\\"}\"}"}"#, Some("t_1")),
        (b"<pre>{&quot;TransactionId&quot;: &quot;t_1&quot;}</pre>", Some("t_1")),
        (b"<pre>{&#34;TransactionId&#34;:&#34;t_1&#34;}</pre>", Some("t_1")),
        (b"<pre>{&#x22;TransactionId&#x22;:&#x22;t_1&#x22;}</pre>", Some("t_1")),
        (br#"{"TransactionId":"a","upstream":"{\"TransactionId\":\"b\"}"}"#, None),
        (br#"[{"Transaction\u0049d":"t_1"}]"#, Some("t_1")),
        (br#"{"\u0054ransaction\u0049\u0064":"t\u005F1"}"#, Some("t_1")),
        (br#"{"upstream":"{\"Transaction\u0049d\":\"t_1\"}"}"#, Some("t_1")),
        (br#"{"Transaction\\u0049d":"t_1"}"#, None),
        (br#"{"TransactionId":"a\\u0041b"}"#, Some("a\\u0041b")),
        (br#"{"TransactionId":"a","Transaction\u0049d":"b"}"#, None),
        (br#"{"TransactionId":"a"}\u00"#, Some("a")),
    ] {
        let found = salvage_transaction_id(body);
        assert_eq!(
            found.as_ref().map(payments_model::TransactionId::as_str),
            expected,
            "{}",
            String::from_utf8_lossy(body)
        );
    }
    for unit in
        ["\"TransactionId\":", "\"TransactionId\":1", "\"TransactionId\":\\\"", "\"TransactionId\":\"\\"]
    {
        let _ = salvage_transaction_id(unit.repeat(60_000).as_bytes());
    }
}

#[test]
fn deep_or_wide_responses_are_read_in_linear_time_and_without_recursion() {
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let body = format!(
        r#"{{"status":{deep},"status_code":{deep},"msg":{deep},"error":{deep},"data":{{"TransactionId":{deep},"x":{deep}}}}}"#
    );
    let deep_envelope = envelope(body.as_bytes());
    assert_eq!((deep_envelope.status(), deep_envelope.status_code()), (Status::Unreadable, Code::Unreadable));
    assert!(deep_envelope.message().is_none() && deep_envelope.transaction_id().is_none());
    assert!(!is_read("[".repeat(500_000).as_bytes()));
    assert!(!is_read("{\"data\":".repeat(100_000).as_bytes()));
    let wide: Vec<String> = (0..100_000).map(|index| format!(r#""x{index}":1"#)).collect();
    assert!(is_read(format!("{{{}}}", wide.join(",")).as_bytes()));
}

/// Compares the result with `serde_json::Value`, which shares only the grammar with this crate's reader.
fn assert_agrees(bytes: &[u8]) {
    let oracle = serde_json::from_slice::<Value>(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    match (Envelope::read(bytes), oracle) {
        (Some(envelope), Ok(Value::Object(members))) => assert_envelope_agrees(&envelope, &members),
        // `Value` rejects content that `Envelope` does not read: numbers too large for a float, lone surrogates, deep nesting.
        (Some(_), Err(error)) => {
            let text = error.to_string();
            let known =
                ["number out of range", "surrogate", "unexpected end of hex escape", "recursion limit"];
            assert!(
                known.iter().any(|reason| text.contains(reason)),
                "{text}: {}",
                String::from_utf8_lossy(bytes)
            );
        }
        (None, Ok(Value::Object(members))) => panic!("{members:?} can be read"),
        (None, _) => {}
        (Some(envelope), Ok(value)) => panic!("{envelope:?} is not {value:?}"),
    }
}

fn assert_envelope_agrees(envelope: &Envelope<'_>, members: &serde_json::Map<String, Value>) {
    let status = match members.get("status") {
        None | Some(Value::Null) => Status::Absent,
        Some(Value::String(word)) => match word.to_ascii_lowercase().as_str() {
            "success" => Status::Success,
            "failed" | "failure" | "error" | "declined" | "rejected" => Status::Failure,
            "" => Status::Unreadable,
            _ => Status::Other,
        },
        Some(_) => Status::Unreadable,
    };
    assert_eq!(envelope.status(), status);
    let code = match members.get("status_code") {
        None | Some(Value::Null) => Code::Absent,
        Some(Value::Number(number)) => number.as_i64().map_or(Code::Unreadable, Code::Number),
        Some(Value::String(text)) => match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => Code::Number(number),
            _ => Code::Unreadable,
        },
        Some(_) => Code::Unreadable,
    };
    assert_eq!(envelope.status_code(), code);
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str)?;
        text.contains(|letter: char| !letter.is_whitespace() && !letter.is_control()).then(|| text.to_owned())
    };
    let error = members.get("error");
    let single = text(members.get("msg"))
        .or_else(|| text(members.get("message")))
        .or_else(|| text(error))
        .or_else(|| text(error.and_then(|error| error.get("message"))))
        .or_else(|| text(error.and_then(|error| error.get("description"))));
    // Other tests check which letters show nothing, and that a list or an object is joined.
    if single.as_ref().is_some_and(|text| !text.contains(char::is_alphanumeric)) {
    } else if single.is_some() || !members.get("msg").is_some_and(|msg| msg.is_array() || msg.is_object()) {
        assert_eq!(envelope.message().map(|message| message.text).as_deref(), single.as_deref());
    }
    let data = members.get("data").and_then(Value::as_object);
    assert_eq!(envelope.customer_record().is_some(), data.is_some());
    let id = data.and_then(|data| match data.get("TransactionId")? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    });
    assert_eq!(envelope.transaction_id().map(|id| id.to_string()), id);
    assert_eq!(envelope.transaction_record().map(|record| record.transaction_id.to_string()), id);
}

fn post(message: &str, data: &str) -> Vec<u8> {
    let message = Value::from(message);
    format!(r#"{{"status":"success","status_code":100,"message":{message},"data":{data}}}"#).into_bytes()
}

fn get(message: &str, data: &str) -> Vec<u8> {
    let message = Value::from(message);
    format!(r#"{{"status_code":200,"message":{message},"data":{data}}}"#).into_bytes()
}

/// Valid responses of every form in the interface.
fn valid_response() -> impl Strategy<Value = Vec<u8>> {
    let id = "[A-Za-z0-9_]{1,12}";
    (id, any::<String>(), -1_000_000_i64..1_000_000, "[0-9]{1,4}", 0..6_u8).prop_map(
        |(id, text, cents, status, shape)| {
            let mut record = TransactionRecord::new(id.parse().unwrap());
            record.amount = payments_model::Amount::from_cents(cents).into();
            record.billing_customer_name = text.clone().into();
            record.billing_state = payments_model::Field::Null;
            record.status = status.into();
            record.other.insert(text.clone(), RawJson::parse("[1,{}]").unwrap());
            match shape {
                0 => post(&text, &record.to_json()),
                1 => post(&text, &TransactionReceipt::new(record.transaction_id).to_json()),
                2 => get(&text, &record.to_json()),
                3 => json!({ "status": "failed", "status_code": 404, "msg": text }).to_string().into_bytes(),
                4 => {
                    let error = json!({ "message": text });
                    let body =
                        json!({ "status": "declined", "status_code": "200", "error": error, "data": record });
                    body.to_string().into_bytes()
                }
                _ => [b"\xef\xbb\xbf".to_vec(), post(&text, &record.to_json())].concat(),
            }
        },
    )
}

proptest! {
    #[test]
    fn no_proper_prefix_of_a_valid_response_is_readable_d08(body in valid_response()) {
        assert_agrees(&body);
        for length in 0..body.len() {
            prop_assert!(!is_read(&body[..length]), "{} bytes", length);
        }
    }

    #[test]
    fn identifier_salvaged_from_a_prefix_is_the_whole_identifier_d08(body in valid_response()) {
        let whole = envelope(&body).transaction_id();
        for length in 0..body.len() {
            let salvaged = salvage_transaction_id(&body[..length]);
            prop_assert!(salvaged.is_none() || salvaged == whole);
        }
    }

    #[test]
    fn mutated_responses_never_panic_and_are_read_correctly_d08(
        body in valid_response(),
        seeds in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        for (place, byte) in seeds {
            let mut mutated = body.clone();
            *place.get_mut(&mut mutated) = byte;
            assert_agrees(&mutated);
            let _ = salvage_transaction_id(&mutated);
            mutated.remove(place.index(body.len()));
            assert_agrees(&mutated);
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic_d08(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        like in "[{}\\[\\]\":,\\\\a-u0-9 ]{0,40}",
    ) {
        assert_agrees(&bytes);
        assert_agrees(like.as_bytes());
        let _ = salvage_transaction_id(&bytes);
        let _ = mask(&like, &["abc", "123"]);
    }
}
