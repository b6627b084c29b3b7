/// Lets this process and those that it starts open as many files as the system lets it ask for; gives how many those are.
///
/// Every call in flight is a socket on both sides, and the usual limit is 1024.
#[cfg(unix)]
pub(crate) fn raise_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    // None is no limit at all.
    if raised.is_ok() { maximum } else { current }.unwrap_or(u64::MAX)
}

/// There is no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_limit() -> u64 {
    u64::MAX
}
