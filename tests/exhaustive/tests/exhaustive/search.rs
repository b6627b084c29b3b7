//! A breadth-first search of every reachable state. It stops at the first broken rule, so the trace is as short as possible.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::{Duration, Instant};

use crate::model::{Model, Reply, Step};
use crate::rules::Broken;
use crate::state::State;
use crate::trace;

/// The figures of a search that found no broken rule.
#[derive(Debug)]
#[expect(dead_code, reason = "for `Debug`, which is how a test prints it")]
pub(crate) struct SearchStats {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// Steps to the state farthest from the start. This is not a limit: the search ended because there was no new state.
    pub(crate) depth: usize,
    pub(crate) took: Duration,
}

/// All reached states, in order.
struct Reached<const K: usize, const S: usize> {
    states: Vec<State<K, S>>,
    numbers: QuickMap<State<K, S>, u32>,
    /// The state from which each was reached first, and the number of steps.
    parents: Vec<(u32, u32)>,
    /// Pairs (to, from) of the steps that need no fault and no new call.
    edges: Vec<(u32, u32)>,
}

/// Searches every state, or returns the trace of the first broken rule.
pub(crate) fn search<const K: usize, const S: usize>(
    model: &Model<K, S>,
) -> Result<SearchStats, (Broken, String)> {
    let began = Instant::now();
    let start = Model::<K, S>::start();
    let mut reached = Reached {
        states: vec![start],
        numbers: QuickMap::from_iter([(start, 0)]),
        parents: vec![(0, 0)],
        edges: vec![],
    };
    let (mut steps, mut at) = (0, 0);
    while at < reached.states.len() {
        let state = reached.states[at];
        let from = number(at);
        for (step, next) in model.steps(state) {
            let next = match next {
                Ok(next) => next.canonical(),
                Err(rule) => return Err((rule, trace::describe(model, &reached.path_to(from), rule))),
            };
            steps += 1;
            let to = reached.number_of(next, from);
            if is_regular(&state, step) {
                reached.edges.push((to, from));
            }
        }
        at += 1;
    }
    if let Some(stuck) = reached.first_without_an_end(|state| model.is_over(state)) {
        let rule = Broken::Stuck;
        return Err((rule, trace::describe(model, &reached.path_to(stuck), rule)));
    }
    let depth = reached.parents.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
    Ok(SearchStats { states: reached.states.len(), steps, depth: depth as usize, took: began.elapsed() })
}

impl<const K: usize, const S: usize> Reached<K, S> {
    fn number_of(&mut self, state: State<K, S>, from: u32) -> u32 {
        *self.numbers.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.parents.push((from, self.parents[from as usize].1 + 1));
            number(self.states.len() - 1)
        })
    }

    fn path_to(&self, last: u32) -> Vec<State<K, S>> {
        let mut path = vec![self.states[last as usize]];
        let mut at = last;
        while at != 0 {
            at = self.parents[at as usize].0;
            path.push(self.states[at as usize]);
        }
        path.reverse();
        path
    }

    /// Goes backwards from every state that is over, and returns the first state that this does not reach.
    fn first_without_an_end(&mut self, is_over: impl Fn(&State<K, S>) -> bool) -> Option<u32> {
        // With this closure, the sort is compiled for this crate, and optimized. Another one is taken from a crate that is not.
        self.edges.sort_unstable_by_key(|(to, from)| (*to, *from));
        let mut has_end: Vec<bool> = self.states.iter().map(is_over).collect();
        let mut open: Vec<u32> =
            (0..).zip(&has_end).filter(|(_, is_over)| **is_over).map(|(at, _)| at).collect();
        while let Some(at) = open.pop() {
            let first = self.edges.partition_point(|(to, _)| *to < at);
            for (_, from) in self.edges[first..].iter().take_while(|(to, _)| *to == at) {
                if !std::mem::replace(&mut has_end[*from as usize], true) {
                    open.push(*from);
                }
            }
        }
        (0..).zip(has_end).find(|(_, has_end)| !has_end).map(|(at, _)| at)
    }
}

/// Whether a step needs neither a fault nor a new call. By such steps alone every state must reach an end. Writing an end that
/// was kept is one of them: it assumes that the process settles.
fn is_regular<const K: usize, const S: usize>(state: &State<K, S>, step: Step) -> bool {
    match step {
        Step::End { reply, .. } => reply == Reply::Arrives,
        Step::ConsiderDead { key, .. } => !state.is_sender_alive(key),
        Step::Begin { .. } | Step::Crash { .. } | Step::Purge { .. } => false,
        _ => true,
    }
}

fn number(position: usize) -> u32 {
    u32::try_from(position).expect("fewer states than that")
}

/// With a hash that is fast in a debug build. No attacker chooses the states.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

#[derive(Default)]
pub(crate) struct Quick(u64);

impl Quick {
    fn add(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    fn write_isize(&mut self, number: isize) {
        self.add(number.unsigned_abs() as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
