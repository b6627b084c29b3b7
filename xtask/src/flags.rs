//! The command line: the one place where a task gets its name and its line of help.

#![allow(unreachable_pub, reason = "the macro makes every item `pub`")]

xflags::xflags! {
    /// The project's own tasks.
    cmd xtask {
        /// Check everything: format, lints, features, tests, doctests, README examples, documentation.
        cmd test {
            /// Name the steps and run none.
            optional --list
            /// One step alone, by its name.
            optional --only title: String
            /// Fail where a step has to be skipped.
            optional --complete
        }
        /// Check the rules of the repository alone; they are also part of `test`.
        cmd tidy {}
        /// List the numbered decisions and the tests that hold each of them.
        cmd decisions {}
        /// Measure, in a release build, and fail if a goal is missed.
        cmd bench {
            /// One benchmark alone, such as `sandbox`.
            optional name: String
            /// End well even if a goal is missed.
            optional --report-only
            /// Rows of the long billing run of `batch`; 100000 unless told otherwise.
            optional --rows rows: u32
            /// Keep the figures as data, and their tables as pictures, in `xtask/bench/results`.
            optional --save
        }
        /// Count the instructions of one `process_card`, and fail if it takes more than hyper-util with serde's derive.
        cmd instructions {}
        /// Search for inputs that break what must hold for any bytes; needs a C++ compiler.
        cmd fuzz {
            /// One target alone, such as `read_amount`.
            optional target: String
            /// How long each target runs; 30 unless told otherwise.
            optional --seconds seconds: u32
        }
        /// Take every amount of cents below a million, and as many random ones, from text to JSON and back.
        cmd exhaustive-money {}
        /// Run the unit tests of model and core under Miri; needs a nightly toolchain that has it.
        cmd miri {}
        /// Search for a broken promise: payments over a bad network in virtual time, in a release build.
        cmd simulate {
            /// How many payments there are; voids and look-ups come on top. 100000 by default.
            optional --charges charges: u64
            /// Where all chance comes from; 1 by default.
            optional --seed seed: u64
            /// How many threads share the work; one by default. The result is the same.
            optional --threads threads: u64
            /// Break the client's side on purpose, such as `sends-twice`.
            optional --sabotage sabotage: String
            /// Look for this broken promise alone, such as `ends-in-time`.
            optional --only only: String
            /// Print how often each combination of operation, fault, phase and ending happened.
            optional --coverage
        }
        /// Kill billing runs at any moment and hold their journal against the service's ledger, in a release build.
        cmd crash-test {
            /// How many rounds there are; 300 unless told otherwise.
            optional --rounds rounds: u64
            /// Where all chance comes from; another one each time unless told otherwise.
            optional --seed seed: u64
        }
        /// Take the crates to a registry: `prepare`, `check`, `publish`, `api`; `cargo xtask release --help` tells more.
        cmd release {}
        /// List the tasks.
        cmd help {}
    }
}

impl Xtask {
    /// The list of tasks, without the gaps that the generated text leaves between them.
    pub(crate) fn help() -> String {
        Self::HELP_.trim_end().replace("\n\n\n", "\n")
    }
}
