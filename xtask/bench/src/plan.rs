use std::thread::available_parallelism;
use std::time::Duration;

/// How much is measured. Everything is bounded, in count and in time.
#[derive(Debug)]
pub(crate) struct Plan {
    /// How often a process is started to see how soon it is ready.
    pub(crate) starts: u32,
    /// How often each of two clients is started for its first answer.
    pub(crate) cold_starts: u32,
    /// Clean builds of each program; if none, they are left out.
    pub(crate) builds: u32,
    /// How often two things are measured in turns.
    pub(crate) turns: u32,
    /// How long one of these turns is.
    pub(crate) turn: Duration,
    /// Payments before memory is looked at for the first time: what is allocated once is there by then.
    pub(crate) warm_up: u32,
    /// A small number of stored transactions.
    pub(crate) few: u32,
    /// A large one.
    pub(crate) many: u32,
    /// Calls of the state machine whose instructions are counted.
    pub(crate) calls: u32,
    /// Tests in process, each with a gateway of its own.
    pub(crate) tests: u32,
    /// Calls of a client in two runs whose difference is counted.
    pub(crate) client_calls: (u32, u32),
    /// How often each client is measured, in rounds.
    pub(crate) load_rounds: u32,
    /// Calls of each client in a round that count, which take most of a second.
    pub(crate) load_calls: u32,
    /// Calls before them.
    pub(crate) load_warm_up: u32,
    /// Numbers of calls in flight among which the instructions of one are counted.
    pub(crate) in_flight: &'static [u32],
    /// Calls at least that make the difference between the fewer and half of the more that are counted.
    pub(crate) counted_calls: u32,
    /// Calls that are in flight over few connections.
    pub(crate) waiting: u32,
    /// Calls before memory is looked at for the first time.
    pub(crate) calls_before: u32,
    /// Calls that must leave nothing behind.
    pub(crate) many_calls: u32,
    /// How often a billing run and the same charges without a journal are measured in turns.
    pub(crate) batch_turns: u32,
    /// Rows of each of these runs.
    pub(crate) batch_rows: u32,
    /// Rows of the run that must stay small.
    pub(crate) long_run: u32,
    means_something: bool,
}

impl Plan {
    pub(crate) const FULL: Self = Self {
        starts: 20,
        cold_starts: 101,
        builds: 3,
        turns: 21,
        turn: Duration::from_millis(200),
        warm_up: 5_000,
        few: 1_000,
        many: 100_000,
        calls: 1_000,
        tests: 10_000,
        client_calls: (200, 700),
        load_rounds: 11,
        load_calls: 64_000,
        load_warm_up: 12_800,
        in_flight: &[1, 64, 1_024, 4_096],
        counted_calls: 500,
        waiting: 10_000,
        calls_before: 10_000,
        many_calls: 1_000_000,
        batch_turns: 5,
        batch_rows: 20_000,
        long_run: 100_000,
        means_something: true,
    };

    /// A build without optimisation gets through this within seconds.
    pub(crate) const SMOKE: Self = Self {
        starts: 2,
        cold_starts: 2,
        builds: 0,
        turns: 2,
        turn: Duration::from_millis(20),
        warm_up: 20,
        few: 10,
        many: 100,
        calls: 2,
        tests: 2,
        client_calls: (2, 4),
        load_rounds: 2,
        load_calls: 640,
        load_warm_up: 64,
        in_flight: &[1, 64],
        counted_calls: 20,
        waiting: 200,
        calls_before: 128,
        many_calls: 1_280,
        batch_turns: 1,
        batch_rows: 20,
        long_run: 100,
        means_something: false,
    };

    /// What a reader of the figures must know about them.
    pub(crate) fn heading(&self) -> String {
        let build = if cfg!(debug_assertions) { "debug build" } else { "release build" };
        let cores = available_parallelism().map_or_else(|_| "unknown".to_owned(), |cores| cores.to_string());
        let caution = if self.means_something { "" } else { "; tiny counts, so the figures mean nothing" };
        format!(
            "{build}, {cores} processors shared by server and client; rates are medians of {} turns{caution}",
            self.turns
        )
    }
}
