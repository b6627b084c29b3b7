use std::fmt::{Debug, Display};

use payments_fake::{FakeGateway, Fault};
use payments_sandbox::unversioned::fault_from_header;

use crate::digits::check_no_long_number_of;

/// A fault as a JSON document or as a header value.
pub(crate) fn read_fault(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    check(Fault::from_json(text), text);
    check(fault_from_header(text), text);
}

fn check(read: Result<Fault, impl Debug + Display>, text: &str) {
    let fault = match read {
        Ok(fault) => fault,
        Err(error) => return check_no_long_number_of(text, &[error.to_string(), format!("{error:?}")]),
    };
    let gateway = FakeGateway::builder().ignore_unfired_faults().build();
    gateway.arm(fault);
    let armed = &gateway.faults()[0];
    assert_eq!((armed.seen, armed.fired), (0, 0));
    let written = armed.to_json();
    let again = Fault::from_json(&written).expect("a written fault can be read");
    gateway.disarm_all();
    let id = gateway.arm(again);
    let armed = gateway.faults();
    let again = armed.iter().find(|armed| armed.id == id).expect("the fault is armed");
    let without_id = |json: &str| {
        let mut json: serde_json::Value = serde_json::from_str(json).expect("a fault is JSON");
        json.as_object_mut().expect("a fault is an object").remove("id");
        json
    };
    assert_eq!(without_id(&again.to_json()), without_id(&written));
}
