//! Lines that somebody types: read by one thread, one when it is wanted, for whoever waits for the next one.
//!
//! A line that is not waited for any longer, as after Ctrl-C, is not lost: whoever asks next gets it.

use std::io::{self, BufRead, Read};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::sync::{Semaphore, mpsc};

/// Bytes of one line: twice the longest question.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Somewhere that lines come from.
pub(crate) struct Input {
    want: mpsc::Sender<()>,
    /// One at a time waits for a line.
    turn: Semaphore,
    /// With whoever waits; none only then.
    lines: Mutex<Option<Lines>>,
}

struct Lines {
    come: mpsc::Receiver<io::Result<Vec<u8>>>,
    /// A line was wanted that has not come yet.
    is_wanted: bool,
}

impl Input {
    /// Standard input, the same one for everybody in this process. Its thread is not waited for at the end.
    pub(crate) fn standard() -> io::Result<&'static Self> {
        static STANDARD: OnceLock<Input> = OnceLock::new();
        if let Some(input) = STANDARD.get() {
            return Ok(input);
        }
        let started = Self::start(|| {
            let mut line = Vec::new();
            let input = io::stdin().lock();
            input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map(|_| line)
        })?;
        Ok(STANDARD.get_or_init(|| started))
    }

    fn start(mut read: impl FnMut() -> io::Result<Vec<u8>> + Send + 'static) -> io::Result<Self> {
        let (tell, come) = mpsc::channel(1);
        let (want, mut wanted) = mpsc::channel(1);
        let reading = move || {
            while wanted.blocking_recv().is_some() {
                let line = read();
                let is_end = line.as_ref().map_or(true, Vec::is_empty);
                if tell.blocking_send(line).is_err() || is_end {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("standard-input".to_owned()).spawn(reading)?;
        let lines = Mutex::new(Some(Lines { come, is_wanted: false }));
        Ok(Self { want, turn: Semaphore::new(1), lines })
    }

    /// The next line with its end; none when there is no more. Dropping the future leaves the line to the next who asks.
    pub(crate) async fn next(&self) -> io::Result<Option<Vec<u8>>> {
        let _turn = self.turn.acquire().await.map_err(io::Error::other)?;
        let lent = self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut borrowed = Borrowed { input: self, lines: lent };
        let Some(lines) = &mut borrowed.lines else { return Ok(None) };
        if !lines.is_wanted && self.want.send(()).await.is_err() {
            return Ok(None);
        }
        lines.is_wanted = true;
        let line = lines.come.recv().await;
        lines.is_wanted = false;
        line.transpose().map(|line| line.filter(|line| !line.is_empty()))
    }
}

/// Gives the lines back, however the waiting ends.
struct Borrowed<'a> {
    input: &'a Input,
    lines: Option<Lines>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        *self.input.lines.lock().unwrap_or_else(PoisonError::into_inner) = self.lines.take();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};
    use std::os::unix::net::UnixStream;

    use futures_util::FutureExt;

    use super::*;

    fn typed() -> (Input, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        let mut there = BufReader::new(there);
        let read = move || {
            let mut line = Vec::new();
            there.read_until(b'\n', &mut line).map(|_| line)
        };
        (Input::start(read).unwrap(), here)
    }

    #[tokio::test]
    async fn lines_come_one_after_the_other_until_the_end() {
        let (input, mut keys) = typed();
        keys.write_all("하나\ntwo".as_bytes()).unwrap();
        drop(keys);
        assert_eq!(input.next().await.unwrap().unwrap(), "하나\n".as_bytes());
        assert_eq!(input.next().await.unwrap().unwrap(), b"two");
        assert_eq!(input.next().await.unwrap(), None);
        assert_eq!(input.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_line_that_nobody_waits_for_any_more_is_for_the_next_who_asks() {
        let (input, mut keys) = typed();
        for _ in 0..3 {
            // Asked, and given up before anything was typed.
            assert!(input.next().now_or_never().is_none());
        }
        keys.write_all(b"the next question\n").unwrap();
        assert_eq!(input.next().await.unwrap().unwrap(), b"the next question\n");
        assert!(input.next().now_or_never().is_none());
        keys.write_all(b"and another\n").unwrap();
        assert_eq!(input.next().await.unwrap().unwrap(), b"and another\n");
    }
}
