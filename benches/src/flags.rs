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
            /// With tiny counts, within seconds: shows that everything works, and the figures mean nothing.
            optional --smoke
        }
        /// Serve fixed bytes for every request: what the sandbox is compared with.
        cmd serve-bare {}
        /// Make calls of the state machine in this process, to be counted from outside.
        cmd handle-loop {
            required case: String
            required calls: u32
        }
    }
}
