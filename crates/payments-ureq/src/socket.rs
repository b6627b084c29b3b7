use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::attempt::{Attempt, Progress};

/// A TCP connection. Every read and write ends by the deadline of the current attempt.
pub(crate) struct Socket(TcpStream);

impl Socket {
    /// Looks `host` up and connects to the first of its addresses that accepts.
    pub(crate) fn connect(attempt: &Attempt, host: &str, port: u16) -> io::Result<Self> {
        attempt.set_progress(Progress::Resolving);
        let addresses = addresses(attempt, host, port)?;
        attempt.set_progress(Progress::Connecting);
        let mut failure = io::Error::new(ErrorKind::NotFound, "the host name has no address");
        for (tried, address) in (0..).zip(&addresses) {
            let untried = u32::try_from(addresses.len()).unwrap_or(u32::MAX) - tried;
            // Divides the time left among the addresses, so that one that does not respond cannot use it up.
            match TcpStream::connect_timeout(address, attempt.time_left()? / untried) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self(stream));
                }
                Err(error) => failure = error,
            }
        }
        // If connecting used up the deadline, reports a timeout.
        attempt.time_left()?;
        Err(failure)
    }

    /// Whether the server has neither closed the connection nor sent unrequested data.
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
    on_thread(attempt, move || Ok((host.as_str(), port).to_socket_addrs()?.collect()))
}

/// Runs a lookup on its own thread, which may outlive the call, because a lookup cannot be interrupted.
fn on_thread<T: Send + 'static>(
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
        let check = Attempt::time_left;
        within_deadline(check, |left| self.0.set_read_timeout(Some(left)), || (&self.0).read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let check = Attempt::time_left_to_write;
        within_deadline(check, |left| self.0.set_write_timeout(Some(left)), || (&self.0).write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Repeats `transfer` until it makes progress or the deadline has passed.
///
/// A socket timeout ends late, on Linux by up to an eighth of its length. So each repetition sets it to seven eighths of the time
/// left. After six of them, a deadline of 60 seconds is accurate to milliseconds.
fn within_deadline<T>(
    check: impl Fn(&Attempt) -> io::Result<Duration>,
    set_timeout: impl Fn(Duration) -> io::Result<()>,
    mut transfer: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    // On Unix, `TimedOut` comes from the network and means that the connection is dead.
    let timed_out = if cfg!(windows) { ErrorKind::TimedOut } else { ErrorKind::WouldBlock };
    let attempt = Attempt::current()?;
    loop {
        let left = check(&attempt)?;
        set_timeout(left.saturating_sub(left / 8))?;
        match transfer() {
            Err(error) if [timed_out, ErrorKind::Interrupted].contains(&error.kind()) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use payments_core::Deadlines;
    use payments_core::transport::ServerAddress;

    use super::*;

    fn run<T>(deadlines: Deadlines, call: impl FnOnce(&Attempt) -> T) -> T {
        let server = ServerAddress::of(&"http://localhost".parse().unwrap()).unwrap();
        Attempt::run(server, deadlines, call)
    }

    #[test]
    fn a_lookup_that_does_not_end_is_abandoned_at_the_connect_deadline() {
        let (release, gate) = mpsc::channel::<()>();
        let look_up = move || Ok(gate.recv().is_ok());
        run(Deadlines::new(Duration::from_millis(20), Duration::MAX), |attempt| {
            attempt.set_progress(Progress::Resolving);
            let error = on_thread(attempt, look_up).expect_err("nothing was found");
            assert_eq!((error.kind(), attempt.is_expired()), (ErrorKind::TimedOut, true));
        });
        drop(release);
    }

    #[test]
    fn a_lookup_that_panics_is_an_error() {
        run(Deadlines::default(), |attempt| {
            let error = on_thread(attempt, || -> io::Result<()> { panic!("on purpose") });
            assert_eq!(error.expect_err("nothing was found").to_string(), "the lookup panicked");
            assert!(!attempt.is_expired());
        });
    }
}
