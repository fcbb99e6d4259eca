//! Stops asking a server that has failed again and again, and tries it once more after a rest.

use std::time::Duration;

use tokio::time::Instant;

/// Whether a server is asked. Time is given, so a test needs none.
#[derive(Debug)]
pub(super) struct Breaker {
    failures_max: u32,
    rest: Duration,
    failures: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// All may ask.
    Closed,
    /// Nobody may before this moment; the first after it tries for all.
    Open { until: Instant },
    /// One is trying; the others wait for what it finds.
    Trying,
}

/// What a request has shown of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It answered; be it with a refusal.
    Alive,
    Failing,
    /// The request was dropped before there was an answer.
    Unknown,
}

impl Breaker {
    pub(super) fn new(failures_max: u32, rest: Duration) -> Self {
        Self { failures_max: failures_max.max(1), rest, failures: 0, state: State::Closed }
    }

    /// Whether the server may be asked now; else how long it is left in peace. Whoever asked says what came of it.
    pub(super) fn ask(&mut self, now: Instant) -> Result<(), Duration> {
        match self.state {
            State::Closed => Ok(()),
            State::Open { until } if now < until => Err(until.duration_since(now)),
            State::Open { .. } => {
                self.state = State::Trying;
                Ok(())
            }
            State::Trying => Err(self.rest),
        }
    }

    pub(super) fn learn(&mut self, verdict: Verdict, now: Instant) {
        match verdict {
            Verdict::Alive => {
                self.failures = 0;
                self.state = State::Closed;
            }
            Verdict::Failing => {
                self.failures = self.failures.saturating_add(1);
                if self.failures >= self.failures_max {
                    self.state = State::Open { until: now + self.rest };
                }
            }
            Verdict::Unknown if self.state == State::Trying => {
                self.state = State::Open { until: now };
            }
            Verdict::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(10);

    fn open(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(3, REST);
        for _ in 0..3 {
            assert_eq!(breaker.ask(now), Ok(()));
            breaker.learn(Verdict::Failing, now);
        }
        breaker
    }

    #[test]
    fn a_server_that_fails_again_and_again_is_left_in_peace() {
        let now = Instant::now();
        let mut breaker = open(now);
        assert_eq!(breaker.ask(now), Err(REST));
        assert_eq!(breaker.ask(now + REST / 2), Err(REST / 2));
    }

    #[test]
    fn after_the_rest_one_tries_for_all() {
        let now = Instant::now();
        let mut breaker = open(now);
        assert_eq!(breaker.ask(now + REST), Ok(()));
        assert_eq!(breaker.ask(now + REST), Err(REST));
        breaker.learn(Verdict::Alive, now + REST);
        assert_eq!(breaker.ask(now + REST), Ok(()));
        assert_eq!(breaker.ask(now + REST), Ok(()));
    }

    #[test]
    fn a_failed_try_means_another_rest() {
        let now = Instant::now();
        let mut breaker = open(now);
        assert_eq!(breaker.ask(now + REST), Ok(()));
        breaker.learn(Verdict::Failing, now + REST);
        assert_eq!(breaker.ask(now + REST), Err(REST));
        assert_eq!(breaker.ask(now + REST * 2), Ok(()));
    }

    #[test]
    fn a_try_that_was_dropped_leaves_the_next_one_free() {
        let now = Instant::now();
        let mut breaker = open(now);
        assert_eq!(breaker.ask(now + REST), Ok(()));
        breaker.learn(Verdict::Unknown, now + REST);
        assert_eq!(breaker.ask(now + REST), Ok(()));
    }

    #[test]
    fn one_answer_in_between_starts_the_count_anew() {
        let now = Instant::now();
        let mut breaker = Breaker::new(2, REST);
        for verdict in [Verdict::Failing, Verdict::Alive, Verdict::Failing, Verdict::Unknown] {
            breaker.learn(verdict, now);
            assert_eq!(breaker.ask(now), Ok(()));
        }
    }
}
