//! Numbers about this process, in the text format that Prometheus reads.

mod chat;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode};

pub use self::chat::ChatMetrics;

/// Most series of one name: labels come from tables, so more is a mistake that must not cost memory.
const SERIES_MAX: usize = 2_000;

/// Upper ends of the classes of durations, in seconds: a cache hit to a long answer.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Methods by name; what strangers make up is `other`.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Only goes up.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

/// How many of something fell into each class.
#[derive(Debug, Clone)]
pub struct Histogram(Arc<Classes>);

#[derive(Debug)]
struct Classes {
    bounds: &'static [f64],
    /// One more than there are bounds, for what is beyond the last.
    counts: Vec<AtomicU64>,
    sum_micros: AtomicU64,
}

/// All numbers of this process, of whichever crate.
#[derive(Default)]
pub struct Metrics {
    families: Mutex<BTreeMap<&'static str, Family>>,
}

struct Family {
    help: &'static str,
    series: BTreeMap<String, Series>,
}

#[derive(Clone)]
enum Series {
    Counter(Counter),
    Gauge(Arc<dyn Fn() -> f64 + Send + Sync>),
    Histogram(Histogram),
}

impl Counter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Classes { bounds, counts, sum_micros: AtomicU64::new(0) }))
    }

    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let class = self.0.bounds.iter().position(|bound| seconds <= *bound);
        if let Some(count) = self.0.counts.get(class.unwrap_or(self.0.bounds.len())) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.0.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Metrics {
    /// The counter of this name and these labels, made when it is first asked for. Its name ends in `_total`.
    pub fn counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
    ) -> Counter {
        let made = Series::Counter(Counter::default());
        match self.series(name, help, labels, made) {
            Series::Counter(counter) => counter,
            Series::Gauge(_) | Series::Histogram(_) => Counter::default(),
        }
    }

    /// The durations of this name and these labels, in seconds.
    pub fn durations(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
    ) -> Histogram {
        match self.series(name, help, labels, Series::Histogram(Histogram::new(SECONDS))) {
            Series::Histogram(histogram) => histogram,
            Series::Counter(_) | Series::Gauge(_) => Histogram::new(SECONDS),
        }
    }

    /// A number that is read whenever the metrics are; it must not wait for anything.
    pub fn gauge(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        read: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.series(name, help, labels, Series::Gauge(Arc::new(read)));
    }

    fn series(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        made: Series,
    ) -> Series {
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let family =
            families.entry(name).or_insert_with(|| Family { help, series: BTreeMap::new() });
        let key = label_text(labels);
        if let Some(known) = family.series.get(&key) {
            return known.clone();
        }
        if family.series.len() < SERIES_MAX {
            family.series.insert(key, made.clone());
        }
        made
    }

    /// All numbers, in Prometheus' text format 0.0.4.
    #[must_use]
    pub fn render(&self) -> String {
        // Gauges may ask other parts for their numbers, which may ask for a counter: not under our lock.
        let families: Vec<_> = {
            let families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
            let copied = |(name, family): (&&'static str, &Family)| {
                (*name, family.help, family.series.clone())
            };
            families.iter().map(copied).collect()
        };
        let mut text = String::new();
        for (name, help, series) in families {
            render_family(&mut text, name, help, &series);
        }
        text
    }
}

fn render_family(text: &mut String, name: &str, help: &str, series: &BTreeMap<String, Series>) {
    let kind = match series.values().next() {
        Some(Series::Counter(_)) => "counter",
        Some(Series::Gauge(_)) => "gauge",
        Some(Series::Histogram(_)) => "histogram",
        None => return,
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, one) in series {
        let _ = match one {
            Series::Counter(counter) => {
                writeln!(text, "{name}{} {}", braced(labels), counter.get())
            }
            Series::Gauge(read) => writeln!(text, "{name}{} {}", braced(labels), read()),
            Series::Histogram(histogram) => {
                render_histogram(text, name, labels, &histogram.0);
                Ok(())
            }
        };
    }
}

