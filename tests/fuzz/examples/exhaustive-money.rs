//! Every amount of cents below a million, and as many random ones: `cargo xtask exhaustive-money`.

#![allow(clippy::print_stdout, reason = "the program reports its progress to the user")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Instant;

use payments_fuzz::money::{check_cents, check_random};

fn main() {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    each_part("cents below a million, 0.00 to 999999.99", threads, |from| check_cents(from..from + PART));
    each_part("random amounts: 18 digits, signs, exponents, texts", threads, |from| {
        let (seed, count) = (from.unsigned_abs(), PART.unsigned_abs());
        check_random(seed, count);
    });
    println!("every amount kept all its digits");
}

/// Divides the parts among the threads. If a thread panics, the program ends.
fn each_part(name: &str, threads: usize, check: impl Fn(i64) + Sync) {
    let started = Instant::now();
    let next = AtomicI64::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(PART, Ordering::Relaxed);
                    if from >= COUNT {
                        break;
                    }
                    check(from);
                }
            });
        }
    });
    println!("{COUNT} {name}: {:.0} s on {threads} threads", started.elapsed().as_secs_f64());
}

const COUNT: i64 = 100_000_000;
const PART: i64 = 100_000;
