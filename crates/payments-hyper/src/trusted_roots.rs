/// Which certificate authorities may vouch for a server, beside those that are given one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustedRoots {
    /// The roots of Mozilla's programme, compiled in: needs the feature `webpki-roots`. The default wherever that is
    /// enabled, even beside `platform-verifier`.
    Mozilla,
    /// The roots and, where it has one, the verifier of the operating system: needs the feature `platform-verifier`.
    ///
    /// On Linux the system's CA bundle is read once, when the transport is built, and no revocation is checked.
    Platform,
}

impl TrustedRoots {
    /// The one used where none is chosen.
    pub(crate) fn compiled_in() -> Option<Self> {
        if cfg!(feature = "webpki-roots") {
            Some(Self::Mozilla)
        } else if cfg!(feature = "platform-verifier") {
            Some(Self::Platform)
        } else {
            None
        }
    }
}