fn render_histogram(text: &mut String, name: &str, labels: &str, classes: &Classes) {
    let comma = if labels.is_empty() { "" } else { "," };
    let ends = classes.bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
    let mut total = 0_u64;
    for (end, count) in ends.zip(&classes.counts) {
        total = total.saturating_add(count.load(Ordering::Relaxed));
        let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{end}\"}} {total}");
    }
    let sum = Duration::from_micros(classes.sum_micros.load(Ordering::Relaxed)).as_secs_f64();
    let _ = writeln!(text, "{name}_sum{0} {sum}\n{name}_count{0} {total}", braced(labels));
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

fn label_text(labels: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    labels.iter().map(one).collect::<Vec<_>>().join(",")
}

/// What the listener and the routes count.
pub(crate) struct HttpMetrics {
    metrics: Arc<Metrics>,
    requests: Mutex<HashMap<(&'static str, &'static str, u16), Counter>>,
    durations: Mutex<HashMap<&'static str, Histogram>>,
    panics: Counter,
    in_flight: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

/// One of something that is under way; it counts until this is dropped.
pub(crate) struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HttpMetrics {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        let panics = metrics.counter("http_panics_total", "Handlers that panicked.", &[]);
        let level = |name, help| {
            let count = Arc::new(AtomicUsize::new(0));
            let read = Arc::clone(&count);
            metrics.gauge(name, help, &[], move || read.load(Ordering::Relaxed) as f64);
            count
        };
        let in_flight = level("http_requests_in_flight", "Requests under way, streams included.");
        let connections = level("http_connections", "Open connections.");
        let (requests, durations) = (Mutex::default(), Mutex::default());
        Self { metrics, requests, durations, panics, in_flight, connections }
    }

    pub(crate) fn request(&self) -> UnderWay {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(&self.in_flight))
    }

    pub(crate) fn connection(&self) -> UnderWay {
        self.connections.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(&self.connections))
    }

    pub(crate) fn panicked(&self) {
        self.panics.add(1);
    }

    /// Something was turned away, for a reason out of a fixed set.
    pub(crate) fn refused(&self, reason: &'static str) {
        let help = "Connections and requests turned away, by reason.";
        self.metrics.counter("http_refused_total", help, &[("reason", reason)]).add(1);
    }

    /// A request was answered; the time is that to the answer's head.
    pub(crate) fn answered(
        &self,
        method: &Method,
        route: &'static str,
        status: StatusCode,
        took: Duration,
    ) {
        let method = METHODS.iter().find(|known| *known == method).map_or("other", name_of);
        let key = (method, route, status.as_u16());
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = requests.entry(key).or_insert_with(|| {
            let labels = [("method", method), ("route", route), ("status", status.as_str())];
            self.metrics.counter("http_requests_total", "Requests answered.", &labels)
        });
        counter.add(1);
        drop(requests);
        let mut durations = self.durations.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = durations.entry(route).or_insert_with(|| {
            let help = "Time from the end of the head to the answer's head.";
            self.metrics.durations("http_request_duration_seconds", help, &[("route", route)])
        });
        histogram.observe(took);
    }
}

fn name_of(method: &'static Method) -> &'static str {
    method.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.counter("a_total", "All a.", &[("kind", "x\"y")]).add(2);
        metrics.counter("a_total", "All a.", &[("kind", "x\"y")]).add(1);
        metrics.gauge("b", "One b.", &[], || 1.5);
        let durations = metrics.durations("c_seconds", "The c.", &[("route", "/")]);
        durations.observe(Duration::from_millis(2));
        durations.observe(Duration::from_secs(3600));
        let text = metrics.render();
        for line in [
            "# TYPE a_total counter",
            "a_total{kind=\"x\\\"y\"} 3",
            "# TYPE b gauge",
            "b 1.5",
            "c_seconds_bucket{route=\"/\",le=\"0.001\"} 0",
            "c_seconds_bucket{route=\"/\",le=\"0.0025\"} 1",
            "c_seconds_bucket{route=\"/\",le=\"30\"} 1",
            "c_seconds_bucket{route=\"/\",le=\"+Inf\"} 2",
            "c_seconds_count{route=\"/\"} 2",
            "c_seconds_sum{route=\"/\"} 3600.002",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_label_that_never_repeats_takes_no_more_memory() {
        let metrics = Metrics::default();
        for number in 0..SERIES_MAX * 2 {
            metrics.counter("a_total", "All a.", &[("n", &number.to_string())]).add(1);
        }
        assert_eq!(metrics.families.lock().unwrap()["a_total"].series.len(), SERIES_MAX);
    }
}
