//! How much of everything one listener gives: plain values, each with its default and the reason for it.

use std::time::Duration;

/// The limits of a server. `Default` is what a small machine on the open internet should have.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Connections at once: each idle one costs about 20 kB.
    pub connections_max: usize,
    /// Connections at once from one address (an IPv6 /56 counts as one). Raise it behind a proxy.
    pub connections_per_address_max: usize,
    /// Longest head of a request: a token of 16 KiB and what browsers send fit in.
    pub head_bytes_max: usize,
    /// Most header lines of a request.
    pub headers_max: usize,
    /// From a connection's first byte of a request, or its opening, to the end of the head.
    pub head_wait_max: Duration,
    /// How long a connection may rest between two requests.
    pub keep_alive_max: Duration,
    /// A body may pause or trickle for this long; after that it must bring 1 KiB a second.
    pub body_wait_max: Duration,
    /// How long a caller may refuse to take what we send.
    pub write_wait_max: Duration,
    /// Largest body of a route that sets no other limit.
    pub body_bytes_max: u64,
    /// How long requests may go on once the server is told to end.
    pub drain_max: Duration,
    /// How long kept-alive connections are told that the server ends, before they are closed.
    pub linger_max: Duration,
    /// Requests of one caller.
    pub caller_rate: Rate,
    /// Requests of one caller at the same time.
    pub caller_requests_max: usize,
    /// Requests without identity, or with a wrong one, from one address.
    pub address_rate: Rate,
}

/// So many a second on the average, and so many at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            connections_per_address_max: 200,
            head_bytes_max: 32 * 1024,
            headers_max: 100,
            head_wait_max: Duration::from_secs(10),
            keep_alive_max: Duration::from_secs(60),
            body_wait_max: Duration::from_secs(30),
            write_wait_max: Duration::from_secs(30),
            body_bytes_max: 1024 * 1024,
            drain_max: Duration::from_secs(20),
            linger_max: Duration::from_secs(1),
            caller_rate: Rate { per_second: 200.0, burst: 400 },
            caller_requests_max: 64,
            address_rate: Rate { per_second: 20.0, burst: 60 },
        }
    }
}
