use payments_fake::{FakeGateway, Fixtures};

use crate::digits::check_no_long_number_of;

/// The initial state of a gateway. Loading, writing and loading it again changes nothing.
pub(crate) fn load_fixtures(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let fixtures = match Fixtures::from_json(text) {
        Ok(fixtures) => fixtures,
        Err(error) => return check_no_long_number_of(text, &[error.to_string(), format!("{error:?}")]),
    };
    let first = state(&fixtures);
    let again = Fixtures::from_json(&first).expect("a written state can be read");
    assert_eq!(state(&again), first);
}

fn state(fixtures: &Fixtures) -> String {
    let gateway = FakeGateway::builder().ignore_unfired_faults().build();
    gateway.reset_to(fixtures);
    gateway.first_tenant().state_json()
}
