use std::io::{self, Write};

use log::{LevelFilter, Log, Metadata, Record};
use tracing_subscriber::fmt::format::FmtSpan;

/// From now on this process writes to stderr what is logged with `log` and `tracing`, up to DEBUG.
///
/// A program that has installed a logger before keeps it, and what that one writes is read.
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
            // There is no other place to report that stderr cannot be written to.
            drop(writeln!(io::stderr(), "{} {}: {}", record.level(), record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}
