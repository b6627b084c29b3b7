use std::fmt;

/// A secret with every bit inverted, so that searching for it does not put it into memory.
#[derive(Clone)]
pub struct Hidden(Vec<u8>);

impl Hidden {
    /// Inverts the bytes and overwrites the original with zeros.
    pub fn take(bytes: &mut [u8]) -> Self {
        let hidden = Self(bytes.iter().map(|byte| !byte).collect());
        bytes.fill(0);
        hidden
    }

    /// Takes bytes that are inverted already, for example from another process.
    pub fn from_inverted(inverted: Vec<u8>) -> Self {
        Self(inverted)
    }

    /// The inverted bytes.
    pub fn inverted(&self) -> &[u8] {
        &self.0
    }

    /// Appends the secret to a buffer with enough capacity. A buffer that grew would leave a copy in memory.
    ///
    /// # Panics
    ///
    /// If the capacity is too small.
    pub fn reveal_into(&self, buffer: &mut Vec<u8>) {
        assert!(buffer.capacity() - buffer.len() >= self.0.len(), "the buffer is too small");
        buffer.extend(self.0.iter().map(|byte| !byte));
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(inverted) = self;
        write!(f, "Hidden({} bytes)", inverted.len())
    }
}

/// Counts the copies of each secret in the process's writable memory.
///
/// # Panics
///
/// If the process cannot read its own memory.
#[cfg(target_os = "linux")]
pub fn copies_in_memory(secrets: &[Hidden]) -> Vec<usize> {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt as _;

    let memory = File::open("/proc/self/mem").expect("a process can read its own memory");
    let maps = fs::read_to_string("/proc/self/maps").expect("a process can list its own memory");
    let mut chunk = vec![0; CHUNK];
    // This buffer is skipped: reading its inverted bytes into itself would restore and count the secrets.
    let own = chunk.as_ptr().addr()..chunk.as_ptr().addr() + CHUNK;
    let longest = secrets.iter().map(|Hidden(inverted)| inverted.len()).max().unwrap_or(1);
    let mut copies = vec![0; secrets.len()];
    let writable =
        maps.lines().filter(|map| map.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw")));
    for map in writable {
        let (start, end) = map.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let [start, end] = [start, end]
            .map(|address| usize::from_str_radix(address, 16).expect("addresses are hexadecimal"));
        for part in [start..end.min(own.start), start.max(own.end)..end] {
            // Chunks overlap, so that a copy across a boundary is found. A copy that starts in the overlap counts once.
            for from in part.clone().step_by(CHUNK - longest) {
                let length = CHUNK.min(part.end - from);
                let chunk = &mut chunk[..length];
                // Some mappings, such as the kernel's clock, cannot be read.
                if memory.read_exact_at(chunk, from as u64).is_err() {
                    continue;
                }
                // Inverted at once, so that this copy is not counted.
                for byte in &mut *chunk {
                    *byte = !*byte;
                }
                for (Hidden(inverted), copies) in secrets.iter().zip(&mut copies) {
                    let first = chunk[..length.min(CHUNK - longest)].iter().enumerate();
                    let is_copy = |(at, byte): &(usize, &u8)| {
                        **byte == inverted[0] && chunk[*at..].starts_with(inverted)
                    };
                    *copies += first.filter(is_copy).count();
                }
            }
        }
    }
    copies
}

#[cfg(target_os = "linux")]
const CHUNK: usize = 1 << 20;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn copies_in_memory_are_counted_and_hidden_ones_are_not() {
        let hidden = Hidden::from_inverted((0..24).map(|index| !(b'a' + index * 7 % 26)).collect());
        assert_eq!(copies_in_memory(std::slice::from_ref(&hidden)), [0]);
        let mut kept = Vec::with_capacity(24);
        hidden.reveal_into(&mut kept);
        assert_eq!(copies_in_memory(std::slice::from_ref(&hidden)), [1]);
        let again = Hidden::take(&mut kept);
        assert_eq!(again.inverted(), hidden.inverted());
        assert_eq!(copies_in_memory(&[hidden, again]), [0, 0]);
    }
}
