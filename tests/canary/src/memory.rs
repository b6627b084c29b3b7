use std::fmt;

/// A secret with every bit turned, so that to look for it does not put it into memory.
#[derive(Clone)]
pub struct Hidden(Vec<u8>);

impl Hidden {
    /// Turns the bits of what is already turned or of what is not, which is overwritten.
    pub fn turning(bytes: &mut [u8]) -> Self {
        let hidden = Self(bytes.iter().map(|byte| !byte).collect());
        bytes.fill(0);
        hidden
    }

    /// From bytes that are turned already, as one process hands them to another.
    pub fn from_turned(turned: Vec<u8>) -> Self {
        Self(turned)
    }

    /// The bytes, still turned.
    pub fn turned(&self) -> &[u8] {
        &self.0
    }

    /// Writes the secret itself to the end of a buffer that has room for it: one that grew would leave a copy behind.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn reveal_into(&self, buffer: &mut Vec<u8>) {
        assert!(buffer.capacity() - buffer.len() >= self.0.len(), "the buffer has no room left");
        buffer.extend(self.0.iter().map(|byte| !byte));
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(turned) = self;
        write!(f, "Hidden({} bytes)", turned.len())
    }
}

/// How often each is in all memory that this process can write to.
///
/// # Panics
///
/// If the process cannot look into its own memory.
#[cfg(target_os = "linux")]
pub fn copies_in_memory(secrets: &[Hidden]) -> Vec<usize> {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt as _;

    let memory = File::open("/proc/self/mem").expect("a process can read its own memory");
    let maps = fs::read_to_string("/proc/self/maps").expect("a process can list its own memory");
    let mut piece = vec![0; PIECE];
    // Not this buffer itself: what was turned in it would be turned back, and counted.
    let own = piece.as_ptr().addr()..piece.as_ptr().addr() + PIECE;
    let longest = secrets.iter().map(|Hidden(turned)| turned.len()).max().unwrap_or(1);
    let mut copies = vec![0; secrets.len()];
    let writable =
        maps.lines().filter(|map| map.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw")));
    for map in writable {
        let (start, end) = map.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let [start, end] = [start, end]
            .map(|address| usize::from_str_radix(address, 16).expect("addresses are hexadecimal"));
        for part in [start..end.min(own.start), start.max(own.end)..end] {
            // Pieces overlap, but for what would be counted twice.
            for from in part.clone().step_by(PIECE - longest) {
                let length = PIECE.min(part.end - from);
                let piece = &mut piece[..length];
                // Some, such as that of the kernel's clock, cannot be read.
                if memory.read_exact_at(piece, from as u64).is_err() {
                    continue;
                }
                // Turned at once, so that this copy is not counted as one that was left.
                for byte in &mut *piece {
                    *byte = !*byte;
                }
                for (Hidden(turned), copies) in secrets.iter().zip(&mut copies) {
                    let first = piece[..length.min(PIECE - longest)].iter().enumerate();
                    let is_copy =
                        |(at, byte): &(usize, &u8)| **byte == turned[0] && piece[*at..].starts_with(turned);
                    *copies += first.filter(is_copy).count();
                }
            }
        }
    }
    copies
}

#[cfg(target_os = "linux")]
const PIECE: usize = 1 << 20;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_memory_is_counted_and_what_is_hidden_is_not() {
        let hidden = Hidden::from_turned((0..24).map(|index| !(b'a' + index * 7 % 26)).collect());
        assert_eq!(copies_in_memory(std::slice::from_ref(&hidden)), [0]);
        let mut kept = Vec::with_capacity(24);
        hidden.reveal_into(&mut kept);
        assert_eq!(copies_in_memory(std::slice::from_ref(&hidden)), [1]);
        let again = Hidden::turning(&mut kept);
        assert_eq!(again.turned(), hidden.turned());
        assert_eq!(copies_in_memory(&[hidden, again]), [0, 0]);
    }
}
