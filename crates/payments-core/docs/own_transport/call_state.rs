use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use payments_core::TransportErrorKind;

/// State that a call shares with its thread: the socket, and whether the call has ended.
#[derive(Default)]
pub(crate) struct CallState {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    end_reason: Option<TransportErrorKind>,
    socket: Option<TcpStream>,
}

impl CallState {
    /// Allows the thread to write. After `Ok` the server may read the request; after an error nothing is written.
    pub(crate) fn begin_write(&self, socket: &TcpStream) -> Result<(), TransportErrorKind> {
        let mut state = self.state();
        if let Some(reason) = state.end_reason {
            return Err(reason);
        }
        state.socket = Some(socket.try_clone().map_err(|_| TransportErrorKind::Other)?);
        Ok(())
    }

    /// Ends the call. A thread that waits for the socket wakes up; a thread that has not yet written never will.
    pub(crate) fn end(&self, reason: TransportErrorKind) {
        let mut state = self.state();
        state.end_reason.get_or_insert(reason);
        if let Some(socket) = state.socket.take() {
            // Fails if the server has closed the connection already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Why the call has ended, if it has.
    pub(crate) fn end_reason(&self) -> Option<TransportErrorKind> {
        self.state().end_reason
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads from the socket until the call ends.
pub(crate) struct CallReader<'a> {
    pub(crate) socket: &'a TcpStream,
    pub(crate) call: &'a CallState,
}

impl io::Read for CallReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.read(buffer)?;
        // Our own shutdown looks like the end of the body, and it does not stop a server that floods.
        if self.call.end_reason().is_some() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(count)
    }
}
