// The files of this folder as modules, for the examples of the chapter.
mod answer {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/answer.rs"));
}
mod exchange {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/exchange.rs"));
}
mod line {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/line.rs"));
}
mod transport {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/own_transport/transport.rs"));
}
