//! How long a card that was fetched may be used without asking again.

use std::time::Duration;

/// For how long, if the server does not say: an agent that changes is noticed while somebody still remembers why.
const DEFAULT: Duration = Duration::from_secs(300);

/// For how long at most, whatever the server says: a key that was taken back is not believed for longer.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// How long a card holds, by the headers `Cache-Control` and `Age` that it came with.
#[must_use]
pub fn keep_for(cache_control: Option<&str>, age: Option<&str>) -> Duration {
    let Some(text) = cache_control else { return DEFAULT };
    let text = text.to_ascii_lowercase();
    let mut lifetime = DEFAULT;
    for directive in text.split(',').map(str::trim) {
        if matches!(directive, "no-store" | "no-cache") {
            return Duration::ZERO;
        }
        if let Some(seconds) = directive.strip_prefix("max-age=") {
            let seconds = seconds.trim_matches('"').parse().unwrap_or(0);
            lifetime = Duration::from_secs(seconds).min(LONGEST);
        }
    }
    let age = age.and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    lifetime.saturating_sub(Duration::from_secs(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_holds_as_long_as_its_server_says_but_not_for_ever() {
        let check = |control: Option<&str>, age: Option<&str>, seconds: u64| {
            assert_eq!(keep_for(control, age).as_secs(), seconds, "{control:?} {age:?}");
        };
        check(None, None, 300);
        check(Some("public"), None, 300);
        check(Some("max-age=60"), None, 60);
        check(Some("public, Max-Age=60"), Some("50"), 10);
        check(Some("max-age=60"), Some("100"), 0);
        check(Some("max-age=60, no-cache"), None, 0);
        check(Some("no-store"), None, 0);
        check(Some("max-age=99999999999"), None, 24 * 3_600);
        check(Some("max-age=soon"), None, 0);
    }
}
