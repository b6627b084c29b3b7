use bytes::{Bytes, BytesMut};

/// An answer's body as it arrives, never longer than the cap.
pub(crate) struct CappedBody {
    cap: usize,
    /// Most answers come in one piece, which is kept as it is and never copied.
    first: Bytes,
    all: Option<BytesMut>,
}

/// More arrived than the cap allows. What fits was kept.
pub(crate) struct OverCap;

impl CappedBody {
    pub(crate) fn new(cap: usize) -> Self {
        Self { cap, first: Bytes::new(), all: None }
    }

    pub(crate) fn push(&mut self, mut piece: Bytes) -> Result<(), OverCap> {
        let room = self.cap - self.all.as_ref().map_or(self.first.len(), BytesMut::len);
        let over = piece.len() > room;
        piece.truncate(room);
        if let Some(all) = &mut self.all {
            all.extend_from_slice(&piece);
        } else if self.first.is_empty() {
            self.first = piece;
        } else {
            let mut all = BytesMut::with_capacity(self.first.len() + piece.len());
            all.extend_from_slice(&self.first);
            all.extend_from_slice(&piece);
            self.all = Some(all);
        }
        if over { Err(OverCap) } else { Ok(()) }
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.all.map_or(self.first, BytesMut::freeze)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(cap: usize, pieces: &[&'static str]) -> (Bytes, bool) {
        let mut body = CappedBody::new(cap);
        let over = pieces.iter().any(|piece| body.push(Bytes::from_static(piece.as_bytes())).is_err());
        (body.into_bytes(), over)
    }

    #[test]
    fn pieces_are_joined_in_order() {
        assert_eq!(collect(100, &["ab", "", "c", "def"]), (Bytes::from_static(b"abcdef"), false));
    }

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 32]);
        let address = piece.as_ptr();
        let mut body = CappedBody::new(32);
        assert!(body.push(piece).is_ok());
        assert_eq!(body.into_bytes().as_ptr(), address);
    }

    #[test]
    fn d65_a_body_as_long_as_the_cap_is_whole() {
        assert_eq!(collect(4, &["ab", "cd"]), (Bytes::from_static(b"abcd"), false));
    }

    #[test]
    fn d65_one_byte_more_is_over_and_what_fits_is_kept() {
        assert_eq!(collect(4, &["ab", "cde"]), (Bytes::from_static(b"abcd"), true));
        assert_eq!(collect(0, &["a"]), (Bytes::new(), true));
    }
}
