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
        }
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
        /// Take the workspace to a registry; shows what would happen unless told to do it.
        cmd release {
            /// Make the commit of a new version. No network.
            cmd prepare {
                /// `major`, `minor`, `patch`, or a version such as 1.4.0.
                required bump: String
                /// Write and commit.
                optional --execute
            }
            /// Ask of this commit whatever would hurt a user, and change nothing.
            cmd check {
                /// The registry as cargo's configuration names it; crates.io unless told otherwise.
                optional --registry registry: String
                /// One gate alone, by its title; may be given several times.
                repeated --only title: String
            }
            /// Write the public API of each library crate as text; the text is committed and reviewed.
            cmd api {
                /// Write nothing, and fail if the public API is not the committed one.
                optional --check
            }
            /// Publish this commit. Run it again after anything.
            cmd publish {
                /// Sign the tag, publish, push.
                optional --execute
                /// The registry as cargo's configuration names it; crates.io unless told otherwise.
                optional --registry registry: String
                /// How many seconds to wait in all for a registry that is busy or late; 7200 unless told otherwise.
                optional --patience seconds: u64
            }
        }
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
