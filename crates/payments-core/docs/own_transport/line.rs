use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use payments_core::TransportErrorKind;

/// What a call and its thread share: the socket, and whether the call is over.
#[derive(Default)]
pub(crate) struct Line {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    over: Option<TransportErrorKind>,
    socket: Option<TcpStream>,
}

impl Line {
    /// Asks for leave to write. Whoever has it may have been heard by the server; whoever is refused was not.
    pub(crate) fn take(&self, socket: &TcpStream) -> Result<(), TransportErrorKind> {
        let mut state = self.state();
        if let Some(why) = state.over {
            return Err(why);
        }
        state.socket = Some(socket.try_clone().map_err(|_| TransportErrorKind::Other)?);
        Ok(())
    }

    /// Ends the call: a thread that waits for the socket goes on, one that has not yet written never will.
    pub(crate) fn cut(&self, why: TransportErrorKind) {
        let mut state = self.state();
        state.over.get_or_insert(why);
        if let Some(socket) = state.socket.take() {
            // It fails if the server was faster, and then there is nothing left to end.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Why the call is over, if it is.
    pub(crate) fn why(&self) -> Option<TransportErrorKind> {
        self.state().over
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that is read as long as its call lasts.
pub(crate) struct Wire<'a> {
    pub(crate) socket: &'a TcpStream,
    pub(crate) line: &'a Line,
}

impl io::Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.read(buffer)?;
        // Our own cut looks like the server's end of the body, and a server that floods is never cut off by it.
        if self.line.why().is_some() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(count)
    }
}
