//! Does a correct transport over hyper-util's client keep every contract, over HTTP/1.1 and HTTP/2?

#[path = "support/hyper_util.rs"]
mod transport;

use payments_conformance::{Abilities, Ability, FnStack, stack};
use tokio::runtime::Runtime;
use transport::HyperUtil;

fn over_hyper_util() -> FnStack<HyperUtil> {
    let runtime = Runtime::new().unwrap();
    let stack = stack(HyperUtil::new).block_on(move |future| runtime.block_on(future));
    stack.abilities(Abilities::default().with(Ability::Http2).with(Ability::ManyHeaders))
}

payments_conformance::contract_tests!(over_hyper_util());
