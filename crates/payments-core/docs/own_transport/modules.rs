// The files of this folder as modules, for the examples of the chapter.
mod response {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/response.rs"));
}
mod exchange {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/exchange.rs"));
}
mod call_state {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/call_state.rs"));
}
mod transport {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/transport.rs"));
}
