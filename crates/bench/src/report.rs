//! Figures of a run: medians, percentiles, and lines that people and programs can read.

use std::time::Duration;

use serde::Serialize;

/// The middle of some figures; zero of none.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match (figures.get(middle), figures.len() % 2) {
        (Some(upper), 0) => {
            let lower = middle.checked_sub(1).and_then(|place| figures.get(place));
            lower.map_or(*upper, |lower| f64::midpoint(*lower, *upper))
        }
        (Some(figure), _) => *figure,
        (None, _) => 0.0,
    }
}

/// The time within which this share of the calls was done, in milliseconds.
pub(crate) fn percentile(times: &[Duration], share: f64) -> f64 {
    let times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1000.0).collect();
    share_of(&times, share)
}

/// The figure that this share of all is no larger than; zero of none.
pub(crate) fn share_of(figures: &[f64], share: f64) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let place = (share * figures.len() as f64).ceil() as usize;
    figures.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// Says something to the person who waits.
#[expect(clippy::print_stderr, reason = "a bench talks to the person who started it")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// Prints a result as one line of JSON, the form that `evals/` keeps.
#[expect(clippy::print_stdout, reason = "this is the bench's result")]
pub(crate) fn result(figures: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(figures)?);
    Ok(())
}

/// Says how a figure stands to what is wanted of it.
pub(crate) fn judged(name: &str, figure: f64, is_met: bool, bar: &str) {
    let mark = if is_met { "met" } else { "NOT met" };
    say(&format!("{name}: {} (wanted: {bar}; {mark})", rounded(figure)));
}

/// Two digits after the point are all that a noisy machine gives.
pub(crate) fn rounded(figure: f64) -> f64 {
    let scale = if figure.abs() < 10.0 { 1000.0 } else { 10.0 };
    (figure * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![]), 0.0);
    }

    #[test]
    fn a_percentile_is_a_time_that_was_measured() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 0.5), 50.0);
        assert_eq!(percentile(&times, 0.99), 99.0);
        assert_eq!(percentile(&times, 1.0), 100.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
