//! Results for people.

use std::io::{self, Write};

use afterstate_arena::{Rate, Summary, Until, grouped};

/// One block for each summary.
pub fn show(out: &mut dyn Write, summaries: &[Summary]) -> io::Result<()> {
    for summary in summaries {
        block(out, summary)?;
    }
    Ok(())
}

fn block(out: &mut dyn Write, s: &Summary) -> io::Result<()> {
    writeln!(out, "{}", s.agent)?;
    let games = if s.games == 1 { "1 game".to_owned() } else { format!("{} games", grouped(s.games as f64)) };
    writeln!(out, "  {games} on {}, seed {}, fingerprint {}", s.size, s.seed, s.fingerprint)?;
    if let Some(Until { sum, reached }) = &s.until {
        let [low, high] = reached.ci95.map(|end| 100.0 * end);
        writeln!(out, "  {:.2}% came to a sum of {sum} (95%: {low:.2} to {high:.2})", 100.0 * reached.rate)?;
    } else if s.unfinished > 0 {
        writeln!(out, "  {} of them were ended by the move limit", grouped(s.unfinished as f64))?;
    }
    for (name, spread) in [("score", &s.score), ("moves", &s.moves)] {
        let interval = spread
            .ci95
            .map_or_else(String::new, |[low, high]| format!(" (95%: {} to {})", grouped(low), grouped(high)));
        writeln!(
            out,
            "  {name}  mean {}{interval}, sd {}, median {}, min {}, max {}",
            grouped(spread.mean),
            grouped(spread.sd),
            grouped(spread.median),
            grouped(spread.min as f64),
            grouped(spread.max as f64)
        )?;
    }
    if let Some(distance) = &s.optimal {
        writeln!(out, "  {distance}")?;
    }
    for (tile, rate) in telling(s) {
        let [low, high] = rate.ci95;
        writeln!(out, "  {tile:>6}  {:>6.2}%  (95%: {:.2} to {:.2})", 100.0 * rate.rate, 100.0 * low, 100.0 * high)?;
    }
    writeln!(out, "  {} moves/s a thread\n", grouped(s.timing.moves_per_second))
}

/// The tiles that tell something: from the largest that every game reached to the largest that any did.
fn telling(s: &Summary) -> impl Iterator<Item = (u64, &Rate)> {
    let certain = s.reach.iter().filter(|(_, rate)| rate.rate >= 1.0).map(|(tile, _)| *tile).max().unwrap_or(0);
    s.reach.iter().filter(move |(tile, rate)| **tile >= certain && rate.rate > 0.0).map(|(tile, rate)| (*tile, rate))
}
