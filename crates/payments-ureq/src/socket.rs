use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::attempt::{Attempt, Stage};

/// A TCP connection whose every read and write ends with the deadline of the attempt that makes it.
pub(crate) struct Socket(TcpStream);

impl Socket {
    /// Looks `host` up and connects to the first of its addresses that accepts.
    pub(crate) fn connect(attempt: &Attempt, host: &str, port: u16) -> io::Result<Self> {
        attempt.enter(Stage::Resolving);
        let addresses = addresses(attempt, host, port)?;
        attempt.enter(Stage::Connecting);
        let mut failure = io::Error::new(ErrorKind::NotFound, "the host name has no address");
        for (tried, address) in (0..).zip(&addresses) {
            let untried = u32::try_from(addresses.len()).unwrap_or(u32::MAX) - tried;
            // An address that does not respond leaves the others their share of the time.
            match TcpStream::connect_timeout(address, attempt.time_left()? / untried) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self(stream));
                }
                Err(error) => failure = error,
            }
        }
        // A connect that used up the deadline is a timeout.
        attempt.time_left()?;
        Err(failure)
    }

    /// Whether the server has neither closed the connection nor sent what nobody asked for.
    pub(crate) fn is_quiet(&self) -> bool {
        let peek = || {
            self.0.set_nonblocking(true)?;
            let peeked = self.0.peek(&mut [0]);
            self.0.set_nonblocking(false)?;
            peeked
        };
        peek().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

fn addresses(attempt: &Attempt, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let host = host.to_owned();
    on_a_thread(attempt, move || Ok((host.as_str(), port).to_socket_addrs()?.collect()))
}

/// A lookup cannot be ended, so it gets a thread, which may outlive the call.
fn on_a_thread<T: Send + 'static>(
    attempt: &Attempt,
    look_up: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let left = attempt.time_left()?;
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("payments-lookup".to_owned()).spawn(move || sender.send(look_up()))?;
    receiver.recv_timeout(left).unwrap_or_else(|_| {
        attempt.time_left()?;
        Err(io::Error::other("the lookup panicked"))
    })
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        in_time(|left| self.0.set_read_timeout(Some(left)), || (&self.0).read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        in_time(|left| self.0.set_write_timeout(Some(left)), || (&self.0).write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Repeats `transfer` until it does something or the deadline has passed.
///
/// The timeout of a socket ends late, on Linux by up to an eighth of its length. So it is set to seven eighths of the time
/// left, again and again: 60 seconds end within milliseconds after six of them.
fn in_time<T>(
    set_timeout: impl Fn(Duration) -> io::Result<()>,
    mut transfer: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    // On Unix `TimedOut` comes from the network: the connection is dead.
    let timed_out = if cfg!(windows) { ErrorKind::TimedOut } else { ErrorKind::WouldBlock };
    let attempt = Attempt::current()?;
    loop {
        let left = attempt.time_left()?;
        set_timeout(left.saturating_sub(left / 8))?;
        match transfer() {
            Err(error) if [timed_out, ErrorKind::Interrupted].contains(&error.kind()) => {}
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use payments_core::Deadlines;

    use super::*;

    #[test]
    fn a_lookup_that_does_not_end_is_left_alone_at_the_connect_deadline() {
        let (release, gate) = mpsc::channel::<()>();
        let look_up = move || Ok(gate.recv().is_ok());
        Attempt::run(Deadlines::new(Duration::from_millis(20), Duration::MAX), |attempt| {
            attempt.enter(Stage::Resolving);
            let error = on_a_thread(attempt, look_up).expect_err("nothing was found");
            assert_eq!((error.kind(), attempt.is_expired()), (ErrorKind::TimedOut, true));
        });
        drop(release);
    }

    #[test]
    fn a_lookup_that_panics_is_an_error() {
        Attempt::run(Deadlines::default(), |attempt| {
            let error = on_a_thread(attempt, || -> io::Result<()> { panic!("on purpose") });
            assert_eq!(error.expect_err("nothing was found").to_string(), "the lookup panicked");
            assert!(!attempt.is_expired());
        });
    }
}
