use std::fmt;

use crate::{Abilities, Ability};

/// The scheme and protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
    /// `https` with a server that speaks only HTTP/2.
    Http2,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Http2 => "HTTP/2",
        })
    }
}

/// The schemes to check. HTTP/2 is offered only over TLS. Without sockets all schemes are the same.
pub(crate) fn schemes(abilities: &Abilities, needs: &[Ability]) -> Vec<Scheme> {
    if abilities.missing(Ability::Sockets).is_some() {
        return vec![Scheme::Http];
    }
    let speaks = |ability| abilities.missing(ability).is_none();
    let needs = |ability| needs.contains(&ability);
    // A contract that needs sockets but not HTTP/2 scripts its server byte by byte in HTTP/1.1.
    let allows_http2 = needs(Ability::Http2) || !needs(Ability::Sockets);
    let schemes = [
        (Scheme::Http, speaks(Ability::PlainHttp) && !needs(Ability::Https) && !needs(Ability::Http2)),
        (Scheme::Https, speaks(Ability::Https) && !needs(Ability::Http2)),
        (Scheme::Http2, speaks(Ability::Https) && speaks(Ability::Http2) && allows_http2),
    ];
    schemes.into_iter().filter_map(|(scheme, applies)| applies.then_some(scheme)).collect()
}
