//! The command line.

#![allow(unreachable_pub, reason = "the macro makes every item `pub`")]

xflags::xflags! {
    /// Take the crates of the workspace to a registry. The usual order is prepare, check, publish, each first without
    /// and then with `--execute`; whatever was cut off is run again.
    ///
    /// publish wants a clean `main` whose `origin` answers, a git that can sign and verify a tag, and a token in
    /// CARGO_REGISTRY_TOKEN or in a credential provider of cargo. CONTRIBUTING.md has the programs that check asks.
    cmd release {
        /// Make the commit of a new version; shows what would change unless told to do it. No network.
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
        /// Publish this commit; shows what would happen unless told to do it. Run it again after anything.
        cmd publish {
            /// Sign the tag, publish, push.
            optional --execute
            /// The registry as cargo's configuration names it; crates.io unless told otherwise.
            optional --registry registry: String
            /// How many seconds to wait in all for a registry that is busy or late; 7200 unless told otherwise.
            optional --patience seconds: u64
        }
    }
}
