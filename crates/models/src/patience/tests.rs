//! Checks waits between tries.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};

use super::{Again, Patience, advice, retry_after};

#[test]
fn a_wait_is_asked_for_in_seconds_or_by_the_servers_own_clock() {
    let wait = |after: &'static str, date: Option<&'static str>| {
        let mut headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(after))]);
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        retry_after(&headers).map(|wait| wait.as_secs())
    };
    let now = Some("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(wait("7", None), Some(7));
    assert_eq!(wait(" 0 ", now), Some(0));
    assert_eq!(wait("18446744073709551615", None), Some(u64::MAX));
    assert_eq!(wait("Sun, 06 Nov 1994 08:50:07 GMT", now), Some(30));
    assert_eq!(wait("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(0));
    assert_eq!(wait("Sun, 06 Nov 1994 08:50:07 GMT", None), None);
    assert_eq!(wait("soon", now), None);
    assert_eq!(wait("-1", now), None);
    assert_eq!(retry_after(&HeaderMap::new()), None);
}

#[test]
fn waits_double_are_spread_and_never_pass_their_limit() {
    let milliseconds = Duration::from_millis;
    let fresh = || Patience::new(6, milliseconds(100), milliseconds(500));
    let mut patience = fresh();
    for most in [100, 200, 400, 500] {
        let wait = patience.wait_before_next(&Again::Soon).unwrap();
        assert!((milliseconds(most / 2)..=milliseconds(most)).contains(&wait), "{wait:?}");
    }
    let asked = Again::After(milliseconds(123));
    assert_eq!(patience.wait_before_next(&asked), Some(milliseconds(123)));
    assert_eq!(patience.wait_before_next(&asked), None, "six tries are over");
    assert_eq!(fresh().wait_before_next(&Again::Never), None);
    let different: std::collections::BTreeSet<Duration> =
        (0..50).filter_map(|_| fresh().wait_before_next(&Again::Soon)).collect();
    assert!(different.len() > 1, "all waits alike");
}

#[test]
fn the_servers_advice_goes_before_our_own_idea() {
    let given = |headers: &[(&'static str, &'static str)]| {
        let headers = headers.iter().map(|(name, value)| {
            (reqwest::header::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        advice(&HeaderMap::from_iter(headers))
    };
    let milliseconds = |count| Some(Again::After(Duration::from_millis(count)));
    assert_eq!(given(&[]), None);
    assert_eq!(given(&[("x-should-retry", "false"), ("retry-after", "1")]), Some(Again::Never));
    assert_eq!(given(&[("x-should-retry", "true")]), Some(Again::Soon));
    assert_eq!(given(&[("x-should-retry", "true"), ("retry-after", "1")]), milliseconds(1000));
    assert_eq!(given(&[("x-should-retry", "perhaps"), ("retry-after", "0.25")]), milliseconds(250));
    assert_eq!(given(&[("retry-after-ms", "40"), ("retry-after", "1")]), milliseconds(40));
    assert_eq!(given(&[("retry-after-ms", "soon"), ("retry-after", "1")]), milliseconds(1000));
    assert_eq!(given(&[("retry-after", "inf")]), Some(Again::After(Duration::MAX)));
    assert_eq!(given(&[("retry-after", "NaN")]), None);
}
