use std::io::{self, Write};

use log::{LevelFilter, Log, Metadata, Record};
use tracing_subscriber::fmt::format::FmtSpan;

/// Makes this process write all `log` and `tracing` output up to DEBUG to stderr.
///
/// If the program already installed a logger, that logger stays.
pub(crate) fn write_logs_to_stderr() {
    if log::set_logger(&ToStderr).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
    let level = tracing_subscriber::filter::LevelFilter::DEBUG;
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_span_events(FmtSpan::NEW);
    drop(subscriber.with_ansi(false).with_writer(io::stderr).try_init());
}

struct ToStderr;

impl Log for ToStderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= LevelFilter::Debug
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            // If stderr cannot be written, no other place is left to report it.
            drop(writeln!(io::stderr(), "{} {}: {}", record.level(), record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}
