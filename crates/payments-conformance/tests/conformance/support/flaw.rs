/// A mistake that real HTTP clients make, by default or when misconfigured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Retries when a connection closes before the response.
    RetriesClosedConnections,
    /// Retries when a reused connection closes before the response, as most clients do.
    RetriesOnReusedConnections,
    /// Reports a connection that closed before the response as not processed.
    ReportsLostAsNotProcessed,
    /// Reports an unreadable response as not processed.
    ReportsGarbageAsNotProcessed,
    FollowsRedirects,
    /// Waits more than two seconds longer than the deadline.
    IgnoresTheDeadline,
    /// Applies the total deadline to each read, so that every byte restarts it.
    RestartsDeadlineOnEachRead,
    /// Uses the connect deadline for every read too.
    UsesConnectDeadlineForReads,
    /// Applies the total deadline only to the response.
    WritesWithoutDeadline,
    /// Treats a deadline of zero as no deadline.
    TreatsZeroAsNoDeadline,
    /// Panics on a deadline that is too long for its clock.
    ClockOverflows,
    /// Keeps the connection of a failed call for the next.
    ReusesBrokenConnections,
    /// Keeps a connection although the server announced that it will close it.
    IgnoresConnectionClose,
    /// Makes the call on the thread that polls it.
    BlocksTheThread,
    /// Never keeps a connection.
    NeverReuses,
    /// Writes to an idle connection without checking it first.
    SkipsIdleCheck,
    /// Returns unread bytes on a connection as the next response.
    TreatsUnreadBytesAsResponse,
    /// Reuses any idle connection, whatever server it leads to.
    SharesConnectionsAcrossServers,
    /// Shows the request in the error about an unreadable response.
    PrintsTheBody,
    /// Shows the requests of idle connections in the transport's `Debug` output after many concurrent calls.
    PrintsTheKey,
    /// Returns an error for every 5xx response.
    TurnsStatusesIntoErrors,
    /// Uses the proxy in the environment.
    UsesEnvironmentProxy,
    /// Returns a truncated body as a whole response.
    AcceptsTruncatedBodies,
    /// Reports a truncated response as unknown, without its status.
    ForgetsTheStatus,
    IgnoresTheCap,
    /// Rejects a body exactly as long as the cap.
    CapIsExclusive,
    /// Uses the first of two lengths.
    TrustsTheFirstLength,
    /// Lets a chunk size overflow.
    ChunkSizesWrap,
    /// Leaves the chunked framing in the body.
    DoesNotDecodeChunks,
    /// Waits for the body whose length a 304 announces.
    WaitsForMissingBody,
    /// Keeps only one value of each header, and only text.
    DropsUnusualHeaders,
    /// Accepts a hundred headers, as many stacks do by default.
    LimitsHeadersToAHundred,
    /// Accepts a few hundred headers.
    LimitsHeadersToFiveHundred,
    /// Rejects headers that are folded over several lines.
    RejectsFoldedHeaders,
    /// Keeps only the first line of a folded header.
    CutsFoldedHeaders,
    /// Removes `Content-Encoding`.
    RemovesContentEncoding,
    /// Returns a 100 or 103 as the response.
    ReturnsInterimResponses,
    /// Stops checking the deadline after an interim response.
    IgnoresDeadlineAfterInterim,
    /// Checks the deadline only when there is nothing to read.
    ChecksDeadlineOnlyWhenIdle,
    /// Reads a head of any size.
    HasNoHeadLimit,
    /// Reserves memory for the announced length.
    ReservesAnnouncedLength,
    /// Expects the whole head in one read.
    ReadsHeadOnce,
    /// Sends the body in chunks.
    SendsChunked,
    /// Offers HTTP/2 in the TLS handshake, as clients with default features do.
    OffersHttp2,
    /// Decodes percent-encoding in the target.
    NormalizesTheTarget,
    /// Truncates a large body.
    TruncatesLargeBodies,
    /// Sends an empty chunked body with a lookup.
    SendsBodyWithLookups,
    AddsAcceptEncoding,
    /// Reports a refused connection as unknown.
    ReportsRefusedAsUnknown,
    /// Reports a name that does not resolve as unknown.
    ReportsUnresolvedAsUnknown,
    /// Continues a call after it was dropped.
    ContinuesAfterDrop,
    /// Retries up to twenty times.
    RetriesManyTimes,
    /// Mixes up responses after many calls.
    MixesUpResponses,
    /// Panics outside its runtime.
    PanicsOutsideRuntime,
    /// Accepts every certificate.
    TrustsAnyCertificate,
    /// Reports a failed handshake as unknown.
    ReportsFailedHandshakeAsUnknown,
    /// Does not apply the connect deadline to the TLS handshake.
    HandshakeWithoutDeadline,
    /// Treats a cut connection as the end of the body.
    TreatsCutAsEndOfBody,
    /// Falls back to plain HTTP when TLS fails.
    FallsBackToPlainHttp,
    /// Returns garbage as a response with status 200.
    ReturnsGarbageAsResponse,
    /// Finishes a timed-out handshake in the background and then sends the request.
    SendsAfterLateHandshake,
    /// Writes the rest of the request in the background after the deadline.
    WritesAfterDeadline,
    /// Ignores a drop while it connects.
    ConnectsAfterDrop,
    /// Reports a gateway's HTML error page as not processed.
    ReportsGatewayPageAsNotProcessed,
    /// Retries when a gateway closes with a temporary status.
    RetriesGatewayErrors,
    /// Treats a TLS alert as a failed handshake, whenever it arrives.
    ReportsAlertAsNotProcessed,
    /// Retries after a TLS record that cannot be decrypted.
    RetriesAfterBadRecord,
    /// Reports a connection that was cut before the response as not processed.
    ReportsCutAsNotProcessed,
    /// Treats a TLS alert as the end of the body.
    TreatsAlertAsEndOfBody,
    /// Sends the request as early data.
    UsesEarlyData,
    /// Follows redirects of a GET.
    FollowsRedirectsOfLookups,
    /// Retries a GET when the connection closes.
    RetriesLookups,
    /// Retries a GET after a temporary status.
    RetriesLookupsByStatus,
    /// Uses the alternative service in `Alt-Svc`.
    UsesAlternativeServices,
    /// Retries a lost request at the server's other address.
    RetriesAtNextAddress,
    /// Retries a request whose response broke off on a reused connection.
    RetriesTruncatedBodies,
    /// Has its own timeout of thirty seconds.
    GivesUpAfterThirtySeconds,
    /// Has 64 connections; the deadline does not cover waiting for one.
    WaitsForConnectionWithoutDeadline,
    /// Logs the head of each request with `log`.
    LogsTheHead,
    /// Logs the body of each request with `tracing`.
    TracesTheBody,
    /// Prints the body of a failed request to stderr, as bytes.
    PrintsOnStderr,
    /// Honors `SSLKEYLOGFILE`.
    LogsTheTlsKeys,
}

impl Flaw {
    pub(crate) fn is_of_tls(self) -> bool {
        matches!(
            self,
            Self::OffersHttp2
                | Self::TrustsAnyCertificate
                | Self::ReportsFailedHandshakeAsUnknown
                | Self::HandshakeWithoutDeadline
                | Self::TreatsCutAsEndOfBody
                | Self::FallsBackToPlainHttp
                | Self::SendsAfterLateHandshake
                | Self::ConnectsAfterDrop
                | Self::ReportsAlertAsNotProcessed
                | Self::RetriesAfterBadRecord
                | Self::ReportsCutAsNotProcessed
                | Self::TreatsAlertAsEndOfBody
                | Self::UsesEarlyData
                | Self::LogsTheTlsKeys
        )
    }
}
