use std::io;
use std::path::PathBuf;

use payments_fake::{Choices, FakeGateway, FakeGatewayBuilder};

use crate::wall_clock::WallClock;
use crate::{DataFile, Store};

/// A gateway to be made for a sandbox, with the computer's time and, if it is given a file, a memory that lasts.
pub(crate) struct FreshGateway {
    pub(crate) api_keys: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) choose: Vec<Choose>,
    pub(crate) ignores_unfired_faults: bool,
    pub(crate) data: Option<PathBuf>,
}

/// A change of the choices.
pub(crate) type Choose = Box<dyn FnOnce(&mut Choices) + Send>;

impl FreshGateway {
    /// The gateway with everything that its file has kept. It reads the file, which may take a while.
    pub(crate) fn build(self, clock: &WallClock) -> io::Result<(FakeGateway, Option<Store>)> {
        let Self { api_keys, seed, choose, ignores_unfired_faults, data } = self;
        let told = clock.clone();
        let mut builder = FakeGateway::builder()
            .wall_clock(move || told.now())
            .choices(|choices| choose.into_iter().for_each(|change| change(choices)));
        if ignores_unfired_faults {
            builder = builder.ignore_unfired_faults();
        }
        if let Some(path) = data {
            let file = DataFile::open(path, &api_keys).map_err(io::Error::other)?;
            let builder = builder.seed(seed_of_start(seed, file.starts()));
            let (gateway, store) = file.gateway(builder).map_err(io::Error::other)?;
            return Ok((gateway, Some(store)));
        }
        let mut keys = api_keys.into_iter();
        let first = keys.next().expect("a gateway has a key");
        let builder = keys.fold(builder.seed(seed).api_key(first), FakeGatewayBuilder::another_api_key);
        Ok((builder.build(), None))
    }
}

/// The seed itself at the first start with a file, and another number at each further one, which must not give its new
/// transactions the ids of those in the file.
fn seed_of_start(seed: u64, start: u64) -> u64 {
    // Odd, so that no two starts have the same; large, so that neighbouring seeds do not meet either.
    const STEP: u64 = 0xd134_2543_de82_ef95;
    seed.wrapping_add(start.saturating_sub(1).wrapping_mul(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_start_has_the_seed_itself_and_no_two_have_the_same() {
        assert_eq!(seed_of_start(7, 1), 7);
        let seeds: std::collections::HashSet<_> =
            (1..1000).flat_map(|start| [seed_of_start(7, start), seed_of_start(8, start)]).collect();
        assert_eq!(seeds.len(), 2 * 999);
    }
}
