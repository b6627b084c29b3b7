/// One mistake. Each is one that a real client makes, by default or in the hands of a tired person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A connection that ends before the answer is taken for one that never worked, and the request sent again.
    SendsAgainWhenClosed,
    /// The same, but on a reused connection alone, which is what most clients do.
    SendsAgainWhenReused,
    /// An answer that never came is called "not processed".
    CallsLostUnsent,
    /// What cannot be read is "not processed".
    CallsGarbageUnsent,
    FollowsRedirects,
    /// Waits three seconds longer than it may.
    IgnoresTheDeadline,
    /// The deadline is for each read, so that every byte starts it anew.
    DeadlineForEachRead,
    /// The connect deadline is also that of every read.
    ConnectDeadlineForReads,
    /// The total deadline covers the answer alone.
    WritesWithoutDeadline,
    /// Zero is no deadline.
    ZeroIsForever,
    /// Adds deadlines as the clock counts, and panics beyond its range.
    ClockOverflows,
    /// The connection of a call that failed is kept for the next.
    ReusesBrokenConnections,
    /// A connection is kept although its server announced to close it.
    IgnoresConnectionClose,
    /// Makes the call on the thread that polls it.
    BlocksTheThread,
    /// Never keeps a connection.
    NeverReuses,
    /// Writes into an idle connection without a look at it.
    DoesNotLook,
    /// Takes what stands unread on a connection for the next answer.
    TakesWhatIsThere,
    /// Any idle connection will do, wherever it leads.
    SharesConnections,
    /// The error about an answer that cannot be read shows the request.
    PrintsTheBody,
    /// The transport's Debug shows the requests of its connections, once many calls were made at once.
    PrintsTheKey,
    /// A 5xx is an error.
    TurnsStatusesIntoErrors,
    /// Goes to the proxy that the environment names.
    HonoursTheProxy,
    /// A body that ends early is whole.
    TakesHalfForWhole,
    /// An answer that broke off is "unknown", and its status forgotten.
    ForgetsTheStatus,
    IgnoresTheCap,
    /// A body as long as the cap is over it.
    CapIsExclusive,
    /// The first of two lengths is right.
    BelievesTheFirstLength,
    /// The chunk's size wraps around.
    ChunkSizesWrap,
    /// Chunked framing is part of the body.
    DoesNotDecodeChunks,
    /// Waits for a body that 304 announces.
    WaitsForNoBody,
    /// Keeps one value of each header, and only text.
    SimplifiesHeaders,
    /// Hides `Content-Encoding`.
    HidesTheEncoding,
    /// Takes 100 or 103 for the answer.
    TakesInterimForFinal,
    /// Reads interim answers without a look at the clock.
    ReadsInterimForever,
    /// Looks at the clock only when there is nothing to read.
    StarvesTheClock,
    /// A head of any size is read.
    ReadsAnyHead,
    /// Reserves the memory that an answer announces.
    ReservesWhatIsAnnounced,
    /// Reads each answer in one go.
    ReadsOnce,
    /// Sends the body in chunks.
    SendsChunked,
    /// Decodes what is encoded in the target.
    NormalisesTheTarget,
    /// Cuts a large body.
    CutsLargeBodies,
    /// Sends an empty body with a look-up, in chunks.
    SendsABodyWithGet,
    AddsAcceptEncoding,
    /// Nobody there is "unknown".
    CallsRefusedUnknown,
    /// No such name is "unknown".
    CallsUnresolvedUnknown,
    /// A dropped call runs on.
    GoesOnAfterTheDrop,
    /// Connects again and again.
    NeverGivesUp,
    /// Mixes up answers when there are many calls.
    MixesUpAnswers,
    /// Panics outside of its runtime.
    NeedsItsThread,
    /// Takes every certificate.
    TrustsAnybody,
    /// A failed handshake is "unknown".
    CallsHandshakesUnknown,
    /// The connect deadline leaves out TLS.
    HandshakeWithoutDeadline,
    /// A line that is cut is the end of the body.
    TakesACutForTheEnd,
    /// Where TLS fails, plain HTTP may work.
    FallsBackToPlain,
    /// Garbage is an answer of status 200.
    TakesGarbageForAnAnswer,
    /// A handshake that took too long goes on in the background, and the request after it.
    FinishesTheHandshakeLater,
    /// A drop is seen by a call that waits for its answer, and not by one that connects.
    ConnectsOnAfterTheDrop,
    /// An error page in HTML is "nobody there".
    TakesAPageForNobody,
    /// A gateway that closes with a temporary status is asked again.
    AsksTheGatewayAgain,
    /// A TLS alert is a failed handshake, whenever it comes.
    CallsAlertsUnsent,
    /// A record that cannot be decrypted is a broken connection, and the next will work.
    SendsAgainAfterABadRecord,
    /// A line that is cut before the answer was dead before the request.
    CallsCutsUnsent,
    /// An alert is the end of the body.
    TakesAnAlertForTheEnd,
    /// Saves a round trip.
    UsesEarlyData,
    /// A GET may go anywhere.
    FollowsRedirectsOfLookups,
    /// A GET may be repeated.
    RepeatsLookups,
    /// The status says that a GET may be repeated.
    RepeatsLookupsByStatus,
    /// Goes where `Alt-Svc` says.
    UsesAlternativeServices,
    /// The request was lost at one address, and there is another.
    TriesTheNextAddress,
    /// Whatever fails on a reused connection is sent again.
    SendsAgainWhenABodyBreaks,
    /// No server needs more than thirty seconds.
    GivesUpAfterThirtySeconds,
    /// Has 64 connections, and a call waits for one as long as it takes.
    WaitsForAConnection,
    /// Logs the head of each request with `log`.
    LogsTheHead,
    /// Records the body of each request with `tracing`.
    TracesTheBody,
    /// Prints the body of a request that failed, as bytes.
    PrintsOnStderr,
    /// Honours `SSLKEYLOGFILE`.
    LogsTheTlsKeys,
}

impl Flaw {
    pub(crate) fn is_of_tls(self) -> bool {
        matches!(
            self,
            Self::TrustsAnybody
                | Self::CallsHandshakesUnknown
                | Self::HandshakeWithoutDeadline
                | Self::TakesACutForTheEnd
                | Self::FallsBackToPlain
                | Self::FinishesTheHandshakeLater
                | Self::ConnectsOnAfterTheDrop
                | Self::CallsAlertsUnsent
                | Self::SendsAgainAfterABadRecord
                | Self::CallsCutsUnsent
                | Self::TakesAnAlertForTheEnd
                | Self::UsesEarlyData
                | Self::LogsTheTlsKeys
        )
    }
}
