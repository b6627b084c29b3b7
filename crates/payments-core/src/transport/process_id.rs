use std::fs::read;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::id;

/// Identifies a process, so that a forked one notices that it has none of its parent's threads and locks, and must not use its
/// connections.
///
/// The number of a process is not enough: a descendant can have that of an ancestor, in a PID namespace of its own or once the
/// ancestor has ended. Where there is a `/proc`, the identity has the time of the start too, in hundredths of a second. Elsewhere it is
/// the number alone.
#[derive(Clone, Copy, Debug)]
pub struct ProcessId(
    /// The number, then 32 bits for the start: 0 if it is not known.
    u64,
);

impl ProcessId {
    /// The process that runs now. This reads a file in `/proc`, which takes about 3 µs.
    pub fn current() -> Self {
        // The name of the program may be cut within a character.
        let stat = read("/proc/self/stat").ok();
        Self::new(id(), stat.as_deref().map(String::from_utf8_lossy).as_deref())
    }

    /// Whether this process runs now.
    pub fn is_current(self) -> bool {
        self.has_current_number() && self.is(Self::current())
    }

    /// Whether a process with this number runs now: without a file, and enough for most.
    pub(super) fn has_current_number(self) -> bool {
        self.number() == u64::from(Self::current_number())
    }

    pub(crate) fn current_number() -> u32 {
        id()
    }

    /// For an atomic. It is never 0.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// From [`to_bits`](Self::to_bits).
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether both are the same process. It may lose its access to `/proc` while it runs.
    pub(super) const fn is(self, other: Self) -> bool {
        let (start, other_start) = (self.0 & START, other.0 & START);
        self.number() == other.number() && (start == other_start || start == 0 || other_start == 0)
    }

    const fn number(self) -> u64 {
        self.0 >> 32
    }

    fn new(number: u32, stat: Option<&str>) -> Self {
        Self(u64::from(number) << 32 | stat.and_then(start).unwrap_or_default())
    }
}

const START: u64 = 0xffff_ffff;

/// From `stat`: when the process started, in hundredths of a second, and its number in the namespace of `/proc`, which can be that of
/// an ancestor. Not zero.
fn start(stat: &str) -> Option<u64> {
    // The name of the program can contain anything.
    let (number, _) = stat.split_once(' ')?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    let mut hasher = DefaultHasher::new();
    (number, after_name.split(' ').nth(19)?).hash(&mut hasher);
    Some((hasher.finish() & START).max(1))
}

#[cfg(test)]
mod tests {
    use std::fs::write;

    use super::*;

    const STAT: &str = "41 (a) b) S 1 41 41 0 -1 4194560 90 0 0 0 0 0 0 0 20 0 1 0 7001 3 4 5";

    #[test]
    fn a_process_is_told_from_an_ancestor_with_its_number_d51() {
        let id = |number, stat: Option<&str>| ProcessId::new(number, stat);
        let parent = id(1, Some(STAT));
        for (what, other, is_same) in [
            ("what changes while a process runs", id(1, Some(&STAT.replace("S 1 41", "R 0 42"))), true),
            ("started later", id(1, Some(&STAT.replace("7001", "7002"))), false),
            ("in an inner namespace", id(1, Some(&STAT.replacen("41", "45", 1))), false),
            ("another number", id(2, Some(STAT)), false),
            ("no /proc any more", id(1, None), true),
            ("another number without /proc", id(2, None), false),
            ("an unreadable /proc", id(1, Some("41 (a")), true),
        ] {
            assert_eq!((parent.is(other), other.is(parent)), (is_same, is_same), "{what}");
        }
        assert!(ProcessId::from_bits(ProcessId::current().to_bits()).is_current());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_start_of_this_process_is_known_whatever_its_name() {
        let name = read("/proc/self/comm").unwrap();
        // The kernel cuts a name behind 15 bytes, maybe within a character.
        for name in [&b"\xff) 1 (\xc3"[..], &name] {
            write("/proc/self/comm", name).unwrap();
            assert_ne!(ProcessId::current().0 & START, 0, "{name:?}");
        }
    }
}
