//! Every kind of fault that the fake can show.

use std::num::NonZeroUsize;
use std::time::Duration;

use http::StatusCode;
use payments_fake::FaultKind;

/// Of the kinds with a size one for each place that it can fall in, of those with a status one for each class of it.
pub(crate) fn every_kind() -> Vec<FaultKind> {
    let piece = NonZeroUsize::new(200).unwrap();
    let mut kinds = vec![
        FaultKind::Refuse,
        FaultKind::Close,
        FaultKind::Reset,
        FaultKind::Stall,
        FaultKind::Drip { bytes: piece, every: Duration::from_millis(1) },
        FaultKind::Truncate { bytes: 0 },
        FaultKind::Truncate { bytes: 70 },
        FaultKind::Garbage,
        FaultKind::Html { status: StatusCode::BAD_GATEWAY },
        FaultKind::Delay { by: Duration::from_millis(1) },
        FaultKind::WrongShape,
    ];
    let statuses =
        [StatusCode::TOO_MANY_REQUESTS, StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE];
    kinds.extend(statuses.map(|status| FaultKind::Status { status }));
    kinds
}
