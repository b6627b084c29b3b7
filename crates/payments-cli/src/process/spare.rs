//! Whether this process can get the threads and file descriptors that every command needs. Where the system has none left, the
//! libraries below panic or wait for ever.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread;

/// Starts threads, so many more than every command needs, and opens descriptors, and gives them back.
pub(crate) fn require_all(more_threads: usize) -> io::Result<()> {
    require_descriptors()?;
    let count = THREADS + more_threads;
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let wait = |gate: Arc<Mutex<()>>| thread::Builder::new().spawn(move || drop(gate.lock()));
    let mut threads = Vec::with_capacity(count);
    let started = (0..count).try_for_each(|_| wait(Arc::clone(&gate)).map(|thread| threads.push(thread)));
    drop(closed);
    for thread in threads {
        let _ = thread.join();
    }
    started
}

/// Chosen by this command: the journal, the reports, the lines on stderr and a few lookups of names, each on a thread of its own.
const THREADS: usize = 10;

/// Opens descriptors, and closes them again.
#[cfg(unix)]
pub(crate) fn require_descriptors() -> io::Result<()> {
    // Chosen by this command: twice this for the journal's files, a connection, and what waits for signals and sockets.
    const PAIRS: usize = 12;

    let pairs = (0..PAIRS).map(|_| std::os::unix::net::UnixStream::pair());
    pairs.collect::<io::Result<Vec<_>>>().map(drop)
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(crate) fn require_descriptors() -> io::Result<()> {
    Ok(())
}
