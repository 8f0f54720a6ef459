//! Reading runs on threads, handed on in their order.

use std::sync::mpsc::sync_channel;

use crate::error::Error;

/// The runs that a thread reads before it hands them on: one by one, the hand-over costs more than the reading.
const PIECE: u64 = 16;

/// Calls `read` with the numbers below `runs`, on threads, and `take` with each result, on this one and in order. Each
/// thread is at most two pieces ahead, so that memory does not grow with the number of runs.
///
/// # Errors
/// The first that `take` returns; the rest is not read.
pub(super) fn in_order<T: Send>(
    runs: u64,
    threads: Option<usize>,
    read: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(u64, T) -> Result<(), Error>,
) -> Result<(), Error> {
    let pieces = runs.div_ceil(PIECE);
    let threads = (super::or_all(threads) as u64).clamp(1, pieces.max(1));
    let of_piece = |piece: u64| piece * PIECE..runs.min((piece + 1) * PIECE);
    std::thread::scope(|scope| {
        let start = |first: u64| {
            let (send, receive) = sync_channel(1);
            let read = &read;
            scope.spawn(move || {
                for piece in (first..pieces).step_by(threads as usize) {
                    // The receiver is dropped after an error.
                    if send.send(of_piece(piece).map(read).collect::<Vec<T>>()).is_err() {
                        break;
                    }
                }
            });
            receive
        };
        let readers: Vec<_> = (0..threads).map(start).collect();
        for piece in 0..pieces {
            // A thread has panicked, and the scope propagates that.
            let Ok(results) = readers[(piece % threads) as usize].recv() else { break };
            of_piece(piece).zip(results).try_for_each(|(run, result)| take(run, result))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_runs() {
        for (runs, threads) in [(0, 3), (1, 3), (15, 2), (16, 2), (1000, 1), (1000, 7)] {
            let mut taken = Vec::new();
            in_order(
                runs,
                Some(threads),
                |run| run * 2,
                |run, twice| {
                    taken.push((run, twice));
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(taken, (0..runs).map(|run| (run, run * 2)).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    /// Threads that are blocked with a full queue end, too.
    #[test]
    fn an_error_ends_the_reading() {
        let refused = in_order(
            10_000,
            Some(3),
            |run| run,
            |run, _| match run {
                100 => Err(Error::Stopped),
                _ => Ok(()),
            },
        );
        assert!(matches!(refused, Err(Error::Stopped)));
    }
}
