//! The command line.

#![allow(unreachable_pub, reason = "the macro makes every item `pub`")]

xflags::xflags! {
    /// How fast and how large things are, each figure beside its goal.
    cmd bench {
        /// Measure.
        cmd run {
            /// One benchmark alone, such as `sandbox`.
            optional name: String
            /// End well even if a goal is missed.
            optional --report-only
            /// Rows of the long billing run of `batch`.
            optional --rows rows: u32
            /// With tiny counts, within seconds: shows that everything works, and the figures mean nothing.
            optional --smoke
            /// Keep the figures as data, and their tables as pictures, in `xtask/bench/results`.
            optional --save
        }
        /// Draw the pictures in `xtask/bench/results` anew, from the data beside them.
        cmd draw {}
        /// Serve fixed bytes for every request: what the sandbox is compared with.
        cmd serve-bare {}
        /// Answer every request with the same bytes, as cheaply as can be: what clients are measured against.
        cmd serve-fixed {
            /// Never sleep, so that no client has to wake it.
            optional --awake
        }
        /// Charge a token again and again without a journal: what a billing run is compared with.
        cmd charge-plain {
            required base_url: String
            required api_key: String
            required count: u32
            required in_flight: u32
        }
        /// Build a transport in this fresh process, and print when the first byte of a handshake left it.
        cmd start-tls {}
        /// Run the body of a unit test in this process, to be profiled from outside.
        cmd test-loop {
            required tests: u32
        }
        /// Make calls of the state machine in this process, to be counted from outside.
        cmd handle-loop {
            required case: String
            required calls: u32
        }
    }
}
