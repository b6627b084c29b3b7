use std::env;
use std::net::SocketAddr;

/// What is asked of this process: `SERVER charge|look-up CALLS IN_FLIGHT` and words of which none is needed.
pub(crate) struct Asked {
    pub(crate) server: SocketAddr,
    pub(crate) look_up: bool,
    pub(crate) calls: usize,
    pub(crate) in_flight: usize,
    /// `latencies`: how long each call takes.
    pub(crate) latencies: bool,
    /// `together`: the first call of every caller is under way before the first is answered. It does not count.
    pub(crate) together: bool,
    /// `warm-up=CALLS`: so many calls that do not count before those that do.
    pub(crate) warm_up: usize,
}

impl Asked {
    pub(crate) fn read() -> Self {
        let mut words = env::args().skip(1);
        let mut next = || words.next().expect("SERVER charge|look-up CALLS IN_FLIGHT [WORD...]");
        Self {
            server: next().parse().expect("an address"),
            look_up: next() == "look-up",
            calls: next().parse().expect("a number of calls"),
            in_flight: next().parse().expect("a number of calls in flight"),
            latencies: env::args().any(|word| word == "latencies"),
            together: env::args().any(|word| word == "together"),
            warm_up: number("warm-up").unwrap_or(0),
        }
    }

    /// The share of one caller. What is left over is not called.
    pub(crate) fn each(&self, calls: usize) -> usize {
        calls / self.in_flight
    }
}

/// `connections=COUNT`: how many connections a client may have, where it can be told.
pub fn most_connections() -> Option<usize> {
    number("connections")
}

fn number(name: &str) -> Option<usize> {
    let value = env::args().find_map(|word| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned()));
    value.map(|value| value.parse().expect("a number"))
}
