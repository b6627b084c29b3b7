use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use log::{LevelFilter, Log, Metadata, Record};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::{Journal, Setup};

/// The process in which everything that a stack logs is written to stderr: the same test again.
pub(crate) struct WordsChild {
    base_url: String,
    setup: Setup,
}

impl WordsChild {
    /// The one contract that is checked in such a process.
    pub(crate) const CONTRACT: &str = "what_is_logged_shows_no_secret";

    /// Whether this process is one, and what it was told.
    pub(crate) fn of_this_process() -> Option<Self> {
        let base_url = env::var(BASE_URL).ok()?;
        let authority_pem = env::var(AUTHORITY).ok()?;
        let der = CertificateDer::from_pem_slice(authority_pem.as_bytes());
        let authority_der = der.expect("the parent's certificate").to_vec();
        let http2 = env::var_os(HTTP2).is_some();
        let setup = Setup { authority_pem, authority_der, http2, script: None, journal: Journal::default() };
        Some(Self { base_url, setup })
    }

    /// Tells a process to be one, and asks its TLS library for the keys of its connections, in this file.
    pub(crate) fn prepare(child: &mut Command, base_url: &str, setup: &Setup, key_log: &Path) {
        child.env(BASE_URL, base_url).env(AUTHORITY, setup.authority_pem()).env("SSLKEYLOGFILE", key_log);
        if setup.wants_http2() {
            child.env(HTTP2, "1");
        }
    }

    /// From now on this process writes to stderr what is logged by `log` and `tracing`, up to DEBUG.
    ///
    /// A program that has installed a logger before keeps it, and what that one writes is read.
    pub(crate) fn listen() {
        if log::set_logger(&ToStderr).is_ok() {
            log::set_max_level(LevelFilter::Debug);
        }
        let subscriber =
            tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG);
        let subscriber = subscriber.with_span_events(FmtSpan::NEW).with_ansi(false).with_writer(io::stderr);
        drop(subscriber.try_init());
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }
}

struct ToStderr;

impl Log for ToStderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= LevelFilter::Debug
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            // A line that cannot be written is one that nobody reads.
            drop(writeln!(io::stderr(), "{} {}: {}", record.level(), record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}

const BASE_URL: &str = "PAYMENTS_CONFORMANCE_WORDS_URL";
const AUTHORITY: &str = "PAYMENTS_CONFORMANCE_WORDS_AUTHORITY";
const HTTP2: &str = "PAYMENTS_CONFORMANCE_WORDS_HTTP2";
