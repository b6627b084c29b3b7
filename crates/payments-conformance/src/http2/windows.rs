use std::collections::HashMap;

/// How much the client is willing to take, on each stream and in all.
pub(super) struct Windows {
    connection: i64,
    initial: i64,
    streams: HashMap<u32, i64>,
}

impl Default for Windows {
    fn default() -> Self {
        Self { connection: DEFAULT, initial: DEFAULT, streams: HashMap::new() }
    }
}

impl Windows {
    pub(super) fn room(&self, stream: u32) -> usize {
        let stream = self.streams.get(&stream).copied().unwrap_or(self.initial);
        usize::try_from(stream.min(self.connection)).unwrap_or(0)
    }

    pub(super) fn spend(&mut self, stream: u32, bytes: usize) {
        let bytes = i64::try_from(bytes).expect("no frame is so large");
        self.connection -= bytes;
        *self.stream(stream) -= bytes;
    }

    pub(super) fn widen(&mut self, stream: u32, bytes: u32) {
        let window = if stream == 0 { &mut self.connection } else { self.stream(stream) };
        *window += i64::from(bytes);
    }

    /// Changes the window of every stream, those included that are open.
    pub(super) fn set_initial(&mut self, bytes: u32) {
        let change = i64::from(bytes) - self.initial;
        self.initial += change;
        self.streams.values_mut().for_each(|window| *window += change);
    }

    fn stream(&mut self, stream: u32) -> &mut i64 {
        self.streams.entry(stream).or_insert(self.initial)
    }
}

/// RFC 9113 §6.9.2.
const DEFAULT: i64 = 65_535;
